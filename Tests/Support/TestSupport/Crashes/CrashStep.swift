// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheStore

/// One thing that a crash test does to a store, as it can be written down and read again.
package enum CrashStep: Hashable, Sendable {
  /// Its number is in the entry's metadata, chooses its body and is the second at which it is stored.
  case insert(number: Int, key: Int, variant: UInt64, size: Int, scope: Int)
  /// New metadata for the entry that was inserted with a number, by the step of another.
  case update(number: Int, by: Int, key: Int)
  case removeKey(Int)
  case removeVariant(key: Int, variant: UInt64)
  /// Removes what was stored in this second or later.
  case removeSince(Int)
  case removeAll
  case mark(scope: Int)
  /// Removes keys whose number gives this rest when divided by ``CrashContent/rests``.
  case sweep(rest: Int)
  /// Updates their metadata, all at once: it says that it was expired.
  case expire(rest: Int)
  case flush
  case read(key: Int)
  /// Pins a key of which an entry was found just before.
  case pin(key: Int, number: Int)
  case unpin(key: Int)

  /// A line without its end.
  package var text: String {
    switch self {
    case .insert(let number, let key, let variant, let size, let scope):
      "insert \(number) \(key) \(variant) \(size) \(scope)"
    case .update(let number, let by, let key): "update \(number) \(by) \(key)"
    case .removeKey(let key): "removeKey \(key)"
    case .removeVariant(let key, let variant): "removeVariant \(key) \(variant)"
    case .removeSince(let second): "removeSince \(second)"
    case .removeAll: "removeAll"
    case .mark(let scope): "mark \(scope)"
    case .sweep(let rest): "sweep \(rest)"
    case .expire(let rest): "expire \(rest)"
    case .flush: "flush"
    case .read(let key): "read \(key)"
    case .pin(let key, let number): "pin \(key) \(number)"
    case .unpin(let key): "unpin \(key)"
    }
  }

  package init?(_ text: some StringProtocol) {
    let words = text.split(separator: " ")
    let numbers = words.dropFirst().compactMap { Int($0) }
    guard let name = words.first, numbers.count == words.count - 1 else { return nil }
    switch (name, numbers.count) {
    case ("insert", 5):
      self = .insert(
        number: numbers[0], key: numbers[1], variant: UInt64(numbers[2]), size: numbers[3], scope: numbers[4])
    case ("update", 3): self = .update(number: numbers[0], by: numbers[1], key: numbers[2])
    case ("removeKey", 1): self = .removeKey(numbers[0])
    case ("removeVariant", 2): self = .removeVariant(key: numbers[0], variant: UInt64(numbers[1]))
    case ("removeSince", 1): self = .removeSince(numbers[0])
    case ("removeAll", 0): self = .removeAll
    case ("mark", 1): self = .mark(scope: numbers[0])
    case ("sweep", 1): self = .sweep(rest: numbers[0])
    case ("expire", 1): self = .expire(rest: numbers[0])
    case ("flush", 0): self = .flush
    case ("read", 1): self = .read(key: numbers[0])
    case ("pin", 2): self = .pin(key: numbers[0], number: numbers[1])
    case ("unpin", 1): self = .unpin(key: numbers[0])
    default: return nil
    }
  }
}

/// The keys and heads of crash tests; all follow from numbers.
package enum CrashContent {
  package static let keys = 40
  package static let scopes = 4

  package static let rests = 5

  package static func key(_ number: Int) -> StoreKey { StoreKey("https://example.com/crash/\(number)") }

  /// Whether a key's number gives this rest.
  package static func keys(withRest rest: Int) -> CacheStore.Coverage {
    { key, _ in
      let name = key.map { String(decoding: $0, as: UTF8.self) }
      return name?.split(separator: "/").last.flatMap { Int($0) }.map { $0 % rests == rest } ?? false
    }
  }

  package static func scope(_ number: Int) -> StoreScope { StoreScope("scope \(number)") }

  /// - Parameter revision: the number of the insert, or of the latest update.
  package static func metadata(number: Int, revision: Int, scope: Int, size: Int) -> [UInt8] {
    Array("\(number) \(revision) \(scope) \(size)".utf8)
  }
}

/// What a stored entry says that it is.
package struct CrashEntry: Hashable, Sendable {
  package var number: Int
  package var revision: Int
  package var scope: Int
  package var size: Int
  package var isExpired: Bool

  /// What was found of an entry.
  package enum Reading {
    case whole(CrashEntry)
    /// Its body cannot be read, and the reader is told so: a miss.
    case unreadable
    /// Its bytes are not those of any entry that was ever written.
    case wrong
  }

  package static func read(_ entry: StoredEntry) -> Reading {
    let words = String(decoding: entry.metadata, as: UTF8.self).split(separator: " ").compactMap { Int($0) }
    guard words.count == 4 || words.count == 5 else { return .wrong }
    let content = CrashEntry(
      number: words[0], revision: words[1], scope: words[2], size: words[3], isExpired: words.count == 5)
    guard entry.bodyCount == content.size, entry.storedAt == Int64(content.revision) * 1000 else {
      return .wrong
    }
    guard let body = try? entry.body.readAll() else { return .unreadable }
    return Array(body) == pattern(content.number, content.size) ? .whole(content) : .wrong
  }

  /// `nil` unless the entry is whole.
  package init?(_ entry: StoredEntry) {
    guard case .whole(let content) = Self.read(entry) else { return nil }
    self = content
  }

  private init(number: Int, revision: Int, scope: Int, size: Int, isExpired: Bool) {
    (self.number, self.revision, self.scope, self.size) = (number, revision, scope, size)
    self.isExpired = isExpired
  }
}
