// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// The pinned keys, in the order in which they were pinned.
struct PinList: Sendable {
  private(set) var keys: [StoreKey] = []
  /// The keys by the bits of their hash that the index knows.
  private var byHash: [UInt64: [StoreKey]] = [:]
  /// The length in bytes of the file with these keys.
  private(set) var fileCount = PinFile.overhead

  init() {}

  init(_ keys: [StoreKey], hasher: KeyHasher) {
    for key in keys { insert(key, hash: hasher.hash(key)) }
  }

  var isEmpty: Bool { keys.isEmpty }
  var count: Int { keys.count }

  /// Whether a key with this hash is pinned. Keys whose hashes have the same 40 bits count as one, as in the index: the
  /// entries of such a key are pinned too, and counted.
  func contains(_ hash: UInt64) -> Bool { !byHash.isEmpty && byHash[Self.known(hash)] != nil }

  func contains(_ key: StoreKey, hash: UInt64) -> Bool {
    byHash[Self.known(hash)]?.contains(key) ?? false
  }

  /// Returns `false` if the key is pinned already.
  @discardableResult
  mutating func insert(_ key: StoreKey, hash: UInt64) -> Bool {
    guard !contains(key, hash: hash) else { return false }
    keys.append(key)
    byHash[Self.known(hash), default: []].append(key)
    fileCount += PinFile.count(of: key)
    return true
  }

  /// Returns `false` if the key is not pinned.
  ///
  /// - Complexity: O(pins), as is the writing of the file that follows.
  mutating func remove(_ key: StoreKey, hash: UInt64) -> Bool {
    guard contains(key, hash: hash) else { return false }
    keys.removeAll { $0 == key }
    let known = Self.known(hash)
    byHash[known]?.removeAll { $0 == key }
    if byHash[known]?.isEmpty ?? false { byHash[known] = nil }
    fileCount -= PinFile.count(of: key)
    return true
  }

  /// The bits of a hash that the index compares.
  private static func known(_ hash: UInt64) -> UInt64 { hash & 0xFF00_0000_FFFF_FFFF }
}

/// What the log knows of pins. The log's lock guards it.
struct Pins: Sendable {
  var list = PinList()
  /// The number of the latest file that was written.
  var number: UInt64 = 0
  /// The bytes that the two files occupy.
  var fileSizes = [0, 0]
  /// Copies of pinned entries that are not yet durable.
  var copies = PinnedCopies()
}

/// Copies of pinned entries at the end of the log, until they are as durable as the records that they were made from.
///
/// The index finds the copied entry in its old place until then. So a failed write, a killed process and a loss of power
/// cost a copy, never the entry.
struct PinnedCopies: Sendable {
  struct Copy: Sendable {
    let slot: UInt32
    let source: RecordLocation
    /// The number of the update whose metadata the copy has; `nil` if the entry had none.
    let revision: UInt64?
    let location: RecordLocation
  }

  /// What must be written and synced before copies take the place of their entries.
  struct Batch: Sendable {
    /// The place of the last copy in the log.
    let position: UInt64
    /// The files with the copies.
    let files: [any File]
  }

  /// The copies by the ids of their entries.
  private(set) var copies: [UInt64: Copy] = [:]

  mutating func add(_ copy: Copy, of id: UInt64) { copies[id] = copy }

  /// Removes and returns the copies up to a place in the log.
  mutating func take(upTo position: UInt64) -> [(id: UInt64, copy: Copy)] {
    let taken = copies.filter { $0.value.location.position <= position }
    for id in taken.keys { copies[id] = nil }
    return taken.map { ($0.key, $0.value) }
  }

  /// Forgets the copy at a place whose bytes were not written.
  mutating func lose(_ position: UInt64) {
    guard !copies.isEmpty else { return }
    copies = copies.filter { $0.value.location.position != position }
  }
}
