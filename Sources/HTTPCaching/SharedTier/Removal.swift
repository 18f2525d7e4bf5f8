// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine

/// A removal as the nodes of a shared tier tell it each other: a selection as the cache has resolved it.
struct Removal: Hashable, Sendable {
  var selection: HTTPCache.Selection
  /// Whether the responses become stale instead of being removed.
  var isSoft: Bool

  init(_ selection: HTTPCache.Selection, isSoft: Bool = false) {
    (self.selection, self.isSoft) = (selection, isSoft)
  }

  static let everything = Removal(.all)
}

/// The payload of a record: version (1 byte), node (8), kind (1), and the selection. All integers are little-endian. A text
/// is its length in bytes (4) and its bytes.
///
/// | Kind | Flags | Selection |
/// |---|---|---|
/// | 1 | yes | partition, target |
/// | 2 | yes | partition, patterns |
/// | 3 | yes | partition, any target of the origin, group: written if the responses become stale |
/// | 4, 132 | no | scopes |
/// | 5, 133 | no | partition |
/// | 6, 134 | no | since, milliseconds since 1970 (8) |
/// | 7 | yes | everything |
/// | 8 | yes | groups of any origin: a node of before there were tags reads one, and removes everything for more |
/// | 9 | yes | before, milliseconds since 1970 (8) |
/// | 10 | yes | in every partition: kind 1, 2, 4 or 11 (1), and what follows the flags of that kind |
/// | 11 | yes | partition, the position of a site (8), and for each site its hosts and its paths, each after their number (8) |
///
/// Bit 0 of the flags (1 byte) says that the responses become stale; so does bit 7 of a kind without flags. Bit 1 says that
/// the pins stay. A node removes everything for a kind that it does not know.
extension Removal {
  private static let version: UInt8 = 1
  private static let softKind: UInt8 = 0x80

  private enum Kind: UInt8 {
    case target = 1
    case patterns, group, scopes, partition, since, all, groupsOfAnyOrigin, before, everyPartition, site

    var hasFlags: Bool { self != .scopes && self != .partition && self != .since }
  }

  func payload(node: UInt64) -> [UInt8] {
    var bytes = SharedBytes()
    bytes.add(Self.version)
    bytes.add(node)
    func begin(_ kind: Kind, flags: UInt8 = 0) {
      if selection.isInEveryPartition {
        bytes.add(Kind.everyPartition.rawValue)
        bytes.add(flags | (isSoft ? 1 : 0))
        return bytes.add(kind.rawValue)
      }
      bytes.add(kind.rawValue | (isSoft && !kind.hasFlags ? Self.softKind : 0))
      if kind.hasFlags { bytes.add(flags | (isSoft ? 1 : 0)) }
    }
    switch selection.extent {
    case .target(let target, let keepingPins):
      begin(.target, flags: keepingPins ? 2 : 0)
      bytes.add(selection.ownPartition)
      bytes.add(target.text)
    case .patterns(let patterns):
      begin(.patterns)
      bytes.add(selection.ownPartition)
      for pattern in patterns { bytes.add(pattern.description) }
    case .site(let site):
      begin(.site)
      bytes.add(selection.ownPartition)
      bytes.add(UInt64(site.scope))
      for scope in site.table.scopes {
        for texts in [scope.hosts, scope.paths] {
          bytes.add(UInt64(texts.count))
          for text in texts { bytes.add(text) }
        }
      }
    case .origin(let target, let group?) where isSoft:
      begin(.group)
      bytes.add(selection.ownPartition)
      bytes.add(target.text)
      bytes.add(group)
    case .scopes(let scopes):
      begin(.scopes)
      for scope in scopes { bytes.add(scope) }
    case .origin:
      begin(.scopes)
      for scope in selection.scopes { bytes.add(scope) }
    case .partition(let name):
      begin(.partition)
      bytes.add(name)
    case .groupsOfAnyOrigin(let groups):
      begin(.groupsOfAnyOrigin)
      for group in groups { bytes.add(group) }
    case .since(let time):
      begin(.since)
      bytes.add(UInt64(bitPattern: time.milliseconds))
    case .before(let time):
      begin(.before)
      bytes.add(UInt64(bitPattern: time.milliseconds))
    case .all: begin(.all)
    }
    return bytes.bytes
  }

  /// Reads a payload. A removal that is unreadable, for example because a later version wrote it, removes everything.
  static func read(_ payload: [UInt8]) -> (node: UInt64, removal: Removal) {
    var reader = SharedBytesReader(payload)
    guard reader.byte() == version, let node = reader.number() else { return (0, .everything) }
    return (node, removal(&reader) ?? .everything)
  }

  private static func removal(_ reader: inout SharedBytesReader) -> Removal? {
    guard let byte = reader.byte() else { return nil }
    let kind: Kind
    let flags: UInt8
    if let known = Kind(rawValue: byte), known.hasFlags, let read = reader.byte() {
      (kind, flags) = (known, read)
    } else if let known = Kind(rawValue: byte & ~softKind), !known.hasFlags {
      (kind, flags) = (known, byte & softKind == 0 ? 0 : 1)
    } else {
      return nil
    }
    guard let selection = selection(kind, keepingPins: flags & 2 != 0, &reader), reader.isAtEnd else {
      return nil
    }
    return Removal(selection, isSoft: flags & 1 != 0)
  }

  private static func selection(
    _ kind: Kind, keepingPins: Bool, _ reader: inout SharedBytesReader
  ) -> HTTPCache.Selection? {
    switch kind {
    case .target:
      guard let partition = reader.string(), let target = reader.target() else { return nil }
      return HTTPCache.Selection(.target(target, keepingPins: keepingPins), partition: partition)
    case .patterns:
      guard let partition = reader.string() else { return nil }
      var patterns: [TargetPattern] = []
      while !reader.isAtEnd {
        guard let pattern = reader.string().flatMap({ TargetPattern(description: $0) }) else { return nil }
        patterns.append(pattern)
      }
      return patterns.isEmpty ? nil : .patterns(patterns, partition: partition)
    case .site: return reader.site()
    case .group:
      guard let partition = reader.string(), let target = reader.target(), let group = reader.string() else {
        return nil
      }
      return .group(inField: group, of: target, partition: partition)
    case .scopes:
      var scopes: [[UInt8]] = []
      while !reader.isAtEnd {
        guard let scope = reader.text() else { return nil }
        scopes.append(Array(scope))
      }
      return HTTPCache.Selection(.scopes(scopes))
    case .partition: return reader.string().flatMap { $0.isEmpty ? nil : .partition($0) }
    case .since: return reader.time().map { .since($0) }
    case .before: return reader.time().map { .before($0) }
    case .groupsOfAnyOrigin:
      var groups: [String] = []
      while !reader.isAtEnd {
        guard let group = reader.string() else { return nil }
        groups.append(group)
      }
      return groups.isEmpty ? nil : .groups(inField: groups)
    case .all: return .all
    case .everyPartition:
      guard let inner = reader.byte().flatMap({ Kind(rawValue: $0) }),
        inner == .target || inner == .patterns || inner == .scopes || inner == .site,
        let selection = selection(inner, keepingPins: keepingPins, &reader)
      else { return nil }
      return HTTPCache.Selection(selection.extent, in: .everyPartition)
    }
  }
}

extension SharedBytesReader {
  fileprivate mutating func target() -> TargetURI? { string().flatMap { TargetURI(absolute: $0) } }

  fileprivate mutating func site() -> HTTPCache.Selection? {
    guard let partition = string(), let position = number() else { return nil }
    func texts() -> [String]? {
      guard let count = number() else { return nil }
      var texts: [String] = []
      for _ in 0..<count {
        // A damaged number must not keep a node busy.
        guard !isAtEnd, let text = string() else { return nil }
        texts.append(text)
      }
      return texts
    }
    var scopes: [SiteScope] = []
    while !isAtEnd {
      guard let hosts = texts(), let paths = texts() else { return nil }
      scopes.append(SiteScope(hosts: hosts, paths: paths))
    }
    guard position < scopes.count else { return nil }
    let site = SiteSelection(table: SiteTable(scopes), scope: Int(position))
    return HTTPCache.Selection(.site(site), partition: partition)
  }

  fileprivate mutating func time() -> Timestamp? {
    number().map { Timestamp(milliseconds: Int64(bitPattern: $0)) }
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
