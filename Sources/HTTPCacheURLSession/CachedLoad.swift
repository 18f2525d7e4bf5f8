// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheEngine
import HTTPCacheStore
import HTTPCaching
import HTTPTypes
import HTTPTypesFoundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One load of a `URLRequest` through the cache, including all of its redirects.
struct CachedLoad: Sendable {
  struct Loaded: Sendable {
    var response: HTTPURLResponse
    var data: Data
  }

  let binding: CacheBinding
  /// The partition of the task's responses; `nil` for the cache's own.
  private let partition: String?
  /// The request to answer next.
  private var request: URLRequest
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

  init(request: URLRequest, binding: CacheBinding) {
    self.request = request
    self.binding = binding
    partition = binding.options.partition(request)
  }

  /// Returns the complete answer if memory has it, without waiting. Otherwise ``run()`` continues at the request that
  /// the redirects in memory lead to.
  ///
  /// - Throws: `URLError` if the redirects lead nowhere.
  mutating func fromMemory() throws -> Loaded? {
    while true {
      // The store must not answer a GET with content.
      guard let url = request.url, request.httpBodyStream == nil, request.httpBody?.isEmpty ?? true,
        let head = requestHead(request),
        let stored = binding.cache.storedResponse(for: head, policy: policy, partition: partition),
        stored.body.isInMemory
      else { return nil }
      guard let target = RedirectTarget(stored.head, of: head, url: url) else {
        return Data(inMemory: stored.body).flatMap { loaded(stored.head, url: url, data: $0) }
      }
      try follow(target, isReplayed: true, hasStoredCookies: binding.storedCookies(for: url) != nil)
    }
  }

  /// Returns the answer to the request, or to the last of the requests that it was redirected to.
  mutating func run() async throws -> Loaded {
    request = try TaskBody.inMemory(request)
    while true {
      guard let url = request.url, let head = requestHead(request) else { throw URLError(.badURL) }
      // The response may change the cookies.
      let hasStoredCookies = binding.storedCookies(for: url) != nil
      let challenge = BasicChallenge()
      let (answer, data, isReplayed) = try await respond(to: head, challenge)
      if answer.status == .unauthorized, let authorization = challenge.authorization,
        authorization != head.headerFields[.authorization], challenges < BasicChallenge.limit
      {
        challenges += 1
        isAnswer = true
        request.setValue(authorization, forHTTPHeaderField: "Authorization")
        continue
      }
      // A redirect is read to its end too, so that it is stored; its content is for people.
      guard let target = RedirectTarget(answer, of: head, url: url) else {
        guard let loaded = loaded(answer, url: url, data: data) else {
          throw URLError(.cannotParseResponse)
        }
        return loaded
      }
      try follow(target, isReplayed: isReplayed, hasStoredCookies: hasStoredCookies)
    }
  }

  /// Makes the redirect's target the next request.
  ///
  /// - Parameters:
  ///   - isReplayed: whether the redirect came from the store. A loop of stored redirects never ends. An origin may
  ///     answer differently the next time, so it is asked until the redirect limit.
  ///   - hasStoredCookies: whether the request was sent with the session's cookies.
  /// - Throws: `URLError.httpTooManyRedirects`.
  private mutating func follow(
    _ target: RedirectTarget, isReplayed: Bool, hasStoredCookies: Bool
  ) throws {
    if !isReplayed { replayed = [] }
    let this = Replayed(
      method: request.httpMethod, url: request.url?.absoluteString, fields: request.allHTTPHeaderFields)
    redirects += 1
    isAnswer = false
    guard redirects <= binding.options.redirectLimit, !isReplayed || replayed.insert(this).inserted else {
      throw URLError(
        .httpTooManyRedirects, userInfo: request.url.map { [NSURLErrorFailingURLErrorKey: $0] } ?? [:])
    }
    request = try target.request(from: request)
    // Cookies of one URL are not valid for another; the next request gets its own.
    if hasStoredCookies { request.setValue(nil, forHTTPHeaderField: "Cookie") }
  }

  private func respond(
    to head: HTTPRequest, _ challenge: BasicChallenge
  ) async throws -> (head: HTTPResponse, data: Data, isReplayed: Bool) {
    let body = request.httpBody.map { MessageBody(Array($0)) } ?? .empty
    let transport: Transport = { [request, binding] forwarded, body in
      try await binding.send(forwarded, body: body, like: request, challenge: challenge)
    }
    func once() async throws -> (HTTPResponse, Data, Bool) {
      let response = try await binding.cache.respond(
        to: head, body: body, policy: policy, partition: partition,
        willStore: binding.options.storageHook(for: request), transport: binding.options.middleware(transport)
      )
      let data =
        if let data = Data(inMemory: response.body) { data } else {
          Data(try await response.body.collect(upTo: .max))
        }
      return (response.finalHead, data, response.source == .hit || response.source == .stale)
    }
    do {
      return try await once()
    } catch is StoreError {
      // Damaged stored content has been removed from the store. The client has received no byte of it, nor of the
      // response that was to complete it.
      return try await once()
    }
  }

  private func loaded(_ head: HTTPResponse, url: URL, data: Data) -> Loaded? {
    var head = head
    BasicChallenge.hide(in: &head)
    return HTTPURLResponse(httpResponse: head, url: url).map { Loaded(response: $0, data: data) }
  }

  // MARK: - The request

  /// The request's own policy, or the session's if the request has the default one.
  private var policy: RequestCachePolicy {
    if isAnswer { return .reloadIgnoringLocalCacheData }
    let own = request.cachePolicy
    return RequestCachePolicy(own == .useProtocolCachePolicy ? binding.sessionPolicy : own)
  }

  private func requestHead(_ request: URLRequest) -> HTTPRequest? {
    HTTPRequest(
      request, additional: binding.additionalFields, cookies: request.url.flatMap(binding.storedCookies))
  }
}

extension Data {
  /// Copies content that is in memory once; `nil` for any other content.
  fileprivate init?(inMemory body: MessageBody) {
    var data = Data()
    guard body.withBytes({ bytes in bytes.withUnsafeBytes { data = Data($0) } }) else { return nil }
    self = data
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
