// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// A set of stored responses that are invalidated together: all of an origin, or those of a group (RFC 9875 §2.1). A tag is
/// a group, too.
public struct CacheScope: Hashable, Sendable {
  /// Any URI of the origin (RFC 9110 §4.3.1).
  public var target: TargetURI
  /// The group; `nil` for all responses of the origin.
  public var group: String?

  /// Returns bytes that are equal exactly for equal scopes of one partition, and differ between partitions.
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
  /// Returns the bytes of the scope of a response under this key: that of a group, or of its origin.
  ///
  /// - Complexity: O(*n*) in the length of the key, with one or two allocations.
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
        // User information is not part of the origin.
        user = index + 1
      }
      index += 1
    }
    // In one piece, normally.
    var scope = Array(bytes[..<(user == authority ? index : authority)])
    if user != authority { scope += bytes[user..<index] }
    if let group { scope = Self.scope(ofGroup: group, in: scope) }
    return scope
  }

  /// - Parameter origin: the scope of the group's origin.
  private static func scope(ofGroup group: String, in origin: [UInt8]) -> [UInt8] {
    // No origin begins with NUL, so no group of one partition equals the origin of another.
    origin + [0, 0] + group.utf8
  }

  /// Returns the name of the group in the scope of a group; `nil` for the scope of an origin or a partition.
  package static func group(ofScope scope: [UInt8]) -> ArraySlice<UInt8>? {
    // Not the three zeros that end the scope of a partition: a group may have an empty name.
    guard let end = scope.indices.dropLast().last(where: { scope[$0] == 0 && scope[$0 + 1] == 0 }), end > 0,
      scope[end - 1] != 0
    else { return nil }
    return scope[(end + 2)...]
  }

  /// The scopes of every response under the key, and those of some groups.
  fileprivate func scopes(of groups: [String]) -> [[UInt8]] {
    let origin = scope()
    return [origin] + (partitionScope.map { [$0] } ?? [])
      + groups.map { Self.scope(ofGroup: $0, in: origin) }
  }
}

extension CacheKey {
  /// Returns the bytes of the scope of all responses of a partition.
  ///
  /// Neither the name of a group nor an origin begins with NUL, so a partition's scope never equals theirs.
  package static func scope(ofPartition partition: String) -> [UInt8] { Array(partition.utf8) + [0, 0, 0] }

  /// The bytes of the scope of the key's own partition; `nil` without a partition.
  var partitionScope: [UInt8]? {
    uriStart == 0 ? nil : Array(bytes[..<(uriStart - 1)]) + [0, 0, 0]
  }

  /// The scopes of every response under the key: its origin and its partition.
  package var scopes: [[UInt8]] { scopes(of: []) }
}

extension StoredResponse {
  /// Returns the scopes, as bytes, of the response if it is stored under this key.
  public func scopes(under key: CacheKey) -> [[UInt8]] {
    key.scopes(of: tags.isEmpty ? groups : groups + tags.all)
  }

  /// Whether a stored form may be in a group or have a tag, at the cost of reading two numbers.
  package static func mayHaveGroups(_ bytes: RawSpan) -> Bool {
    guard let front = StoredFront(bytes) else { return false }
    return front.facts.flags.contains(.hasGroups) || front.special.contains(.tagged)
  }
}
