import Foundation
import HTTPCacheEngine
import HTTPCacheStore
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
      let stored = binding.cache.storedResponse(
        for: head, policy: policy, partition: binding.partition(request)),
      RedirectTarget(stored.head, of: head, url: url) == nil, let bytes = stored.body.bytes
    else { return nil }
    return loaded(stored.head, url: url, data: Data(bytes))
  }

  /// The answer to the request, or to the last of the requests that it was redirected to.
  func run() async throws -> Loaded {
    var request = try TaskBody.inMemory(request)
    for _ in 0...Self.redirectLimit {
      guard let url = request.url, let head = requestHead(request) else { throw URLError(.badURL) }
      let body = request.httpBody.map { MessageBody(Array($0)) } ?? .empty
      let hasStoredCookies = binding.storedCookies(for: url) != nil
      let template = request
      let origin = binding.originSession
      let transport = binding.through { forwarded, body in
        try await origin.send(forwarded, body: body, like: template)
      }
      let (answer, bytes) = try await respond(to: head, body: body, transport: transport)
      // A redirect was read to its end too, so that it is stored; what it says is for people.
      guard let target = RedirectTarget(answer, of: head, url: url) else {
        guard let loaded = loaded(answer, url: url, data: Data(bytes)) else {
          throw URLError(.cannotParseResponse)
        }
        return loaded
      }
      request = try target.request(from: request)
      // Those of one URL are not those of another; the next request gets its own.
      if hasStoredCookies { request.setValue(nil, forHTTPHeaderField: "Cookie") }
    }
    throw URLError(.httpTooManyRedirects)
  }

  private func respond(
    to head: HTTPRequest, body: MessageBody, transport: @escaping Transport
  ) async throws -> (head: HTTPResponse, bytes: ArraySlice<UInt8>) {
    let partition = binding.partition(request)
    let response = try await binding.cache.respond(
      to: head, body: body, policy: policy, partition: partition, transport: transport)
    do {
      return (response.head, try await response.body.collect(upTo: .max))
    } catch is StoreError {
      // Stored content that is found damaged is gone from the store, and nothing of it was handed out, nor of what was
      // to complete it.
      let response = try await binding.cache.respond(
        to: head, body: body, policy: policy, partition: partition, transport: transport)
      return (response.head, try await response.body.collect(upTo: .max))
    }
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
    if let cookies = request.url.flatMap(binding.storedCookies) { head.headerFields[.cookie] = cookies }
    if head.headerFields[.acceptEncoding] == nil {
      // Foundation would add one that nobody sees, and `Vary: Accept-Encoding` could not be told apart.
      // A range is of encoded bytes where there is a coding, and cannot be decoded by itself.
      head.headerFields[.acceptEncoding] =
        head.headerFields[.range] == nil ? OriginSession.acceptEncoding : "identity"
    }
    return head
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
