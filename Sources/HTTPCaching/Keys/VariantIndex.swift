// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore

/// How the variants under a key are found if there are more than a lookup should compare with a request.
///
/// Normally all variants of a resource are stored under its one key, and each is compared with the request. From
/// ``most`` on, a further variant has a key of its own, which is made from the values that select it and from a nonce. The
/// index is an entry under the common key. It contains the nonce, and the lists of names that `Vary` nominated. So a
/// request needs one lookup for each list, however many variants there are. To remove the index removes all variants that
/// are found by it, as with an ``Anchor``.
struct VariantIndex: Sendable {
  /// The number of variants that are stored under the common key.
  static let most = 8
  /// The number of those of a pinned resource: what is stored under its key is pinned.
  static let mostPinned = 60
  /// Maximum number of lists of names. An origin has one, or a few.
  static let mostLists = 8
  /// The variant that the index is stored as. A fingerprint is hardly ever this number.
  static let variant = VariantID(rawValue: 1)

  let nonce: UInt64
  /// The lists of names, each sorted; the one added last first.
  private(set) var lists: [[String]] = []

  init() {
    nonce = .random(in: .min ... .max)
  }

  /// Reads the index that an entry contains; `nil` for any other entry.
  init?(_ entry: StoredEntry) {
    guard entry.variant == Self.variant else { return nil }
    var reader = RecordReader(entry.metadata)
    guard let nonce = reader.begin(.variantIndex) else { return nil }
    self.nonce = nonce
    // No name contains a comma, and no field a line break.
    lists = reader.rest.split(separator: 0x0A).map { list in
      list.split(separator: 0x2C).map { String(decoding: $0, as: UTF8.self) }
    }
  }

  func contains(_ names: [String]) -> Bool { lists.contains(names) }

  mutating func add(_ names: [String]) {
    guard !names.isEmpty, !contains(names) else { return }
    lists.insert(names, at: 0)
    // The variants of a list that is dropped are found again when one of them was stored again.
    if lists.count > Self.mostLists { lists.removeLast() }
  }

  /// Returns the key of one of the variants.
  func key(of id: VariantID, under key: StoreKey) -> StoreKey {
    Self.key(of: id, under: key, nonce: nonce)
  }

  static func key(of id: VariantID, under key: StoreKey, nonce: UInt64) -> StoreKey {
    StoreKey(CacheKey.variantKey(of: key.bytes, number: id.rawValue, nonce: nonce))
  }

  /// Returns the entry to store.
  func entry(under key: StoreKey, at time: Timestamp) -> NewEntry {
    NewEntry(
      key: key, variant: Self.variant,
      metadata: RecordMark.variantIndex.record(
        nonce, lists.map { $0.joined(separator: ",") }.joined(separator: "\n").utf8),
      body: [], storedAt: time.milliseconds)
  }
}

/// What a lookup has seen of the variants under a key.
struct KnownVariants: Sendable {
  /// The variants under the key itself that a request may select, the one stored first first.
  var own: [VariantID] = []
  var index: VariantIndex?
  /// The variants that the request selects, one for each list of names; empty without an index.
  var requested: [VariantID] = []
  /// Those of them that the index leads to.
  var selected: [VariantID] = []
}
