// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// Decides whether a peer is used: after some failures in a row it is not, until it has answered a probe.
///
/// The peer is the shared tier, which is probed by heartbeats, or the origin of a proxy.
package struct CircuitBreaker: Hashable, Sendable {
  private enum State: Hashable {
    case closed(failures: Int)
    /// The peer is not used.
    case open
  }

  /// Failures in a row after which the peer is not used.
  package var limit: Int
  private var state: State

  /// - Parameter isClosed: whether the peer is used before it has answered a probe.
  package init(limit: Int, isClosed: Bool) {
    self.limit = limit
    state = isClosed ? .closed(failures: 0) : .open
  }

  /// Whether the peer is used.
  package var isClosed: Bool { state != .open }

  /// Records a call that was answered in time.
  package mutating func succeeded() {
    if case .closed(1...) = state { state = .closed(failures: 0) }
  }

  /// Records a call that failed or took too long.
  ///
  /// - Returns: whether the peer is not used from now on.
  package mutating func failed() -> Bool {
    guard case .closed(let failures) = state else { return false }
    state = failures + 1 >= limit ? .open : .closed(failures: failures + 1)
    return state == .open
  }

  /// Stops the use of the peer.
  ///
  /// - Returns: whether it was used until now.
  package mutating func open() -> Bool {
    defer { state = .open }
    return isClosed
  }

  /// Records a probe that was answered in time.
  ///
  /// - Returns: whether the peer is used again from now on.
  package mutating func close() -> Bool {
    guard state == .open else { return false }
    state = .closed(failures: 0)
    return true
  }
}
