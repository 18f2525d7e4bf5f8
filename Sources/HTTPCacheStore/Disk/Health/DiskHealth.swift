// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// Whether the disk takes what is written, and when to try again if it does not.
///
/// It counts what would have been written instead of time, which depends on nothing but what is asked of the store. The log's lock
/// guards it.
struct DiskHealth: Sendable {
  /// What failed, and did not succeed since: "create", "write", "sync", "remove".
  private var failing: Set<String> = []
  /// Failures since all was well.
  private var failures = 0
  /// What is still not tried to be written.
  private var pause = 0
  /// What is to be told when no lock is held; see `DiskEvents`.
  private(set) var events: [DiskEvent] = []

  /// How often it is tried again at once.
  static let patience = 3
  private static let longestPause = 4096

  mutating func fail(_ failure: FileFailure) {
    if failing.isEmpty { events.append(.failing(failure.storeError)) }
    failing.insert(failure.operation)
    failures += 1
    pause = failures <= Self.patience ? 0 : min(Self.longestPause, 8 << min(failures - Self.patience, 16))
  }

  /// That a file which is open can be written to says nothing of whether another can be made.
  mutating func succeed(_ operation: String) {
    guard !failing.isEmpty, failing.remove(operation) != nil, failing.isEmpty else { return }
    failures = 0
    pause = 0
    events.append(.recovered)
  }

  /// Whether something is to be written now.
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
