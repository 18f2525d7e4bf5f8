import Foundation
import HTTPCacheURLSession

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

let directory = URL(fileURLWithPath: "/var/tmp/feed-cache")
let cache = try HTTPCache(.init(diskCapacity: 64 << 20, directory: directory))
let session = URLSession(configuration: .caching(with: cache))

for path in ["feed.json", ""] {
  guard let url = URL(string: "http://127.0.0.1:8000/\(path)") else { fatalError("not a URL") }
  let (data, response) = try await session.data(for: URLRequest(url: url))
  print(data.count, "bytes")
  if let status = response.cacheStatus { print(status) }
}
cache.close()
