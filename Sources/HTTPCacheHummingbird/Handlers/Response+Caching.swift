// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCaching
import HTTPTypes
import Hummingbird

/// Who may store and reuse a response (RFC 9111 §5.2.2).
public struct CacheSharing: Hashable, Sendable {
  fileprivate let directive: String?

  /// All caches: this one, those of a CDN, and browsers. Also for responses to authorised requests.
  public static var `public`: CacheSharing { .init(directive: "public") }
  /// All caches, but shared ones only for responses to requests without `Authorization` (§3.5). It has no directive.
  public static var anonymous: CacheSharing { .init(directive: nil) }
  /// Browsers only: the response is for one user.
  public static var `private`: CacheSharing { .init(directive: "private") }

  // These exist for their messages.

  @available(*, unavailable, message: "no-cache has no times; leave them out: .caching(.noCache)")
  public static var noCache: CacheSharing { .init(directive: "no-cache") }
  @available(*, unavailable, message: "no-store has no times; leave them out: .caching(.noStore)")
  public static var noStore: CacheSharing { .init(directive: "no-store") }
}

/// A restriction that leaves a response no time in which it is fresh (RFC 9111 §5.2.2).
public struct CacheRestriction: Hashable, Sendable {
  fileprivate let directive: String

  /// All caches may store the response, and must revalidate it for each use.
  public static var noCache: CacheRestriction { .init(directive: "no-cache") }
  /// No cache may store the response.
  public static var noStore: CacheRestriction { .init(directive: "no-store") }
}

/// A directive of `Cache-Control` without an argument (RFC 9111 §5.2.2).
public struct CacheDirective: Hashable, Sendable {
  fileprivate let name: String

  /// A stale response must be revalidated, whatever happens.
  public static var mustRevalidate: CacheDirective { .init(name: "must-revalidate") }
  /// The same, for shared caches.
  public static var proxyRevalidate: CacheDirective { .init(name: "proxy-revalidate") }
  /// The content does not change while it is fresh (RFC 8246).
  public static var immutable: CacheDirective { .init(name: "immutable") }
  /// Intermediaries must not change the content.
  public static var noTransform: CacheDirective { .init(name: "no-transform") }
  /// Only caches that know the status code store the response.
  public static var mustUnderstand: CacheDirective { .init(name: "must-understand") }
}

extension Response {
  /// Sets `Cache-Control`, and adds to `Vary` and `Cache-Groups`.
  ///
  /// ```swift
  /// var response = Response(status: .ok, body: body)
  /// response.cache(.public, maxAge: .seconds(60), staleWhileRevalidate: .seconds(600), groups: ["news"])
  /// ```
  ///
  /// HTTP has whole seconds: a time is rounded up to them, and a negative one is 0.
  ///
  /// For a response that only this cache stores, tell its clients something else:
  ///
  /// ```swift
  /// response.cache(.public, maxAge: .seconds(60), clients: .noStore)
  /// ```
  ///
  /// - Parameters:
  ///   - sharing: who may store the response.
  ///   - maxAge: the time for which it is fresh.
  ///   - sharedMaxAge: the same for shared caches only, such as this one.
  ///   - staleWhileRevalidate: the time after that in which it is used while it is revalidated in the background (RFC
  ///     5861 §3).
  ///   - staleIfError: the time after that in which it is used if the handler fails (RFC 5861 §4).
  ///   - directives: other directives.
  ///   - vary: the request fields that the response depends on.
  ///   - groups: the groups that invalidate the response (RFC 9875). Any text is a name: in the field, characters beyond
  ///     printable ASCII are percent-encoded.
  ///   - clients: what `Cache-Control` tells clients and CDNs instead; `nil` for the same. The other directives then go to
  ///     this cache alone, in a targeted field (RFC 9213) that the middleware removes.
  public mutating func cache(
    _ sharing: CacheSharing, maxAge: Duration? = nil, sharedMaxAge: Duration? = nil,
    staleWhileRevalidate: Duration? = nil, staleIfError: Duration? = nil, directives: [CacheDirective] = [],
    vary: [HTTPField.Name] = [], groups: [String] = [], clients: CacheRestriction? = nil
  ) {
    let times = [
      ("max-age", maxAge), ("s-maxage", sharedMaxAge), ("stale-while-revalidate", staleWhileRevalidate),
      ("stale-if-error", staleIfError),
    ]
    let members = times.compactMap { name, time in time.map { "\(name)=\($0.secondsRoundedUp)" } }
    let own = ([sharing.directive].compactMap(\.self) + members + directives.map(\.name))
      .joined(separator: ", ")
    headers[.cacheControl] = clients?.directive ?? (own.isEmpty ? nil : own)
    if let name = HTTPField.Name.ownCacheControl { headers[name] = clients == nil ? nil : own }
    add(vary: vary, groups: groups)
  }

  /// Sets `Cache-Control` to a restriction, and adds to `Vary` and `Cache-Groups`.
  ///
  /// - Parameters:
  ///   - restriction: what caches must not do.
  ///   - directives: other directives.
  ///   - vary: the request fields that the response depends on.
  ///   - groups: the groups that invalidate the response.
  public mutating func cache(
    _ restriction: CacheRestriction, directives: [CacheDirective] = [], vary: [HTTPField.Name] = [],
    groups: [String] = []
  ) {
    headers[.cacheControl] = ([restriction.directive] + directives.map(\.name)).joined(separator: ", ")
    headers.removeOwnCacheControl()
    add(vary: vary, groups: groups)
  }

  /// Returns the response with `Cache-Control`, `Vary` and `Cache-Groups`: the parameters are those of
  /// `cache`.
  public func caching(
    _ sharing: CacheSharing, maxAge: Duration? = nil, sharedMaxAge: Duration? = nil,
    staleWhileRevalidate: Duration? = nil, staleIfError: Duration? = nil, directives: [CacheDirective] = [],
    vary: [HTTPField.Name] = [], groups: [String] = [], clients: CacheRestriction? = nil
  ) -> Response {
    var response = self
    response.cache(
      sharing, maxAge: maxAge, sharedMaxAge: sharedMaxAge, staleWhileRevalidate: staleWhileRevalidate,
      staleIfError: staleIfError, directives: directives, vary: vary, groups: groups, clients: clients)
    return response
  }

  /// Returns the response with a restriction: the parameters are those of `cache`.
  public func caching(
    _ restriction: CacheRestriction, directives: [CacheDirective] = [], vary: [HTTPField.Name] = [],
    groups: [String] = []
  ) -> Response {
    var response = self
    response.cache(restriction, directives: directives, vary: vary, groups: groups)
    return response
  }

  /// Makes what is said for this cache alone agree with what a handler, or a middleware behind this cache, has said since.
  ///
  /// - Parameter declared: the `Cache-Control` that a group has declared.
  mutating func settleCacheControl(declared: String?) {
    guard let name = HTTPField.Name.ownCacheControl else { return }
    let setsCookies = headers.contains(.setCookie)
    if headers.contains(name) {
      let isOwn = [CacheRestriction.noCache, .noStore].contains { $0.directive == headers[.cacheControl] }
      // Cookies are not for others, and another restriction counts for this cache as well.
      if setsCookies || !isOwn { headers[name] = nil }
    } else if status == .notModified {
      // The field of the stored response would outlast what the handler says now.
      if setsCookies {
        headers[name] = "private"
      } else if let control = headers[.cacheControl] {
        headers[name] = control
      }
    } else if setsCookies, let declared, declared == headers[.cacheControl] {
      // The group has not seen the cookies of a middleware in front of it.
      headers[.cacheControl] = nil
    }
  }

  mutating func add(vary: [HTTPField.Name], groups: [String]) {
    if !vary.isEmpty {
      // One line, without the names that it already has.
      var names = headers[values: .vary].flatMap { $0.split(separator: ",") }.map { $0.trimmed }
      for name in vary where !names.contains(where: { $0.lowercasedASCII == name.canonicalName }) {
        names.append(name.rawName)
      }
      headers[.vary] = names.joined(separator: ", ")
    }
    if let name = HTTPField.Name("Cache-Groups"), !groups.isEmpty {
      let list = groups.map(\.quoted).joined(separator: ", ")
      headers[name] = headers[name].map { $0 + ", " + list } ?? list
    }
  }
}

extension HTTPField.Name {
  /// The field for this cache alone.
  static let ownCacheControl = HTTPField.Name(LocalOrigin.target)
}

extension HTTPFields {
  /// Removes what is for this cache alone.
  mutating func removeOwnCacheControl() {
    guard let name = HTTPField.Name.ownCacheControl else { return }
    // Compares the length first: nearly no response has the field, and comparing two texts takes a call.
    let count = LocalOrigin.target.utf8.count
    for position in indices
    where self[position].name.canonicalName.utf8.count == count && self[position].name == name {
      self[fields: name] = []
      return
    }
  }
}

extension Duration {
  /// Whole seconds, as directives have them: half a second must not become `max-age=0`, with which the handler runs for
  /// every request.
  fileprivate var secondsRoundedUp: Int64 {
    let (seconds, attoseconds) = components
    return Swift.max(0, attoseconds > 0 ? seconds + 1 : seconds)
  }
}

extension Substring {
  fileprivate var trimmed: String {
    let isSpace = { (character: Character) in character == " " || character == "\t" }
    let start = drop(while: isSpace)
    return String(start.reversed().drop(while: isSpace).reversed())
  }
}

extension String {
  /// A group's name as a String of structured fields (RFC 9651 §3.3.3).
  fileprivate var quoted: String {
    var text = "\""
    for character in GroupName.inField(self).unicodeScalars {
      if character == "\"" || character == "\\" { text += "\\" }
      text.unicodeScalars.append(character)
    }
    return text + "\""
  }
}
