// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheEngine

/// The credentials that origins have accepted from a session. Later requests have them from the start (RFC 7617 §2.2).
///
/// Without them, each request would first be one without credentials, which a stored response to a request with
/// credentials must not answer.
struct KnownCredentials {
  /// A part of an origin's paths, and the `Authorization` field that it accepts.
  private struct Space {
    var origin: String
    /// The path up to its last slash: a client may assume that all paths below need the same credentials.
    var folder: String
    var authorization: String
  }

  /// Maximum number of spaces; the oldest is forgotten first.
  static let limit = 64

  private var spaces: [Space] = []

  /// Returns the `Authorization` field for a URL: its own user and password, or else accepted credentials.
  func authorization(for url: URL) -> String? {
    if let own = Self.own(url) { return own }
    guard !spaces.isEmpty, let origin = Self.origin(url) else { return nil }
    let path = Self.path(url)
    return spaces.filter { $0.origin == origin && path.hasPrefix($0.folder) }
      .max { $0.folder.utf8.count < $1.folder.utf8.count }?.authorization
  }

  /// Remembers credentials that the origin of a URL has accepted.
  mutating func accept(_ authorization: String, for url: URL) {
    guard Self.own(url) == nil, let origin = Self.origin(url) else { return }
    let path = Self.path(url)
    let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "/"
    spaces.removeAll { $0.origin == origin && $0.folder == folder }
    if spaces.count == Self.limit { spaces.removeFirst() }
    spaces.append(Space(origin: origin, folder: folder, authorization: authorization))
  }

  /// Forgets credentials that the origin of a URL has refused.
  mutating func refuse(_ authorization: String, for url: URL) {
    guard let origin = Self.origin(url) else { return }
    spaces.removeAll { $0.origin == origin && $0.authorization == authorization }
  }

  private static func own(_ url: URL) -> String? {
    guard let user = url.user(percentEncoded: false), let password = url.password(percentEncoded: false)
    else { return nil }
    return BasicChallenge.field(user: user, password: password)
  }

  private static func origin(_ url: URL) -> String? {
    guard let scheme = url.scheme?.lowercasedASCII, let host = url.host?.lowercasedASCII else { return nil }
    return "\(scheme)://\(host):\(url.port ?? (scheme == "https" ? 443 : 80))"
  }

  private static func path(_ url: URL) -> String {
    let path = url.path(percentEncoded: true)
    return path.isEmpty ? "/" : path
  }
}
