// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// Responses that set cookies, in a cache that many users share (RFC 9111 §7.3).
///
/// Most cookies are one user's, and the origins that set them without a word on caching never meant to share them. Only a
/// clear declaration of the origin counts, so that neither a heuristic nor a 304 hands one user's cookies to another.
enum SharedCookies {
  /// The fields that set cookies. No client in use reads the second one, and where there is one it says what the first says.
  static let names = [HTTPField.Name.setCookie, HTTPField.Name("Set-Cookie2")].compactMap(\.self)

  /// Why a shared cache does not store a response with cookies; `nil` if it does.
  static func obstacle(
    status: Int, _ response: ResponseFields, responseTime: Timestamp,
    _ configuration: CacheEngine.Configuration
  ) -> CacheEngine.Reason? {
    guard configuration.kind == .shared, response.setsCookie else { return nil }
    if configuration.setCookie == .bypass { return .cookiesBypassed }
    let directives = response.cacheControl.flags
    if directives.contains(.isPublic) { return nil }
    // A lifetime of 0, and no-cache, have every use validated: they share nothing yet.
    let lifetime = FreshnessLifetime.of(
      status: status, response: response, responseTime: responseTime, configuration: configuration)
    return lifetime.milliseconds > 0 && !directives.contains(.noCache) ? nil : .cookiesNotShared
  }

  /// Whether a stored response is left unused: it was stored with its cookies before the cache was set to keep none.
  static func exclude(_ stored: StoredResponse, _ configuration: CacheEngine.Configuration) -> Bool {
    configuration.keepsNoCookies && stored.facts.flags.contains(.setsCookie) && stored.setsCookie
  }
}

extension CacheEngine.Configuration {
  /// Whether cookies are left out of what is stored.
  var stripsCookies: Bool { kind == .shared && setCookie == .strip }
  /// Whether nothing is stored with its cookies.
  var keepsNoCookies: Bool { kind == .shared && setCookie != .store }
}

extension StoredResponse {
  /// Whether cookies are stored with it.
  var setsCookie: Bool { SharedCookies.names.contains { !values(of: $0).isEmpty } }
}

extension CacheEngine {
  /// The head of a response that is being stored, as the client gets it whose request fetched it.
  ///
  /// It is the head that came, except under ``CacheEngine/SetCookieUse/strip`` in a shared cache: others are answered with the same
  /// response, and none of them gets its cookies.
  package func headWhileStoring(_ head: HTTPResponse) -> HTTPResponse {
    guard configuration.stripsCookies else { return head }
    var head = head
    for name in SharedCookies.names { head.headerFields[fields: name] = [] }
    return head
  }
}
