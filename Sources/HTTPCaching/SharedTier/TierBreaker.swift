// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// Decides whether requests use the shared tier: after some failures in a row, or one failed heartbeat, they do not, until
/// a heartbeat is answered in time.
struct TierBreaker: Hashable, Sendable {
  /// Failures in a row after which the tier is not used.
  static let limit = 5

  private enum State: Hashable {
    case closed(failures: Int)
    /// The tier is not used.
    case open
  }

  /// Not used before the first heartbeat: the node does not know the log either.
  private var state = State.open

  /// Whether requests may use the tier.
  var isClosed: Bool { state != .open }

  /// Takes note of a call that was answered in time.
  mutating func succeeded() {
    if case .closed(1...) = state { state = .closed(failures: 0) }
  }

  /// Takes note of a call that failed or took too long.
  ///
  /// - Returns: whether the tier is not used from now on.
  mutating func failed() -> Bool {
    guard case .closed(let failures) = state else { return false }
    state = failures + 1 >= Self.limit ? .open : .closed(failures: failures + 1)
    return state == .open
  }

  /// Stops the use of the tier.
  ///
  /// - Returns: whether it was used until now.
  mutating func open() -> Bool {
    defer { state = .open }
    return isClosed
  }

  /// Takes note of a heartbeat that was answered in time.
  ///
  /// - Returns: whether the tier is used again from now on.
  mutating func heard() -> Bool {
    guard state == .open else { return false }
    state = .closed(failures: 0)
    return true
  }
}
