// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// Whether the disk accepts writes, and when to try again if it does not.
///
/// It counts skipped writes instead of time, so that its behaviour depends only on the calls of the store. The log's
/// lock guards it.
struct DiskHealth: Sendable {
  /// Operations that failed, and have not succeeded since: "create", "write", "sync", "remove".
  private var failing: Set<String> = []
  /// Number of failures since the disk last worked.
  private var failures = 0
  /// Number of writes still to skip.
  private var pause = 0
  /// Events to report after the lock is released; see `DiskEvents`.
  private(set) var events: [DiskEvent] = []

  /// Number of failures after which the store still tries again at once.
  static let patience = 3
  private static let longestPause = 4096

  mutating func fail(_ failure: FileFailure) {
    if failing.isEmpty { events.append(.failing(failure.storeError)) }
    failing.insert(failure.operation)
    failures += 1
    pause = failures <= Self.patience ? 0 : min(Self.longestPause, 8 << min(failures - Self.patience, 16))
  }

  /// Records a success of one operation: a successful write to an open file does not show that a new file can be
  /// created.
  mutating func succeed(_ operation: String) {
    guard !failing.isEmpty, failing.remove(operation) != nil, failing.isEmpty else { return }
    failures = 0
    pause = 0
    events.append(.recovered)
  }

  /// Whether to try a write now.
  mutating func mayTry() -> Bool {
    guard pause > 0 else { return true }
    pause -= 1
    return false
  }

  var isPausing: Bool { pause > 0 }

  mutating func takeEvents() -> [DiskEvent] {
    defer { events = [] }
    return events
  }
}
