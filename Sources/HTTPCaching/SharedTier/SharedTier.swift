// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// A tier of stored responses, and a log of removals, that several machines share: the entry point for an engine such as
/// Redis.
///
/// A cache with a tier looks up memory, disk, the tier, and then the origin. The tier may lose any entry at any time, and
/// may be slow or unreachable: no request fails because of it. Only the log carries a promise.
///
/// **The log.** Each removal gets the next number. The records of one ``SharedLogPosition/epoch`` have the numbers 1, 2,
/// 3, …, without gaps, and are never changed. A log that may have lost its last records, or is new, has another epoch.
/// The oldest records may be dropped; ``SharedLogHead/first`` says so.
///
/// **Nodes.** Each cache calls ``heartbeat(_:within:)`` several times a second. The tier remembers how far each node has
/// applied the log, for the node's ``SharedNode/lifetime``.
///
/// The methods are called from any task. They throw if the tier cannot do what they say, or if their time limit has
/// passed; a thrown removal may still have taken effect. End each call within its limit, with all its round trips: a
/// request may wait for it, and the cache has no timer of its own. (Two tasks and a timer for each call took a fifth of
/// a lookup's processor time.)
public protocol SharedTier: Sendable {
  /// Finds all variants of a key, in one round trip if their bodies are small.
  ///
  /// - Parameters:
  ///   - key: the whole key. Entries of another key with the same hash must not be returned.
  ///   - limit: maximum time to wait.
  func find(_ key: [UInt8], within limit: Duration) async throws -> [FoundSharedEntry]

  /// Stores an entry in place of the one with the same key and variant.
  ///
  /// - Parameters:
  ///   - entry: the entry.
  ///   - limit: maximum time to wait.
  /// - Returns: ``SharedStoring/removedSince`` if the log has a removal after the entry's position that concerns the
  ///   entry, or if the tier cannot tell. The comparison and the storing are one step, where the engine can do that.
  ///   ``SharedStoring/full`` if the key has so many other variants that a request for one should not get all.
  func store(_ entry: SharedEntry, within limit: Duration) async throws -> SharedStoring

  /// Stores an entry whose content the tier has, after a validation: its head in place of the old one, for its lifetime, and nothing
  /// of its content (default: does nothing).
  ///
  /// - Parameters:
  ///   - entry: the entry.
  ///   - limit: maximum time to wait.
  ///   - hasContent: whether the content of the entry with this head is the same.
  /// - Returns: `nil` if the tier has no entry with the same key, variant and content: then the cache stores all of it. Otherwise as
  ///   ``store(_:within:)``.
  func refresh(
    _ entry: SharedEntry, within limit: Duration,
    where hasContent: @escaping @Sendable (_ head: [UInt8]) -> Bool
  ) async throws -> SharedStoring?

  /// Adds a record to the log, and removes the tier's entries of its keys.
  ///
  /// - Parameters:
  ///   - removal: the record.
  ///   - limit: maximum time to wait.
  /// - Returns: the position of the record.
  func append(_ removal: SharedRemoval, within limit: Duration) async throws -> SharedLogPosition

  /// Returns the records after a position, oldest first. If no record follows the position, waits for the next one.
  ///
  /// - Parameters:
  ///   - position: the last position that the caller has read.
  ///   - wait: maximum time to wait. The result is then without records.
  /// - Returns: some of the records; a page of another epoch, or one that begins later, if the log no longer has the next
  ///   record.
  func records(after position: SharedLogPosition, waiting wait: Duration) async throws -> SharedLogPage

  /// Registers a node for its lifetime, and returns the end of the log at a moment after the call.
  ///
  /// - Parameters:
  ///   - node: the node.
  ///   - limit: maximum time to wait.
  func heartbeat(_ node: SharedNode, within limit: Duration) async throws -> SharedLogHead

  /// Forgets a node that no longer serves anything.
  ///
  /// - Parameters:
  ///   - node: the node.
  ///   - limit: maximum time to wait.
  func leave(_ node: SharedNode, within limit: Duration) async throws

  /// Takes the lease of a key for a request to the origin, unless another owner has it.
  ///
  /// - Parameters:
  ///   - lease: the lease.
  ///   - limit: maximum time to wait.
  /// - Returns: whether the caller has the lease now.
  func acquire(_ lease: SharedLease, within limit: Duration) async throws -> Bool

  /// Ends a lease if it still belongs to its owner, and wakes those that wait for it.
  ///
  /// - Parameters:
  ///   - lease: the lease.
  ///   - limit: maximum time to wait.
  func release(_ lease: SharedLease, within limit: Duration) async throws

  /// Waits until no lease of a key exists, or for a maximum time. Returns at once if the key has no lease.
  func waitForRelease(of key: [UInt8], atMost wait: Duration) async throws

  /// Deletes entries that no node will use again, to free memory (default: none are).
  ///
  /// The cache calls it in the background after a removal that does not name the keys of its entries, such as one of a group. It
  /// may take long, and may end early: what is left expires.
  ///
  /// - Parameter isRemoved: whether the entry with this head is not used again.
  /// - Returns: the number of entries that were deleted.
  func reclaim(where isRemoved: @escaping @Sendable (_ head: [UInt8]) -> Bool) async throws -> Int

  /// Closes the connections. Calls in progress fail.
  func close() async
}

extension SharedTier {
  public func refresh(
    _ entry: SharedEntry, within limit: Duration,
    where hasContent: @escaping @Sendable (_ head: [UInt8]) -> Bool
  ) async throws -> SharedStoring? {
    nil
  }

  public func reclaim(where isRemoved: @escaping @Sendable (_ head: [UInt8]) -> Bool) async throws -> Int {
    0
  }
}
