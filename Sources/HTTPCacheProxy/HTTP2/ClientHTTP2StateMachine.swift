// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore

/// Decides how long a client's connection of HTTP/2 lasts: it receives events, and returns actions.
///
/// ```
/// open ──► ending ──► closed
///   └───────────────────▲
/// ```
struct ClientHTTP2StateMachine {
  enum State: Hashable {
    /// - Parameter since: since when there is no stream; `nil` while there is one.
    case open(since: NIODeadline?)
    /// GOAWAY was sent: no more streams are accepted (RFC 9113 §6.8).
    ///
    /// - Parameter since: since when there is no stream; `nil` while there is one.
    case ending(since: NIODeadline?)
    case closed
  }

  enum Action: Hashable {
    case none
    /// Check the time again then.
    case armTimer(at: NIODeadline)
    /// Send GOAWAY, and check the time.
    case goAway
    case close
  }

  private(set) var state: State
  private var streams = 0

  init(at now: NIODeadline) { state = .open(since: now) }

  /// Whether no request is in progress.
  var isIdle: Bool { streams == 0 }

  mutating func streamOpened() {
    streams += 1
    setIdle(since: nil)
  }

  mutating func streamClosed(at now: NIODeadline) {
    streams -= 1
    if streams == 0 { setIdle(since: now) }
  }

  private mutating func setIdle(since: NIODeadline?) {
    switch state {
    case .open: state = .open(since: since)
    case .ending: state = .ending(since: since)
    case .closed: break
    }
  }

  /// Handles the stop of the proxy: the connection ends after its requests in flight.
  mutating func stop() -> Action {
    guard case .open(let since) = state else { return .none }
    state = .ending(since: since)
    return .goAway
  }

  /// Records that the connection is closed, or about to be.
  mutating func closed() { state = .closed }

  /// Checks what the connection waits for.
  mutating func checkTime(at now: NIODeadline, _ timeouts: ProxyConfiguration.Timeouts) -> Action {
    // Not late for what begins meanwhile.
    let nextLook =
      now + Swift.min(PeerUptake.interval(within: timeouts.stall), timeouts.idle.timeAmount)
    switch state {
    case .open(let since?):
      let deadline = since + timeouts.idle.timeAmount
      // A request may arrive meanwhile, whose client must take the response.
      if deadline > now { return .armTimer(at: Swift.min(deadline, nextLook)) }
      state = .ending(since: now)
      return .goAway
    // The client closes, or `NIOHTTP2ServerConnectionManagementHandler` does when the client has GOAWAY. It may be gone.
    case .ending(let since?):
      let deadline = since + ClientConnectionStateMachine.lingering
      return deadline > now ? .armTimer(at: deadline) : .close
    case .open(nil), .ending(nil): return .armTimer(at: nextLook)
    case .closed: return .none
    }
  }
}
