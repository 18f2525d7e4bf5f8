// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCaching
import HTTPTypes
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The cache and the transport of one `URLProtocol` class.
///
/// A session makes its protocol objects itself, from the class alone. On Linux nothing in them leads back to the
/// session: a property set on the request does not, and a header would reach the wire. So every configuration gets
/// its own class, and the class is the key to its binding.
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

  /// The configuration's policy, for requests without their own.
  var sessionPolicy: URLRequest.CachePolicy { configuration.value.requestCachePolicy }

  /// Fields that Foundation adds after the protocol has seen the request; a response may vary on them.
  var additionalFields: [(name: String, value: String)] {
    (configuration.value.httpAdditionalHeaders ?? [:]).compactMap { name, value in
      guard let name = name as? String else { return nil }
      return (name, "\(value)")
    }
  }

  /// Returns the `Cookie` field that Foundation will send to a URL in place of the request's own; `nil` if it adds
  /// none. A response may vary on it.
  func storedCookies(for url: URL) -> String? {
    guard configuration.value.httpShouldSetCookies,
      let cookies = configuration.value.httpCookieStorage?.cookies(for: url), !cookies.isEmpty
    else { return nil }
    return HTTPCookie.requestHeaderFields(with: cookies)["Cookie"]
  }

  /// The session that talks to origins. It is made at its first use, so that it has all settings that the configuration
  /// had when its own session was made.
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
  /// - Parameter template: the request that supplies everything except the head.
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

/// Passes a configuration from the thread that made it to the threads that load.
private struct SendableConfiguration: @unchecked Sendable {
  // Unchecked: Foundation documents that a session copies the configuration it is made from. After that, this module
  // and Foundation only read it.
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
