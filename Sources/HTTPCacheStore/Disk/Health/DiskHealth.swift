// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Synchronization

/// Whether the disk accepts writes, and when to try again if it does not.
///
/// After some failures it pauses: for a number of writes, and for at most some seconds. So a busy store tries again soon,
/// and an idle one with its next response. A failure to write a body file pauses only body files: records may still find
/// a place. The log's lock guards it.
struct DiskHealth: Sendable {
  /// Operations that failed, and have not succeeded since: "create", "write", "sync", "remove", ``filling`` and
  /// ``bodies``.
  private var failing: Set<String> = []
  /// Stands for a file system that has less room than the capacity. The store evicts for what it writes, and does not
  /// pause.
  static let filling = "fill"
  /// Whether one of the others is among them. The first condition is all that a working disk costs.
  private var isFailing: Bool { !failing.isEmpty && !failing.isSubset(of: [Self.filling]) }
  /// Stands for every operation on a body file.
  static let bodies = "body"
  /// The pause of all writes.
  private var pause = Pause()
  /// The pause of body files.
  private var bodyPause = Pause()
  /// Events to report after the lock is released; see `DiskEvents`.
  private(set) var events: [DiskEvent] = []

  /// Number of failures after which the store still tries again at once.
  static let patience = 3

  private struct Pause: Sendable {
    private static let longest = 4096
    /// In seconds.
    private static let longestWait = 30

    /// Number of failures since the disk last worked.
    private var failures = 0
    /// Number of writes still to skip.
    private var writes = 0
    /// When the pause ends at the latest; `nil` without a pause.
    var end: Duration? { writes > 0 ? limit : nil }
    private var limit: Duration?

    mutating func fail(at now: Duration) {
      failures += 1
      let excess = min(failures - DiskHealth.patience, 16)
      writes = excess <= 0 ? 0 : min(Self.longest, 8 << excess)
      limit = excess <= 0 ? nil : now + .seconds(min(Self.longestWait, 1 << (excess - 1)))
    }

    /// - Parameter now: read only if the disk has failed.
    func isOn(at now: @autoclosure () -> Duration) -> Bool { end.map { now() < $0 } ?? false }

    /// Whether to try a write now; if not, counts it as skipped.
    mutating func mayTry(at now: @autoclosure () -> Duration) -> Bool {
      guard isOn(at: now()) else { return true }
      writes -= 1
      return false
    }
  }

  mutating func fail(_ failure: FileFailure, at now: Duration) {
    note(failure, of: failure.operation)
    pause.fail(at: now)
  }

  /// Records that a body file could not be created or written.
  mutating func failBody(_ failure: FileFailure, at now: Duration) {
    note(failure, of: Self.bodies)
    bodyPause.fail(at: now)
  }

  private mutating func note(_ failure: FileFailure, of operation: String) {
    if !isFailing { events.append(.failing(failure.storeError)) }
    failing.insert(operation)
  }

  /// Records that the file system is full.
  mutating func fill(_ failure: FileFailure) {
    if failing.isEmpty { events.append(.full(failure.storeError)) }
    failing.insert(Self.filling)
  }

  /// Records a success of one operation: a successful write to an open file does not show that a new file can be
  /// created.
  mutating func succeed(_ operation: String) {
    guard !failing.isEmpty, failing.remove(operation) != nil else { return }
    if operation == Self.bodies { bodyPause = Pause() }
    guard !isFailing else { return }
    (pause, bodyPause) = (Pause(), Pause())
    events.append(.recovered)
  }

  /// Whether to try a write now.
  mutating func mayTry(at now: @autoclosure () -> Duration) -> Bool { pause.mayTry(at: now()) }

  /// Whether to try to write a body file now.
  mutating func mayTryBody(at now: @autoclosure () -> Duration) -> Bool {
    pause.mayTry(at: now()) && bodyPause.mayTry(at: now())
  }

  /// - Parameter now: read only if the disk has failed.
  func isPausing(at now: @autoclosure () -> Duration) -> Bool { pause.isOn(at: now()) }

  /// The state of body files in one word, for threads without the lock: 0 while the disk works, otherwise the uptime in
  /// nanoseconds at which the pause of body files ends, and 1 without a pause.
  var bodyState: Int {
    guard isFailing else { return 0 }
    return max(1, [pause.end, bodyPause.end].compactMap { $0?.nanoseconds }.max() ?? 1)
  }

  mutating func takeEvents() -> [DiskEvent] {
    defer { events = [] }
    return events
  }
}

extension Duration {
  /// The duration in nanoseconds, as far as a word can have them.
  var nanoseconds: Int {
    Int(clamping: components.seconds).multipliedReportingOverflow(by: 1_000_000_000).partialValue
      &+ Int(components.attoseconds / 1_000_000_000)
  }
}

/// Counts events of the disk tier.
final class DiskCounters: Sendable {
  let evictions = Atomic<Int>(0)
  let carries = Atomic<Int>(0)
  let corruptRecords = Atomic<Int>(0)
  let ioErrors = Atomic<Int>(0)
  let failures = Atomic<Int>(0)
  let bytesWritten = Atomic<Int>(0)
  let bytesStored = Atomic<Int>(0)
}

extension Atomic<Int> {
  func increment(by count: Int = 1) {
    add(count, ordering: .relaxed)
  }

  var value: Int { load(ordering: .relaxed) }
}
