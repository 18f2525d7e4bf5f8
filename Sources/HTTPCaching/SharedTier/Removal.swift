// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore

/// A removal as the nodes of a shared tier tell it each other. Targets are those that stand for their equivalents, see
/// ``HTTPCache/Configuration/targetRule``. Groups have their names in fields, see ``GroupName``.
enum Removal: Hashable, Sendable {
  case target(TargetURI, partition: String, softly: Bool, keepingPins: Bool)
  case patterns([TargetPattern], partition: String, softly: Bool)
  case group(String, TargetURI, partition: String, softly: Bool)
  /// Responses in a group of any origin, in any partition.
  case groupOfAnyOrigin(String, softly: Bool)
  case scopes([[UInt8]])
  case partition(String)
  case since(Timestamp)
  case everything(softly: Bool)

  /// The keys that it removes as a whole.
  var keys: [[UInt8]] {
    if case .target(let target, let partition, _, _) = self {
      return [CacheKey(target, partition: partition).bytes]
    }
    return []
  }

  /// The scopes that it removes.
  var scopes: [[UInt8]] {
    switch self {
    case .group(let group, let target, let partition, _):
      [CacheKey(target, partition: partition).scope(group: group)]
    case .scopes(let scopes): scopes
    case .partition(let name): [CacheKey.scope(ofPartition: name)]
    case .target, .patterns, .groupOfAnyOrigin, .since, .everything: []
    }
  }

  /// Whether it may remove more than the keys and scopes.
  var isBroad: Bool {
    switch self {
    case .target, .group, .scopes, .partition: false
    case .patterns, .groupOfAnyOrigin, .since, .everything: true
    }
  }
}

/// The payload of a record: version, node, and the removal. All integers are little-endian. A text is its length in bytes
/// (4) and its bytes.
extension Removal {
  private static let version: UInt8 = 1

  private enum Kind: UInt8 {
    case target = 1
    case patterns, group, scopes, partition, since, everything, groupOfAnyOrigin
  }

  func payload(node: UInt64) -> [UInt8] {
    var bytes = SharedBytes()
    bytes.add(Self.version)
    bytes.add(node)
    switch self {
    case .target(let target, let partition, let softly, let keepingPins):
      bytes.add(Kind.target.rawValue)
      bytes.add((softly ? 1 : 0) | (keepingPins ? 2 : 0) as UInt8)
      bytes.add(partition)
      bytes.add(target.text)
    case .patterns(let patterns, let partition, let softly):
      bytes.add(Kind.patterns.rawValue)
      bytes.add(softly ? 1 : 0 as UInt8)
      bytes.add(partition)
      for pattern in patterns { bytes.add(pattern.description) }
    case .group(let group, let target, let partition, let softly):
      bytes.add(Kind.group.rawValue)
      bytes.add(softly ? 1 : 0 as UInt8)
      bytes.add(partition)
      bytes.add(target.text)
      bytes.add(group)
    case .groupOfAnyOrigin(let group, let softly):
      bytes.add(Kind.groupOfAnyOrigin.rawValue)
      bytes.add(softly ? 1 : 0 as UInt8)
      bytes.add(group)
    case .scopes(let scopes):
      bytes.add(Kind.scopes.rawValue)
      for scope in scopes { bytes.add(scope) }
    case .partition(let name):
      bytes.add(Kind.partition.rawValue)
      bytes.add(name)
    case .since(let time):
      bytes.add(Kind.since.rawValue)
      bytes.add(UInt64(bitPattern: time.milliseconds))
    case .everything(let softly):
      bytes.add(Kind.everything.rawValue)
      bytes.add(softly ? 1 : 0 as UInt8)
    }
    return bytes.bytes
  }

  /// Reads a payload. A removal that is unreadable, for example because a later version wrote it, removes everything.
  static func read(_ payload: [UInt8]) -> (node: UInt64, removal: Removal) {
    var reader = SharedBytesReader(payload)
    guard reader.byte() == version, let node = reader.number() else { return (0, .everything(softly: false)) }
    return (node, removal(&reader) ?? .everything(softly: false))
  }

  private static func removal(_ reader: inout SharedBytesReader) -> Removal? {
    guard let kind = reader.byte().flatMap({ Kind(rawValue: $0) }) else { return nil }
    switch kind {
    case .target:
      guard let flags = reader.byte(), let partition = reader.string(),
        let target = reader.string().flatMap({ TargetURI(absolute: $0) }), reader.isAtEnd
      else { return nil }
      return .target(target, partition: partition, softly: flags & 1 != 0, keepingPins: flags & 2 != 0)
    case .patterns:
      guard let flags = reader.byte(), let partition = reader.string() else { return nil }
      var patterns: [TargetPattern] = []
      while !reader.isAtEnd {
        guard let pattern = reader.string().flatMap({ TargetPattern(description: $0) }) else { return nil }
        patterns.append(pattern)
      }
      return patterns.isEmpty ? nil : .patterns(patterns, partition: partition, softly: flags & 1 != 0)
    case .group:
      guard let flags = reader.byte(), let partition = reader.string(),
        let target = reader.string().flatMap({ TargetURI(absolute: $0) }), let group = reader.string(),
        reader.isAtEnd
      else { return nil }
      return .group(group, target, partition: partition, softly: flags & 1 != 0)
    case .groupOfAnyOrigin:
      guard let flags = reader.byte(), let group = reader.string(), reader.isAtEnd else { return nil }
      return .groupOfAnyOrigin(group, softly: flags & 1 != 0)
    case .scopes:
      var scopes: [[UInt8]] = []
      while !reader.isAtEnd {
        guard let scope = reader.text() else { return nil }
        scopes.append(Array(scope))
      }
      return .scopes(scopes)
    case .partition:
      guard let name = reader.string(), !name.isEmpty, reader.isAtEnd else { return nil }
      return .partition(name)
    case .since:
      guard let time = reader.number(), reader.isAtEnd else { return nil }
      return .since(Timestamp(milliseconds: Int64(bitPattern: time)))
    case .everything:
      guard let flags = reader.byte(), reader.isAtEnd else { return nil }
      return .everything(softly: flags & 1 != 0)
    }
  }
}

extension TargetPattern {
  /// Reads the text from ``description``.
  fileprivate init?(description: String) {
    guard let space = description.firstIndex(of: " ") else { return nil }
    let text = String(description[description.index(after: space)...])
    switch description[..<space] {
    case "glob": self = .glob(text)
    case "prefix": self = .prefix(text)
    default: return nil
    }
  }
}
