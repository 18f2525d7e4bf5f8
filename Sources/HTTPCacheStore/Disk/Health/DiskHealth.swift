// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// Whether the disk accepts writes, and when to try again if it does not.
///
/// After some failures it pauses: for a number of writes, and for at most some seconds. So a busy store tries again soon,
/// and an idle one with its next response. The log's lock guards it.
struct DiskHealth: Sendable {
  /// Operations that failed, and have not succeeded since: "create", "write", "sync", "remove", and ``filling``.
  private var failing: Set<String> = []
  /// Stands for a file system that has less room than the capacity. The store evicts for what it writes, and does not
  /// pause.
  static let filling = "fill"
  /// Number of failures since the disk last worked.
  private var failures = 0
  /// Number of writes still to skip.
  private var pause = 0
  /// When the pause ends, however few writes were skipped.
  private var end: Duration?
  /// Events to report after the lock is released; see `DiskEvents`.
  private(set) var events: [DiskEvent] = []

  /// Number of failures after which the store still tries again at once.
  static let patience = 3
  private static let longestPause = 4096
  /// In seconds.
  private static let longestWait = 30

  mutating func fail(_ failure: FileFailure, at now: Duration) {
    if failing.isSubset(of: [Self.filling]) { events.append(.failing(failure.storeError)) }
    failing.insert(failure.operation)
    failures += 1
    let excess = min(failures - Self.patience, 16)
    pause = excess <= 0 ? 0 : min(Self.longestPause, 8 << excess)
    end = excess <= 0 ? nil : now + .seconds(min(Self.longestWait, 1 << (excess - 1)))
  }

  /// Records that the file system is full.
  mutating func fill(_ failure: FileFailure) {
    if failing.isEmpty { events.append(.full(failure.storeError)) }
    failing.insert(Self.filling)
  }

  /// Records a success of one operation: a successful write to an open file does not show that a new file can be
  /// created.
  mutating func succeed(_ operation: String) {
    guard !failing.isEmpty, failing.remove(operation) != nil, failing.isSubset(of: [Self.filling]) else {
      return
    }
    failures = 0
    pause = 0
    events.append(.recovered)
  }

  /// Whether to try a write now.
  mutating func mayTry(at now: @autoclosure () -> Duration) -> Bool {
    guard isPausing(at: now()) else { return true }
    pause -= 1
    return false
  }

  /// - Parameter now: read only if the disk has failed.
  func isPausing(at now: @autoclosure () -> Duration) -> Bool {
    guard pause > 0, let end else { return false }
    return now() < end
  }

  mutating func takeEvents() -> [DiskEvent] {
    defer { events = [] }
    return events
  }
}
