// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// Stored responses that are made invalid together: all of an origin, or those of a group (RFC 9875 §2.1).
public struct CacheScope: Hashable, Sendable {
  /// Any URI of the origin (RFC 9110 §4.3.1).
  public var target: TargetURI
  /// The group; `nil` for everything of the origin.
  public var group: String?

  /// Bytes that are equal exactly for equal scopes of one partition, and differ between partitions.
  public func bytes(partition: String) -> [UInt8] {
    CacheKey(target, partition: partition).scope(group: group)
  }
}

extension CacheScope: CustomStringConvertible {
  /// `https://a.example`, or `"group" of https://a.example`.
  public var description: String {
    let origin = target.scheme + "://" + target.authority
    return group.map { "\"\($0)\" of \(origin)" } ?? origin
  }
}

extension CacheKey {
  /// The bytes of the scope that a response under this key is in, as one of a group or by its origin alone.
  ///
  /// - Complexity: O(*n*) in the length of the key, with one allocation or two.
  package func scope(group: String? = nil) -> [UInt8] {
    // The authority ends at the third slash.
    var index = uriStart
    var (slashes, authority, user) = (0, index, index)
    while index < bytes.count {
      if bytes[index] == UInt8(ascii: "/") {
        slashes += 1
        if slashes == 3 { break }
        authority = index + 1
        user = authority
      } else if slashes == 2, bytes[index] == UInt8(ascii: "@") {
        // Who asks is no part of the origin.
        user = index + 1
      }
      index += 1
    }
    // In one piece, as a rule.
    var scope = Array(bytes[..<(user == authority ? index : authority)])
    if user != authority { scope += bytes[user..<index] }
    if let group {
      // No origin begins with NUL, so no group of one partition is the origin of another.
      scope += [0, 0]
      scope += group.utf8
    }
    return scope
  }
}

extension CacheKey {
  /// The bytes of the scope that all responses of a partition are in.
  ///
  /// No group's name begins with NUL, and neither does an origin: no partition is the scope of one of them.
  package static func scope(ofPartition partition: String) -> [UInt8] { Array(partition.utf8) + [0, 0, 0] }

  /// The bytes of the scope of the key's own partition; `nil` if it is in none.
  var partitionScope: [UInt8]? {
    uriStart == 0 ? nil : Array(bytes[..<(uriStart - 1)]) + [0, 0, 0]
  }
}

extension StoredResponse {
  /// The scopes, as bytes, that the response is in if it is stored under this key.
  public func scopes(under key: CacheKey) -> [[UInt8]] {
    var scopes = [key.scope()]
    if let partition = key.partitionScope { scopes.append(partition) }
    for group in groups { scopes.append(key.scope(group: group)) }
    return scopes
  }
}
