// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore

/// Decides how long a client's connection of HTTP/2 lasts: it receives events, and returns actions.
///
/// ```
/// open ──► announcing ──► ending ──► lingering ──► closed
///   └────────────────────────────────►┘
/// ```
///
/// The end is announced with GOAWAY, and again when the client knows of it (RFC 9113 §6.8). Requests that arrive meanwhile are
/// refused so that the client may repeat them. The output ends after the requests in progress, and the client gets time to read
/// it.
struct ClientHTTP2StateMachine {
  enum State: Hashable {
    case open
    /// GOAWAY was sent, and PING. The client may not know of it yet.
    case announcing
    /// The client opens no more streams.
    case ending
    /// The sending half is about to be closed, or closed. Nothing more is answered.
    ///
    /// - Parameter reads: whether bytes of the client are read, so that it is not reset.
    case lingering(reads: Bool)
    case closed
  }

  enum Action: Hashable {
    case none
    /// Check the time again then.
    case armTimer(at: NIODeadline)
    /// Send GOAWAY and PING, and check the time.
    case announce
    /// Send GOAWAY with the last stream.
    case sendLastStream
    /// Send GOAWAY with the last stream; when it is written, close the sending half and check the time.
    case endOutput
    case close
  }

  /// What the client takes of the bytes that were written.
  enum Uptake: Hashable {
    /// It has taken all of them.
    case whole
    /// It has taken some of them since the last look.
    case some
    /// It has taken none of them since the last look.
    case none
  }

  private(set) var state = State.open
  private var streams = 0
  /// Since when nothing has happened that the present state waits for.
  private var since: NIODeadline
  /// When the client has last taken bytes, or had none to take.
  private var taken: NIODeadline

  init(at now: NIODeadline) { (since, taken) = (now, now) }

  /// Whether no request is in progress.
  var isIdle: Bool { streams == 0 }

  /// Whether bytes of the client are wanted.
  var isReading: Bool { state != .closed && state != .lingering(reads: false) }

  mutating func streamOpened() { streams += 1 }

  mutating func streamClosed(at now: NIODeadline) -> Action {
    streams -= 1
    guard streams == 0 else { return .none }
    since = now
    return state == .ending ? endOutput(at: now, reads: true) : .none
  }

  /// Handles the stop of the proxy: the connection ends after its requests in flight.
  mutating func stop(at now: NIODeadline) -> Action {
    guard state == .open else { return .none }
    (state, since) = (.announcing, now)
    return .announce
  }

  /// Handles the client's answer to PING: it has GOAWAY.
  mutating func announced(at now: NIODeadline) -> Action {
    guard state == .announcing else { return .none }
    state = .ending
    return streams == 0 ? endOutput(at: now, reads: true) : .sendLastStream
  }

  /// Handles an error of the connection, after which nothing is answered.
  mutating func failed(at now: NIODeadline) -> Action {
    switch state {
    case .open, .announcing, .ending: return endOutput(at: now, reads: false)
    case .lingering, .closed: return .none
    }
  }

  private mutating func endOutput(at now: NIODeadline, reads: Bool) -> Action {
    (state, since) = (.lingering(reads: reads), now)
    return .endOutput
  }

  /// Records that the connection is closed.
  mutating func closed() { state = .closed }

  /// Checks what the connection waits for.
  mutating func checkTime(
    at now: NIODeadline, _ timeouts: ProxyConfiguration.Timeouts, _ uptake: Uptake
  ) -> Action {
    if uptake != .none { taken = now }
    // A client that takes its bytes is not idle, and must not lose them.
    if uptake != .whole { since = now }
    guard state != .closed else { return .none }
    if taken + timeouts.stall.timeAmount <= now { return .close }
    // Not late for what begins meanwhile.
    let nextLook =
      now + Swift.min(PeerUptake.interval(within: timeouts.stall), timeouts.idle.timeAmount)
    if case .lingering = state {} else if streams > 0 { return .armTimer(at: nextLook) }
    let limit = state == .open ? timeouts.idle.timeAmount : ClientConnectionStateMachine.lingering
    if since + limit > now { return .armTimer(at: Swift.min(since + limit, nextLook)) }
    return state == .open ? stop(at: now) : .close
  }
}
