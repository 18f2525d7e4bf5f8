// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex

/// Where any thread leaves requests for the event loop of a connection, and what bounds all that waits there.
///
/// A request counts from here until its last reply came or the connection ended. So requests whose callers stopped
/// waiting count too: a server that does not answer fills the inbox, and further requests fail at once.
final class RequestInbox: Sendable {
  private struct State {
    var arrivals: [Request] = []
    var commands = 0
    var bytes = 0
    var isAnnounced = false
    var end: RedisError?
  }

  private let maximumCommands: Int
  private let maximumBytes: Int
  private let state = Mutex(State())

  init(maximumCommands: Int, maximumBytes: Int) {
    self.maximumCommands = maximumCommands
    self.maximumBytes = maximumBytes
  }

  /// Leaves a request. Returns whether the event loop must be told: once for all requests until it takes them.
  func add(_ request: Request) throws(RedisError) -> Bool {
    let result: Result<Bool, RedisError> = state.withLock { state in
      if let end = state.end { return .failure(end) }
      let (commands, bytes) = (state.commands + request.commands, state.bytes + request.size)
      // A single request may be larger than the limits.
      guard (commands <= maximumCommands && bytes <= maximumBytes) || state.commands == 0 else {
        return .failure(
          RedisError(
            .overloaded,
            """
            \(state.commands) commands with \(state.bytes) bytes are waiting for the server; the limits are \
            \(maximumCommands) commands and \(maximumBytes) bytes
            """))
      }
      (state.commands, state.bytes) = (commands, bytes)
      state.arrivals.append(request)
      defer { state.isAnnounced = true }
      return .success(!state.isAnnounced)
    }
    return try result.get()
  }

  /// Takes what arrived.
  func take() -> [Request] {
    state.withLock { state in
      state.isAnnounced = false
      defer { state.arrivals = [] }
      return state.arrivals
    }
  }

  /// Stops counting a request.
  func remove(_ request: Request) {
    state.withLock { state in
      state.commands -= request.commands
      state.bytes -= request.size
    }
  }

  /// Refuses further requests with an error, and takes what arrived.
  func close(_ error: RedisError) -> [Request] {
    state.withLock { state in
      if state.end == nil { state.end = error }
      (state.commands, state.bytes) = (0, 0)
      defer { state.arrivals = [] }
      return state.arrivals
    }
  }

  /// The number of commands without a reply.
  var commands: Int { state.withLock { $0.commands } }
}
