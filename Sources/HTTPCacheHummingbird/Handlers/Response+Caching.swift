// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCaching
import HTTPTypes
import Hummingbird

/// Who may store and reuse a response (RFC 9111 §5.2.2).
public struct CacheSharing: Hashable, Sendable {
  fileprivate let directive: String
  fileprivate let hasLifetime: Bool

  /// All caches: this one, those of a CDN, and browsers. Also for responses to authorised requests.
  public static var `public`: CacheSharing { .init(directive: "public", hasLifetime: true) }
  /// Browsers only: the response is for one user.
  public static var `private`: CacheSharing { .init(directive: "private", hasLifetime: true) }
  /// All caches, after a revalidation for each use.
  public static var noCache: CacheSharing { .init(directive: "no-cache", hasLifetime: false) }
  /// No cache.
  public static var noStore: CacheSharing { .init(directive: "no-store", hasLifetime: false) }
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
  /// - Parameters:
  ///   - sharing: who may store the response.
  ///   - maxAge: the time for which it is fresh, in whole seconds.
  ///   - sharedMaxAge: the same for shared caches only, such as this one.
  ///   - staleWhileRevalidate: the time after that in which it is used while it is revalidated in the background (RFC
  ///     5861 §3).
  ///   - staleIfError: the time after that in which it is used if the handler fails (RFC 5861 §4).
  ///   - directives: other directives.
  ///   - vary: the request fields that the response depends on.
  ///   - groups: the groups that invalidate the response (RFC 9875). Any text is a name: in the field, characters beyond
  ///     printable ASCII are percent-encoded.
  public mutating func cache(
    _ sharing: CacheSharing, maxAge: Duration? = nil, sharedMaxAge: Duration? = nil,
    staleWhileRevalidate: Duration? = nil, staleIfError: Duration? = nil, directives: [CacheDirective] = [],
    vary: [HTTPField.Name] = [], groups: [String] = []
  ) {
    var members = [sharing.directive]
    if sharing.hasLifetime {
      let times = [
        ("max-age", maxAge), ("s-maxage", sharedMaxAge), ("stale-while-revalidate", staleWhileRevalidate),
        ("stale-if-error", staleIfError),
      ]
      for case (let name, let time?) in times {
        members.append("\(name)=\(Swift.max(0, time.components.seconds))")
      }
    }
    members += directives.map(\.name)
    headers[.cacheControl] = members.joined(separator: ", ")
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

  /// Returns the response with `Cache-Control`, `Vary` and `Cache-Groups`: the parameters are those of
  /// `cache`.
  public func caching(
    _ sharing: CacheSharing, maxAge: Duration? = nil, sharedMaxAge: Duration? = nil,
    staleWhileRevalidate: Duration? = nil, staleIfError: Duration? = nil, directives: [CacheDirective] = [],
    vary: [HTTPField.Name] = [], groups: [String] = []
  ) -> Response {
    var response = self
    response.cache(
      sharing, maxAge: maxAge, sharedMaxAge: sharedMaxAge, staleWhileRevalidate: staleWhileRevalidate,
      staleIfError: staleIfError, directives: directives, vary: vary, groups: groups)
    return response
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
