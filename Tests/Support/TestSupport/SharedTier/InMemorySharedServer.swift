// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCaching

/// The reference implementation of a shared tier's engine, in memory, for tests: what the methods of ``SharedTier`` mean
/// in the simplest code. Each node has its own ``InMemorySharedTier`` on it.
package final class InMemorySharedServer: Sendable {
  private struct Stored {
    var entry: SharedEntry
    var at: Timestamp
    var end: Timestamp
  }

  private struct Registration {
    var applied: SharedLogPosition?
    var end: Timestamp
  }

  private struct State {
    var epoch = UInt64.random(in: 1 ... .max)
    var epochBegan: Timestamp
    var first: UInt64 = 1
    var removals: [SharedRemoval] = []
    var entries: [[UInt8]: [[UInt8]: Stored]] = [:]
    var nodes: [UInt64: Registration] = [:]
    var leases: [[UInt8]: (owner: UInt64, end: Timestamp)] = [:]
    var refreshes = 0

    var last: SharedLogPosition {
      SharedLogPosition(epoch: epoch, number: first + UInt64(removals.count) - 1)
    }

    var counts: Counts {
      Counts(
        entries: entries.values.reduce(0) { $0 + $1.count }, nodes: nodes.count, leases: leases.count,
        refreshes: refreshes)
    }

    func hasLease(_ key: [UInt8], at now: Timestamp) -> Bool { leases[key].map { $0.end > now } ?? false }
  }

  /// What the server has.
  package struct Counts: Sendable {
    package var entries: Int
    package var nodes: Int
    package var leases: Int
    /// How many heads were stored without their contents.
    package var refreshes: Int
  }

  private let state: Monitor<State>
  let clock: any CacheClock

  /// - Parameter clock: the engine's own clock; that of the nodes may show another time.
  package init(clock: any CacheClock) {
    self.clock = clock
    state = Monitor(State(epochBegan: Timestamp(milliseconds: clock.now.milliseconds - 3_600_000)))
  }

  // MARK: - Faults

  /// Loses the entries and the log, like an engine that restarts without its data.
  package func loseEverything() {
    let now = clock.now
    state.withLock { $0 = State(epochBegan: now) }
  }

  /// Maximum number of variants of a key that have a body.
  package static let mostVariants = 8

  /// Loses the oldest records of the log.
  ///
  /// - Parameter count: how many.
  package func trimLog(_ count: Int) {
    state.withLock { state in
      let count = Swift.min(count, state.removals.count)
      state.removals.removeFirst(count)
      state.first += UInt64(count)
    }
  }

  /// Loses all entries, like an engine that is short of memory.
  package func loseEntries() { state.withLock { $0.entries = [:] } }

  func reclaim(where isRemoved: ([UInt8]) -> Bool) -> Int {
    state.withLock { state in
      let before = state.counts.entries
      state.entries = state.entries.mapValues { $0.filter { !isRemoved($0.value.entry.head) } }
      return before - state.counts.entries
    }
  }

  /// Changes the stored entries, to damage them.
  package func damage(_ change: (inout SharedEntry) -> Void) {
    state.withLock { state in
      for (key, variants) in state.entries {
        for variant in variants.keys {
          if var stored = state.entries[key]?[variant] {
            change(&stored.entry)
            state.entries[key]?[variant] = stored
          }
        }
      }
    }
  }

  package var counts: Counts { state.withLock { $0.counts } }
  package var entryCount: Int { counts.entries }
  package var last: SharedLogPosition { state.withLock { $0.last } }
  package var nodeCount: Int { state.withLock { $0.nodes.count } }
  package var leaseCount: Int { state.withLock { $0.leases.count } }

  // MARK: - The methods of a tier

  package func find(_ key: [UInt8]) -> [FoundSharedEntry] {
    let now = clock.now
    return state.withLock { state in
      (state.entries[key]?.values).map { variants in
        variants.filter { $0.end > now }.map {
          FoundSharedEntry(
            head: $0.entry.head, body: $0.entry.body, elapsed: .milliseconds(now.millisecondsSince($0.at)))
        }
      } ?? []
    }
  }

  package func store(_ entry: SharedEntry) -> SharedStoring {
    let now = clock.now
    return state.withLock { state in
      guard entry.position.epoch == state.epoch, entry.position.number + 1 >= state.first,
        entry.position.number <= state.last.number
      else { return .removedSince }
      let later = state.removals.dropFirst(Int(entry.position.number + 1 - state.first))
      if later.contains(where: { removal in
        removal.isBroad || removal.keys.contains(entry.key)
          || removal.scopes.contains { entry.scopes.contains($0) }
      }) {
        return .removedSince
      }
      let present = state.entries[entry.key] ?? [:]
      if present[entry.variant] == nil, present.count >= (entry.body.isEmpty ? 2 : 1) * Self.mostVariants {
        return .full
      }
      state.entries[entry.key, default: [:]][entry.variant] = Stored(
        entry: entry, at: now, end: now.advanced(by: entry.lifetime))
      return .stored
    }
  }

  package func refresh(_ entry: SharedEntry, where hasContent: ([UInt8]) -> Bool) -> SharedStoring? {
    let known = state.withLock { $0.entries[entry.key]?[entry.variant] }
    guard let known, hasContent(known.entry.head) else { return nil }
    var entry = entry
    entry.body = known.entry.body
    let result = store(entry)
    if result == .stored { state.withLock { $0.refreshes += 1 } }
    return result
  }

  package func append(_ removal: SharedRemoval) -> SharedLogPosition {
    state.withLock { state in
      state.removals.append(removal)
      for key in removal.keys { state.entries[key] = nil }
      return state.last
    }
  }

  package func records(after position: SharedLogPosition) -> SharedLogPage {
    state.withLock { state in
      let from = position.epoch == state.epoch ? Swift.max(position.number + 1, state.first) : state.first
      let skipped = Swift.min(Int(from - state.first), state.removals.count)
      return SharedLogPage(
        epoch: state.epoch,
        records: state.removals[skipped...].prefix(64).enumerated().map {
          SharedLogRecord(number: from + UInt64($0), payload: $1.payload)
        })
    }
  }

  package func heartbeat(_ node: SharedNode) -> SharedLogHead {
    let now = clock.now
    return state.withLock { state in
      state.nodes[node.id] = Registration(applied: node.applied, end: now.advanced(by: node.lifetime))
      state.nodes = state.nodes.filter { $1.end > now }
      let isSettled = now >= state.epochBegan.advanced(by: node.lifetime)
      let applied = state.nodes.values.map { $0.applied?.epoch == state.epoch ? $0.applied?.number ?? 0 : 0 }
      return SharedLogHead(
        last: state.last, first: state.first, appliedByAll: isSettled ? applied.min() ?? 0 : 0)
    }
  }

  package func leave(_ node: SharedNode) { state.withLock { $0.nodes[node.id] = nil } }

  package func acquire(_ lease: SharedLease) -> Bool {
    let now = clock.now
    return state.withLock { state in
      if let present = state.leases[lease.key], present.end > now, present.owner != lease.owner {
        return false
      }
      state.leases[lease.key] = (lease.owner, now.advanced(by: lease.lifetime))
      return true
    }
  }

  package func release(_ lease: SharedLease) {
    state.withLock { state in
      if state.leases[lease.key]?.owner == lease.owner { state.leases[lease.key] = nil }
    }
  }

  // MARK: - Waiting

  /// Waits until the log does not end at a position, or for a maximum time.
  func wait(whileLast position: SharedLogPosition, atMost limit: Duration) async {
    try? await withDeadline(limit, on: clock) { [state] in try await state.wait { $0.last != position } }
  }

  /// Waits until no lease of a key exists, or for a maximum time.
  func wait(whileLeased key: [UInt8], atMost limit: Duration) async {
    try? await withDeadline(limit, on: clock) { [state, clock] in
      try await state.wait { !$0.hasLease(key, at: clock.now) }
    }
  }

  /// Returns when a condition on what the server has holds.
  package func wait(until condition: @escaping @Sendable (Counts) -> Bool) async throws {
    try await state.wait { condition($0.counts) }
  }
}
