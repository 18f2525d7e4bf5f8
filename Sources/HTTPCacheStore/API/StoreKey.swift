// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// The name of a stored resource: bytes that the store compares whole and never interprets.
///
/// Two keys are equal if their bytes are equal. The store hashes keys with a random seed, so that an outsider cannot
/// choose keys that collide.
public struct StoreKey: Hashable, Sendable {
  /// The bytes of the key.
  public let bytes: [UInt8]

  /// Creates a key from these bytes.
  public init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  /// Creates a key from the UTF-8 of the string. Keys are compared byte by byte, without Unicode normalisation.
  public init(_ string: String) {
    self.bytes = Array(string.utf8)
  }
}

extension StoreKey: CustomStringConvertible {
  /// The bytes read as UTF-8.
  public var description: String { String(decoding: bytes, as: UTF8.self) }
}

/// A number that tells the variants of one resource apart.
///
/// An insert under the same key and variant replaces the present entry. Choose any numbers, or make them from bytes
/// with ``CacheStore/fingerprint(of:)``.
public struct VariantID: Hashable, Sendable, RawRepresentable {
  /// The number.
  public let rawValue: UInt64

  /// Creates the variant with this number.
  public init(rawValue: UInt64) {
    self.rawValue = rawValue
  }
}

/// The identity of one stored entry. Ids grow with every insert.
///
/// Of two entries of one key and variant, the entry with the greater id is the newer. A store never uses an id twice. A
/// directory never uses the id of an entry again once that entry has reached the disk.
public struct EntryID: Hashable, Sendable, Comparable {
  package let rawValue: UInt64

  package init(rawValue: UInt64) {
    self.rawValue = rawValue
  }

  public static func < (left: EntryID, right: EntryID) -> Bool {
    left.rawValue < right.rawValue
  }
}

/// The tiers that keep an entry.
public struct StoreTiers: OptionSet, Hashable, Sendable {
  /// The tiers as bits.
  public let rawValue: UInt8

  /// Creates the set with these bits.
  public init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  /// Memory: lost when the process ends.
  public static let memory = StoreTiers(rawValue: 1 << 0)
  /// Disk: available again when the directory is opened again.
  public static let disk = StoreTiers(rawValue: 1 << 1)
  /// Memory and disk.
  public static let all: StoreTiers = [.memory, .disk]
}

/// A property that entries have in common, so that they can be outdated together. It consists of bytes; the store
/// compares their hash and never interprets them.
///
/// An entry may belong to any number of scopes. The store does not know which. It only remembers when a scope was
/// marked, and the caller asks whether an entry it found is older. See ``CacheStore/mark(_:)``.
package struct StoreScope: Hashable, Sendable {
  /// The bytes of the scope.
  package let bytes: [UInt8]

  /// Creates a scope from these bytes.
  package init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  /// Creates a scope from the UTF-8 of the string.
  package init(_ string: String) {
    self.bytes = Array(string.utf8)
  }
}
