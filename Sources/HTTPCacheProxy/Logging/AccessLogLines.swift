// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCaching
import HTTPTypes

/// The access log lines of one event loop, until the log's thread takes them.
///
/// Each event loop has its own lock; the log's thread takes it only for as long as it takes to exchange two buffers.
final class AccessLogLines: Sendable {
  /// What the log must do after a line was added.
  enum Demand {
    case nothing
    /// Take the lines soon.
    case soon
    /// Take the lines now, because there are many.
    case now
  }

  /// Number of bytes from which the lines are taken without delay.
  static let piece = 128 << 10

  private struct State {
    var formatter: AccessLogFormatter
    var bytes: [UInt8] = []
    var dropped = 0
  }

  private let state: Mutex<State>
  private let limit: Int
  private let clock: any CacheClock
  private let log: AccessLog

  init(
    _ format: ProxyConfiguration.AccessLogOptions.Format, limit: Int, clock: any CacheClock, log: AccessLog
  ) {
    state = Mutex(State(formatter: AccessLogFormatter(format)))
    self.limit = limit
    self.clock = clock
    self.log = log
  }

  /// Adds a line, without a copy of the request, which would cost as much as half of the line. If the log's thread is
  /// behind by the limit, the line is dropped and counted.
  ///
  /// - Parameter request: `nil` if the received bytes could not be read as a request.
  func append(_ entry: AccessLogEntry, _ request: HTTPRequest?) {
    let now = clock.wallTime
    let demand: Demand = state.withLock { state in
      let count = state.bytes.count
      guard count < limit else {
        state.dropped += 1
        return .nothing
      }
      state.formatter.write(entry, request, at: now, to: &state.bytes)
      if count < Self.piece, state.bytes.count >= Self.piece { return .now }
      return count == 0 ? .soon : .nothing
    }
    switch demand {
    case .nothing: break
    case .soon: log.writeSoon()
    case .now: log.writeNow()
    }
  }

  /// Moves the lines into the sink, which must be empty.
  ///
  /// - Returns: the number of lines dropped since the last call.
  func move(into sink: inout LogSink) -> Int {
    state.withLock { state in
      sink.exchange(&state.bytes)
      defer { state.dropped = 0 }
      return state.dropped
    }
  }

  /// Removes the lines.
  ///
  /// - Returns: the number of removed lines, including those dropped before.
  func removeAll() -> Int {
    state.withLock { state in
      defer { (state.bytes, state.dropped) = ([], 0) }
      return state.bytes.count { $0 == 0x0A } + state.dropped
    }
  }
}
