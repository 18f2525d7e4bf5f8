import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

guard let url = URL(string: "http://127.0.0.1:8000/feed.json") else { fatalError("not a URL") }
let (data, _) = try await URLSession.shared.data(for: URLRequest(url: url))
print(data.count, "bytes")
