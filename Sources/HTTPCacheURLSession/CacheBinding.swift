// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCaching
import HTTPTypes
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What one `URLProtocol` class works with: a cache, and the way to the origin.
///
/// A session makes its protocol objects itself, from the class alone, and on Linux nothing in them leads back to the
/// session: not a property set on the request, and a header would reach the wire. So every configuration gets a class
/// of its own, and the class is the key to its binding.
final class CacheBinding: Sendable {
  let cache: HTTPCache
  let options: CachingOptions
  private let configuration: SendableConfiguration
  private let origin = Mutex<OriginSession?>(nil)

  init(cache: HTTPCache, options: CachingOptions, configuration: URLSessionConfiguration) {
    self.cache = cache
    self.options = options
    self.configuration = SendableConfiguration(configuration)
  }

  /// The configuration's policy, for requests that have none of their own.
  var sessionPolicy: URLRequest.CachePolicy { configuration.value.requestCachePolicy }

  /// Fields that Foundation adds behind the protocol's back, and that a response may vary on.
  var additionalFields: [(name: String, value: String)] {
    (configuration.value.httpAdditionalHeaders ?? [:]).compactMap { name, value in
      guard let name = name as? String else { return nil }
      return (name, "\(value)")
    }
  }

  /// The `Cookie` field that Foundation will send to a URL, whatever the request says; `nil` if it sends none of its
  /// own. A response may vary on it.
  func storedCookies(for url: URL) -> String? {
    guard configuration.value.httpShouldSetCookies,
      let cookies = configuration.value.httpCookieStorage?.cookies(for: url), !cookies.isEmpty
    else { return nil }
    return HTTPCookie.requestHeaderFields(with: cookies)["Cookie"]
  }

  /// The session that talks to origins. It is made at the first use, so that everything set on the configuration
  /// before its own session was made holds for it too.
  private var originSession: OriginSession {
    origin.withLock { origin in
      if let origin { return origin }
      let made = OriginSession(configuration.value, authenticate: options.authenticate)
      origin = made
      return made
    }
  }
}

extension CacheBinding {
  /// The transport: sends a request to its origin.
  ///
  /// - Parameter template: the request that all but the head is taken from.
  func send(
    _ request: HTTPRequest, body: MessageBody, like template: URLRequest, challenge: BasicChallenge
  ) async throws -> TransportResponse {
    if let url = template.url, options.isReachable?(url) == false {
      throw URLError(.notConnectedToInternet, userInfo: [NSURLErrorFailingURLErrorKey: url])
    }
    do {
      return try await originSession.send(request, body: body, like: template, challenge: challenge)
    } catch let error as URLError where !error.meansDisconnected {
      throw TransportFault(error)
    }
  }
}

extension URLError {
  /// Whether the origin could not be reached: no route, no name, refused, or no answer in time (RFC 9111 §4.2.4).
  var meansDisconnected: Bool {
    switch code {
    case .notConnectedToInternet, .cannotFindHost, .dnsLookupFailed, .cannotConnectToHost, .timedOut,
      .networkConnectionLost, .internationalRoamingOff, .callIsActive, .dataNotAllowed:
      true
    default: false
    }
  }
}

/// A configuration that is handed from the thread that made it to those that load.
private struct SendableConfiguration: @unchecked Sendable {
  // Unchecked: Foundation documents the configuration as copied when a session is made from it; after that we only
  // read it, as Foundation does.
  let value: URLSessionConfiguration

  init(_ value: URLSessionConfiguration) {
    self.value = value
  }
}

/// All bindings, by the class that was made for each.
enum CacheBindings: ClassMaker {
  static let shared = ClassTable<CacheBindings, CacheBinding>()

  static func makeClass<Digits>(_ digits: Digits.Type) -> CachingURLProtocol.Type {
    BoundURLProtocol<Digits>.self
  }
}

/// The class that one configuration lists.
final class BoundURLProtocol<Digits>: CachingURLProtocol {}
