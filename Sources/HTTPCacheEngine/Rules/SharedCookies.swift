// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// Responses that set cookies, in a cache that many users share (RFC 9111 §7.3).
///
/// Most cookies are for one user, and an origin that sets them without any caching directive does not mean to share
/// them. Only an explicit declaration of the origin counts, so that neither a heuristic nor a 304 gives one user's
/// cookies to another.
enum SharedCookies {
  /// The fields that set cookies. No client in use reads the second one, and its content repeats that of the first.
  static let names = [HTTPField.Name.setCookie, HTTPField.Name("Set-Cookie2")].compactMap(\.self)

  /// Returns why a shared cache does not store a response with cookies; `nil` if it does.
  static func obstacle(
    status: Int, _ response: ResponseFields, arrival: Timestamp,
    _ configuration: CacheEngine.Configuration
  ) -> CacheEngine.Reason? {
    guard configuration.kind == .shared, response.setsCookie else { return nil }
    if configuration.setCookie == .bypass { return .cookiesBypassed }
    let directives = response.cacheControl.flags
    if directives.contains(.isPublic) { return nil }
    // A lifetime of 0 and no-cache both require a revalidation before every use: they do not declare the cookies
    // shareable.
    let lifetime = FreshnessLifetime.of(
      status: status, response: response,
      times: ExchangeTimes(request: arrival, response: arrival, arrival: arrival),
      configuration: configuration)
    guard lifetime.milliseconds > 0, !directives.contains(.noCache) else { return .cookiesNotShared }
    let isDeclared =
      switch lifetime.source {
      // A lifetime that the application sets is not a declaration of the origin.
      case .application, .heuristic, .none: false
      // An operator who sets it by a rule also says what becomes of the cookies.
      case .rule: configuration.setCookie != .declared
      case .sharedMaxAge: true
      case .maxAge, .expires:
        configuration.setCookie != .declared || response.target != nil
          // The cookies are not stored (§5.2.2.4).
          || response.cacheControl.noCacheFields.contains("set-cookie")
      }
    return isDeclared ? nil : .cookiesNotShared
  }

  /// Whether a stored response is excluded: it was stored with its cookies before the cache was configured to keep
  /// none.
  static func exclude(_ stored: StoredResponse, _ configuration: CacheEngine.Configuration) -> Bool {
    configuration.keepsNoCookies && stored.facts.flags.contains(.setsCookie) && stored.setsCookie
  }
}

extension CacheEngine.Configuration {
  /// Whether cookies are removed from stored responses.
  var stripsCookies: Bool { kind == .shared && setCookie == .strip }
  /// Whether no response is stored with its cookies.
  var keepsNoCookies: Bool { kind == .shared && (setCookie == .strip || setCookie == .bypass) }
}

extension StoredResponse {
  /// Whether cookies are stored with the response.
  package var setsCookie: Bool { SharedCookies.names.contains { !values(of: $0).isEmpty } }
}

extension CacheEngine {
  /// Returns the head of a response that is being stored, for the client whose request fetched it.
  ///
  /// It is the received head, except under ``CacheEngine/SetCookieUse/strip`` in a shared cache. Then others get the
  /// same response, and none of them gets its cookies.
  package func headWhileStoring(_ head: HTTPResponse) -> HTTPResponse {
    let ruled = configuration.ruling?.decision(about: .init(head, length: nil)).setCookie
    guard configuration.kind == .shared, ruled ?? configuration.setCookie == .strip else { return head }
    var head = head
    for name in SharedCookies.names { head.headerFields[fields: name] = [] }
    return head
  }
}
