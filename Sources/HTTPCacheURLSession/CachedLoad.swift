import Foundation
import HTTPCacheEngine
import HTTPCaching
import HTTPTypes
import HTTPTypesFoundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One load of a `URLRequest` through the cache, along all of its redirects.
struct CachedLoad: Sendable {
  struct Loaded: Sendable {
    var response: HTTPURLResponse
    var data: Data
  }

  /// As many as Foundation follows itself.
  static let redirectLimit = 20

  let request: URLRequest
  let binding: CacheBinding

  /// The whole answer, if it can be had from memory without waiting.
  func fromMemory() -> Loaded? {
    guard let url = request.url, request.httpBodyStream == nil, let head = requestHead(request),
      let stored = binding.cache.storedResponse(for: head, policy: policy),
      RedirectTarget(stored.head, of: head, url: url) == nil, let bytes = stored.body.bytes
    else { return nil }
    return loaded(stored.head, url: url, data: Data(bytes))
  }

  /// The answer to the request, or to the last of the requests that it was redirected to.
  func run() async throws -> Loaded {
    var request = request
    for _ in 0...Self.redirectLimit {
      guard let url = request.url, let head = requestHead(request) else { throw URLError(.badURL) }
      let body = try requestBody(request)
      let template = request
      let origin = binding.originSession
      let response = try await binding.cache.respond(to: head, body: body, policy: policy) {
        forwarded, body in
        try await origin.send(forwarded, body: body, like: template)
      }
      guard let target = RedirectTarget(response.head, of: head, url: url) else {
        return try await finish(response, url: url)
      }
      // Read to its end, so that the redirect is stored; what it says is for people.
      _ = try await response.body.collect(upTo: .max)
      request = try target.request(from: request)
    }
    throw URLError(.httpTooManyRedirects)
  }

  private func finish(_ response: CachedResponse, url: URL) async throws -> Loaded {
    let bytes = try await response.body.collect(upTo: .max)
    guard let loaded = loaded(response.head, url: url, data: Data(bytes)) else {
      throw URLError(.cannotParseResponse)
    }
    return loaded
  }

  private func loaded(_ head: HTTPResponse, url: URL, data: Data) -> Loaded? {
    HTTPURLResponse(httpResponse: head, url: url).map { Loaded(response: $0, data: data) }
  }

  // MARK: - The request

  /// The request's own policy, or the session's where the request has none of its own.
  private var policy: RequestCachePolicy {
    let own = request.cachePolicy
    return RequestCachePolicy(own == .useProtocolCachePolicy ? binding.sessionPolicy : own)
  }

  /// The request with all fields that will be sent: a response may vary on any of them.
  private func requestHead(_ request: URLRequest) -> HTTPRequest? {
    guard var head = request.httpRequest else { return nil }
    for (name, value) in binding.additionalFields {
      guard let name = HTTPField.Name(name), head.headerFields[name] == nil else { continue }
      head.headerFields[name] = value
    }
    if head.headerFields[.acceptEncoding] == nil {
      // Foundation would add one that nobody sees, and `Vary: Accept-Encoding` could not be told apart.
      head.headerFields[.acceptEncoding] = OriginSession.acceptEncoding
    }
    return head
  }

  private func requestBody(_ request: URLRequest) throws -> MessageBody {
    if let data = request.httpBody { return MessageBody(Array(data)) }
    guard let stream = request.httpBodyStream else { return .empty }
    return MessageBody(try Self.readAll(stream))
  }

  private static func readAll(_ stream: InputStream) throws -> [UInt8] {
    stream.open()
    defer { stream.close() }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 64 * 1024)
    while true {
      let count = stream.read(&buffer, maxLength: buffer.count)
      if count < 0 { throw stream.streamError ?? URLError(.requestBodyStreamExhausted) }
      if count == 0 { return bytes }
      bytes += buffer[..<count]
    }
  }
}

extension RequestCachePolicy {
  /// The policy of a `URLRequest`; what a future Foundation may add counts as the default.
  public init(_ policy: URLRequest.CachePolicy) {
    switch policy {
    case .useProtocolCachePolicy: self = .useProtocolCachePolicy
    case .reloadIgnoringLocalCacheData: self = .reloadIgnoringLocalCacheData
    case .reloadIgnoringLocalAndRemoteCacheData: self = .reloadIgnoringLocalAndRemoteCacheData
    case .returnCacheDataElseLoad: self = .returnCacheDataElseLoad
    case .returnCacheDataDontLoad: self = .returnCacheDataDontLoad
    case .reloadRevalidatingCacheData: self = .reloadRevalidatingCacheData
    @unknown default: self = .useProtocolCachePolicy
    }
  }
}
