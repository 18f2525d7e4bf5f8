// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheEngine
import HTTPCacheStore
import HTTPCaching
import HTTPTypes

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One load of a `URLRequest` through the cache, including all of its redirects.
struct CachedLoad: Sendable {
  /// The response to the last request, and its URL.
  struct Answer: Sendable {
    var response: CachedResponse
    var url: URL
    /// The URLs that redirected to it, in order.
    var redirected: [URL]
    /// The response as Foundation's type, if it has been made already.
    var made: HTTPURLResponse?

    /// Makes the response with its content, after that has been read.
    func loaded(_ data: Data) -> Loaded? {
      (made ?? httpURLResponse).map { Loaded(response: $0, data: data) }
    }

    /// Makes the response with its content.
    ///
    /// - Throws: `URLError` if Foundation cannot represent it.
    func complete(_ data: Data) throws -> Loaded {
      guard let loaded = loaded(data) else {
        throw URLError(.cannotParseResponse, url, "The response has no valid status or fields.")
      }
      return loaded
    }

    fileprivate var httpURLResponse: HTTPURLResponse? {
      var head = response.knownOutcome.head
      BasicChallenge.hide(in: &head)
      return HTTPURLResponse(head, url: url)
    }
  }

  /// A complete answer.
  struct Loaded: Sendable {
    var response: HTTPURLResponse
    var data: Data
  }

  let binding: CacheBinding
  /// The partition of the task's responses; `nil` for the cache's own.
  private let partition: String?
  /// The lifetime of the task's responses; `nil` for the option's.
  private let lifetime: Duration?
  /// Whether the cache takes part; see ``CachingOptions/shouldIntercept``.
  private let isIntercepted: Bool
  /// Called with the bytes of content that have been sent, and all of them.
  private let progress: HTTPCacheSession.Progress?
  /// Answers the challenges of origins; `nil` if the option and the session's storage alone do.
  private let client: ChallengeClient?
  /// Whether only stored responses may answer, whatever the policies say.
  private let isOffline: Bool
  /// The request to answer next.
  private var request: URLRequest
  /// The stream with the request's content, until it is read.
  private var stream: StreamedContent?
  /// The content of a file or a stream; `nil` if the request has it.
  private var content: MessageBody?
  /// The URLs that redirected the request.
  private var redirected: [URL] = []
  private var redirects = 0
  private var challenges = 0
  /// Whether the request answers a challenge. Such a request goes to the origin, whatever is stored: the challenge
  /// itself may be.
  private var isAnswer = false
  /// The requests that stored redirects have answered since the last request to the origin.
  private var replayed: Set<Replayed> = []

  private struct Replayed: Hashable {
    var method: String?
    var url: String?
    var fields: [String: String]?
  }

  /// - Parameters:
  ///   - stream: the content of the request's stream, if it has one.
  ///   - file: the file with the request's content.
  ///   - isIntercepted: `false` if the request goes to the origin as if there were no cache.
  ///   - isOffline: whether only stored responses may answer.
  ///   - client: answers the challenges of origins.
  init(
    request: URLRequest, stream: StreamedContent? = nil, file: URL? = nil, binding: CacheBinding,
    options: HTTPCacheSession.RequestOptions = .init(),
    isIntercepted: Bool = true, isOffline: Bool = false, progress: HTTPCacheSession.Progress? = nil,
    client: ChallengeClient? = nil
  ) {
    self.request = request
    // On Linux, this would also remove the content of a request without a stream.
    if stream != nil { self.request.httpBodyStream = nil }
    self.stream = stream
    content = file.map { MessageBody(FileContent($0)) }
    self.binding = binding
    self.isIntercepted = isIntercepted
    self.progress = progress
    self.isOffline = isOffline
    self.client = client
    partition = options.partition ?? binding.partition(of: request)
    lifetime = options.lifetime
  }

  /// Returns the complete answer if memory has it, without waiting. Otherwise ``answer()`` continues at the request that
  /// the redirects in memory lead to.
  ///
  /// - Throws: `URLError` if the redirects lead nowhere.
  mutating func answerFromMemory() throws -> Answer? {
    while true {
      // The store must not answer a GET with content.
      guard isIntercepted, content == nil, stream == nil, let url = request.url,
        request.httpBody?.isEmpty ?? true, let head = requestHead(request),
        let stored = binding.cache.storedResponse(for: head.message, policy: policy, partition: partition),
        stored.body.isInMemory
      else { return nil }
      if let made = binding.recentResponses.response(with: stored.storedHead, url: url) {
        return Answer(response: stored, url: url, redirected: redirected, made: made)
      }
      guard try follow(stored.head, of: head, isReplayed: true) else {
        var answer = Answer(response: stored, url: url, redirected: redirected)
        answer.made = answer.httpURLResponse
        binding.recentResponses.keep(answer.made, with: stored.storedHead, url: url)
        return answer
      }
    }
  }

  /// Returns the answer to the request, or to the last of the requests that it was redirected to. Its content is still to
  /// be read.
  mutating func answer() async throws -> Answer {
    if let stream { content = try await stream.content() }
    stream = nil
    while true {
      guard let url = request.url, let head = requestHead(request) else {
        throw URLError(.badURL, request.url, "The request has no valid http or https URL.")
      }
      let challenge = BasicChallenge(failureCount: challenges, client)
      let response = try await respond(to: head.message, challenge)
      let isUnauthorized = response.head.status == .unauthorized
      if isAnswer || isUnauthorized, let authorization = head.authorization {
        binding.note(authorization, for: url, isAccepted: !isUnauthorized)
      }
      if isUnauthorized, let authorization = challenge.authorization,
        authorization != head.authorization, challenges < BasicChallenge.limit
      {
        try await response.body.readToEnd()
        challenges += 1
        isAnswer = true
        request.setValue(authorization, forHTTPHeaderField: "Authorization")
        continue
      }
      let isReplayed = response.source == .hit || response.source == .stale
      guard try follow(response.head, of: head, isReplayed: isReplayed) else {
        return Answer(response: response, url: url, redirected: redirected)
      }
      // A redirect is read to its end too, so that it is stored; its content is for people.
      try await response.body.readToEnd()
    }
  }

  /// Returns the complete answer.
  mutating func run() async throws -> Loaded {
    func once(_ load: inout CachedLoad) async throws -> Loaded {
      let answer = try await load.answer()
      return try answer.complete(await answer.response.body.data())
    }
    do {
      return try await once(&self)
    } catch is StoreError {
      // Damaged stored content has been removed from the store. The client has received no byte of it, nor of the
      // response that was to complete it.
      return try await once(&self)
    }
  }

  /// Makes the redirect's target the next request.
  ///
  /// - Parameters:
  ///   - isReplayed: whether the redirect came from the store. A loop of stored redirects never ends. An origin may
  ///     answer differently the next time, so it is asked until the redirect limit.
  /// - Returns: `false` if the response is not a redirect, or the application refuses to follow it.
  /// - Throws: `URLError.httpTooManyRedirects`.
  private mutating func follow(
    _ response: HTTPResponse, of head: Head, isReplayed: Bool
  ) throws -> Bool {
    guard let url = request.url, let target = RedirectTarget(response, of: head.message, url: url) else {
      return false
    }
    var next = try target.request(from: request)
    // Cookies of one URL are not valid for another; the next request gets its own.
    if head.hasStoredCookies { next.setValue(nil, forHTTPHeaderField: "Cookie") }
    if let willRedirect = binding.options.willRedirect,
      let redirect = HTTPURLResponse(response, url: url)
    {
      guard let chosen = willRedirect(redirect, next) else { return false }
      next = chosen
    }
    if !isReplayed { replayed = [] }
    let this = Replayed(
      method: request.httpMethod, url: request.url?.absoluteString, fields: request.allHTTPHeaderFields)
    redirects += 1
    isAnswer = false
    guard redirects <= binding.options.redirectLimit, !isReplayed || replayed.insert(this).inserted else {
      throw URLError(
        .httpTooManyRedirects, request.url,
        redirects > binding.options.redirectLimit
          ? "The redirects exceed the limit of \(binding.options.redirectLimit)."
          : "The stored redirects lead back to a URL that they came from.")
    }
    if target.becomesGet { content = nil }
    redirected.append(url)
    request = next
    return true
  }

  private func respond(to head: HTTPRequest, _ challenge: BasicChallenge) async throws -> CachedResponse {
    let body = content ?? request.httpBody.map { MessageBody(Array($0)) } ?? .empty
    let transport: Transport = { [request, binding, progress] forwarded, body in
      try await binding.send(
        forwarded, body: body, like: request, challenge: challenge, progress: progress)
    }
    let wrapped = binding.options.middleware(transport)
    guard isIntercepted else {
      let response = try await wrapped(head, body)
      return CachedResponse(bypassing: response)
    }
    return try await binding.cache.respond(
      to: head, body: body, policy: policy, partition: partition,
      willStore: binding.options.storageHook(for: request), lifetime: lifetimeRule, transport: wrapped)
  }

  /// The lifetime of the task, or else the option's.
  private var lifetimeRule: LifetimeRule? {
    if let lifetime { return fixedLifetime(lifetime) }
    guard let rule = binding.options.lifetime, let url = request.url else { return nil }
    return { [request] _, response in
      HTTPURLResponse(response, url: url).flatMap { rule(request, $0) }
    }
  }

  // MARK: - The request

  /// The URL to load next.
  var url: URL? { request.url }

  /// The policy of the option or of the request, or the session's if the request has the default one.
  private var policy: RequestCachePolicy {
    if isOffline { return .returnCacheDataDontLoad }
    if isAnswer { return .reloadIgnoringLocalCacheData }
    let own = binding.options.policy?(request) ?? request.cachePolicy
    return RequestCachePolicy(own == .useProtocolCachePolicy ? binding.sessionPolicy : own)
  }

  /// The head of a request, with the session's fields.
  private struct Head {
    var message: HTTPRequest
    /// Whether the session's cookies are in it. The response may change them.
    var hasStoredCookies: Bool

    var authorization: String? { message.headerFields[.authorization] }
  }

  private func requestHead(_ request: URLRequest) -> Head? {
    let cookies = binding.storedCookies(for: request)
    guard var head = HTTPRequest(request, additional: binding.additionalFields, cookies: cookies) else {
      return nil
    }
    if let url = request.url, !head.headerFields.contains(.authorization),
      let authorization = binding.authorization(for: url)
    {
      head.headerFields[.authorization] = authorization
    }
    return Head(message: head, hasStoredCookies: cookies != nil)
  }
}

extension Data {
  /// Copies content that is in memory once; `nil` for any other content.
  init?(inMemory body: MessageBody) {
    var data = Data()
    guard body.withBytes({ bytes in bytes.withUnsafeBytes { data = Data($0) } }) else { return nil }
    self = data
  }
}

extension MessageBody {
  /// Returns all of the content.
  func data() async throws -> Data {
    if let data = Data(inMemory: self) { return data }
    var data = Data()
    // The announced length is not trusted: a response can announce more than memory has.
    data.reserveCapacity(Swift.min(length ?? 0, 16 << 20))
    for try await chunk in self { data.append(contentsOf: chunk) }
    return data
  }

  /// Reads the content and drops it.
  fileprivate func readToEnd() async throws {
    for try await _ in self {}
  }
}

extension RequestCachePolicy {
  /// Converts the policy of a `URLRequest`; unknown policies of a future Foundation count as the default.
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
