// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Foundation
import HTTPCaching
import HTTPTypes

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The cache, the options and the settings of one session.
final class CacheBinding: Sendable {
  let cache: HTTPCache
  let options: CachingOptions
  let recentResponses = RecentResponses()
  private let configuration: SendableConfiguration
  private let origin: OriginSessions.Key
  /// For requests without `httpShouldHandleCookies`, which Foundation on Linux does not read.
  private let originWithoutCookies: OriginSessions.Key
  private let known = Mutex(KnownCredentials())
  private let unchecked = Mutex(UncheckedSpaces())

  /// - Parameter configuration: the session's own; nothing changes it.
  init(cache: HTTPCache, options: CachingOptions, configuration: URLSessionConfiguration) {
    self.cache = cache
    self.options = options
    self.configuration = SendableConfiguration(configuration)
    origin = OriginSessions.Key(configuration, options.authenticate)
    let withoutCookies = (configuration.copy() as? URLSessionConfiguration) ?? configuration
    (withoutCookies.httpCookieStorage, withoutCookies.httpShouldSetCookies) = (nil, false)
    originWithoutCookies = OriginSessions.Key(withoutCookies, options.authenticate)
  }

  /// Returns a binding with the same settings, and where no sessions share connections with its own.
  func separated() -> CacheBinding {
    CacheBinding(cache: cache, options: options, configuration: configuration.value)
  }

  /// The configuration's policy, for requests without their own.
  var sessionPolicy: URLRequest.CachePolicy { configuration.value.requestCachePolicy }

  /// Fields that Foundation adds after the protocol has seen the request; a response may vary on them.
  var additionalFields: [(name: String, value: String)] {
    configuration.additionalFields
  }

  /// Returns the `Cookie` field that Foundation will send in place of the request's own; `nil` if it adds none. A response
  /// may vary on it.
  func storedCookies(for request: URLRequest) -> String? {
    guard configuration.value.httpShouldSetCookies, request.httpShouldHandleCookies, let url = request.url,
      let cookies = configuration.value.httpCookieStorage?.cookies(for: url), !cookies.isEmpty
    else { return nil }
    return HTTPCookie.requestHeaderFields(with: cookies)["Cookie"]
  }

  /// Returns the `Authorization` field for a request to a URL that has none of its own.
  func authorization(for url: URL) -> String? {
    known.withLock { $0.authorization(for: url) }
  }

  /// Notes whether the origin of a URL has accepted the credentials of a request.
  func note(_ authorization: String, for url: URL, isAccepted: Bool) {
    known.withLock {
      if isAccepted { $0.accept(authorization, for: url) } else { $0.refuse(authorization, for: url) }
    }
  }

  /// Notes whether the application has left a challenge of a space to Foundation.
  func note(_ space: UncheckedSpaces.Space, isUnchecked: Bool) {
    unchecked.withLock { $0.note(space, isUnchecked: isUnchecked) }
  }

  /// Whether the application has left the last challenge of a space to Foundation.
  func isUnchecked(_ space: UncheckedSpaces.Space) -> Bool { unchecked.withLock { $0.contains(space) } }

  /// Returns the partition of a task's responses; the option sees the request with the session's own fields.
  func partition(of request: URLRequest) -> String? {
    var request = request
    for (name, value) in additionalFields where request.value(forHTTPHeaderField: name) == nil {
      request.setValue(value, forHTTPHeaderField: name)
    }
    return options.partition(request)
  }
}

extension CacheBinding {
  /// The transport: sends a request to its origin.
  ///
  /// - Parameters:
  ///   - template: the request that supplies everything except the head.
  ///   - progress: called with the bytes of content that have been sent, and all of them.
  func send(
    _ request: HTTPRequest, body: MessageBody, like template: URLRequest, challenge: BasicChallenge,
    progress: HTTPCacheSession.Progress?
  ) async throws -> TransportResponse {
    if let url = template.url, options.isReachable?(url) == false {
      throw URLError(
        .notConnectedToInternet, url,
        "The option isReachable says that \(url.host ?? "the origin") is unreachable.")
    }
    do {
      let session = template.httpShouldHandleCookies ? origin : originWithoutCookies
      return try await OriginSessions.shared.lease(session).send(
        request, body: body, like: template, challenge: challenge, willSend: options.willSend,
        progress: progress)
    } catch let error as URLError where !error.meansDisconnected {
      throw TransportFault(error)
    }
  }
}

extension URLError {
  /// Makes an error of this module with the URL that failed, and the text for people.
  init(_ code: Code, _ url: URL?, _ text: String) {
    var details: [String: Any] = [NSLocalizedDescriptionKey: text]
    if let url { details[NSURLErrorFailingURLErrorKey] = url }
    self.init(code, userInfo: details)
  }

  /// Converts an error of the cache to the one that Foundation's callers expect. An error of the transport stays as it is,
  /// with a text and the URL if it has none: Foundation on Linux gives a timeout neither.
  static func describing(_ error: any Error, of url: URL?) -> any Error {
    switch error {
    case is CancellationError: URLError(.cancelled, url, "The load was cancelled.")
    case let error as HTTPCacheError where error.code == .notCached:
      URLError(.resourceUnavailable, url, "\(error)")
    case let error as HTTPCacheError where error.code == .contentTooLarge:
      URLError(.dataLengthExceedsMaximum, url, "\(error)")
    case let error as URLError where error.userInfo[NSLocalizedDescriptionKey] == nil:
      error.explained(for: url)
    default: error
    }
  }

  private func explained(for url: URL?) -> URLError {
    var details = userInfo
    if let url, failingURL == nil { details[NSURLErrorFailingURLErrorKey] = url }
    switch code {
    case .timedOut:
      details[NSLocalizedDescriptionKey] = "The origin did not answer within the request's timeout."
    case .cancelled: details[NSLocalizedDescriptionKey] = "The load was cancelled."
    case .badServerResponse: details[NSLocalizedDescriptionKey] = "The origin's response has no valid head."
    default: break
    }
    return URLError(code, userInfo: details)
  }

  /// Whether the origin was unreachable: no route, no name, refused, or no response in time (RFC 9111 §4.2.4).
  var meansDisconnected: Bool {
    switch code {
    case .notConnectedToInternet, .cannotFindHost, .dnsLookupFailed, .cannotConnectToHost, .timedOut,
      .networkConnectionLost, .internationalRoamingOff, .callIsActive, .dataNotAllowed:
      true
    default: false
    }
  }
}
