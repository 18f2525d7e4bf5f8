// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// A position in the log of removals.
public struct SharedLogPosition: Hashable, Sendable {
  /// Identifies the log: a random number, made when the log is created, and again when it may have lost records.
  public var epoch: UInt64
  /// The number of a record; 0 is before the first.
  public var number: UInt64

  /// Makes a position. Each parameter is documented at the property of its name.
  public init(epoch: UInt64, number: UInt64) {
    (self.epoch, self.number) = (epoch, number)
  }
}

/// A removal to add to the log.
public struct SharedRemoval: Hashable, Sendable {
  /// The removal for the nodes; the tier does not interpret it.
  public var payload: [UInt8]
  /// Keys that it removes as a whole.
  public var keys: [[UInt8]]
  /// Scopes that it removes: an entry belongs to those in ``SharedEntry/scopes``.
  public var scopes: [[UInt8]]
  /// Whether it may remove entries of other keys and scopes. The tier refuses every entry with an older position.
  public var isBroad: Bool

  /// Makes a removal. Each parameter is documented at the property of its name.
  public init(payload: [UInt8], keys: [[UInt8]], scopes: [[UInt8]], isBroad: Bool) {
    (self.payload, self.keys, self.scopes, self.isBroad) = (payload, keys, scopes, isBroad)
  }
}

/// A record of the log.
public struct SharedLogRecord: Hashable, Sendable {
  /// The number of the record.
  public var number: UInt64
  /// ``SharedRemoval/payload``, unchanged.
  public var payload: [UInt8]

  /// Makes a record. Each parameter is documented at the property of its name.
  public init(number: UInt64, payload: [UInt8]) {
    (self.number, self.payload) = (number, payload)
  }
}

/// Some consecutive records of the log.
public struct SharedLogPage: Hashable, Sendable {
  /// Identifies the log, as in ``SharedLogPosition/epoch``; `nil` if the tier did not look, because nothing was new.
  public var epoch: UInt64?
  /// The records, oldest first.
  public var records: [SharedLogRecord]

  /// Makes a page. Each parameter is documented at the property of its name.
  public init(epoch: UInt64?, records: [SharedLogRecord]) {
    (self.epoch, self.records) = (epoch, records)
  }
}

/// A cache that follows the log.
public struct SharedNode: Hashable, Sendable {
  /// Identifies the cache: a random number for each process and cache.
  public var id: UInt64
  /// How far the node has applied the log; `nil` if it has not begun.
  public var applied: SharedLogPosition?
  /// How long the tier remembers the node after each heartbeat. The node stops trusting its own content earlier than that,
  /// by its own clock.
  public var lifetime: Duration

  /// Makes a node. Each parameter is documented at the property of its name.
  public init(id: UInt64, applied: SharedLogPosition?, lifetime: Duration) {
    (self.id, self.applied, self.lifetime) = (id, applied, lifetime)
  }
}

/// The present state of the log.
public struct SharedLogHead: Hashable, Sendable {
  /// The position of the last record.
  public var last: SharedLogPosition
  /// The number of the oldest record that the log still has; of the next record if it has none.
  public var first: UInt64
  /// The number that every registered node has applied.
  ///
  /// After the epoch began it stays 0 for one node lifetime: nodes of the epoch before may still trust themselves, and
  /// are not registered yet.
  public var appliedByAll: UInt64

  /// Makes a head. Each parameter is documented at the property of its name.
  public init(last: SharedLogPosition, first: UInt64, appliedByAll: UInt64) {
    (self.last, self.first, self.appliedByAll) = (last, first, appliedByAll)
  }
}
