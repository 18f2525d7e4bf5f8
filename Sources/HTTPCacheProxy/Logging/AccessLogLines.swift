// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching
import HTTPTypes
import Synchronization

/// The lines of an access log that one event loop has written, until the log's thread takes them.
///
/// The lock is the event loop's own: the log's thread holds it for as long as it takes to exchange two buffers.
final class AccessLogLines: Sendable {
  /// What the log must do, now that a line more is there.
  enum Demand {
    case nothing
    /// Take the lines in a moment.
    case soon
    /// Take them now: there are many.
    case now
  }

  /// The bytes at which they are taken without delay.
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

  /// Adds a line, without a copy of the request, which would cost as much as half of the line. While the log's thread has fallen behind by the limit, the line is dropped and counted.
  ///
  /// - Parameter request: `nil` if what came could not be read as one.
  func append(_ entry: AccessLogEntry, _ request: HTTPRequest?) {
    let now = clock.now
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
  /// - Returns: how many lines were dropped since the last time.
  func move(into sink: inout LogSink) -> Int {
    state.withLock { state in
      sink.exchange(&state.bytes)
      defer { state.dropped = 0 }
      return state.dropped
    }
  }

  /// Removes the lines.
  ///
  /// - Returns: how many there were, with those that were dropped before.
  func removeAll() -> Int {
    state.withLock { state in
      defer { (state.bytes, state.dropped) = ([], 0) }
      return state.bytes.count { $0 == 0x0A } + state.dropped
    }
  }
}
