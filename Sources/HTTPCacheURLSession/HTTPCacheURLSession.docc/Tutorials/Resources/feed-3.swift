import Foundation
import HTTPCacheURLSession

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

let directory = URL(fileURLWithPath: "/var/tmp/feed-cache")
let cache = try HTTPCache(.init(diskCapacity: 64 << 20, directory: directory))
let session = URLSession(configuration: .caching(with: cache))

guard let url = URL(string: "http://127.0.0.1:8000/feed.json") else { fatalError("not a URL") }
var request = URLRequest(url: url)
request.cachePolicy = .returnCacheDataElseLoad
let (data, response) = try await session.data(for: request)
print(data.count, "bytes")
if let status = response.cacheStatus { print(status) }
cache.close()
