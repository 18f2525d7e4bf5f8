// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import NIOCore

/// Commands that are sent in one write, and the caller that waits for their replies.
///
/// The caller can stop waiting at any time: at its deadline, or when its task is cancelled. The request then keeps its
/// place among the others of its connection, so that each later reply still reaches its own request.
final class Request: Sendable {
  typealias Result = Swift.Result<[RedisValue], any Error>

  private enum State {
    /// No caller waits yet.
    case new
    case waiting(@Sendable (Result) -> Void)
    /// Finished before the caller began to wait.
    case early(Result)
    case finished
  }

  /// What is sent.
  let bytes: ByteBuffer
  /// The number of commands, and so of replies.
  let commands: Int
  let deadline: NIODeadline
  private let state = Mutex(State.new)

  init(_ bytes: ByteBuffer, commands: Int, deadline: NIODeadline) {
    self.bytes = bytes
    self.commands = commands
    self.deadline = deadline
  }

  /// The number of bytes that are sent.
  var size: Int { bytes.readableBytes }

  /// Whether the caller has a result.
  var isFinished: Bool {
    state.withLock {
      switch $0 {
      case .new, .waiting: false
      case .early, .finished: true
      }
    }
  }

  /// Calls a function with the result, at once if there is one already. Only once per request.
  func whenFinished(_ report: @escaping @Sendable (Result) -> Void) {
    let early: Result? = state.withLock {
      guard case .early(let result) = $0 else {
        $0 = .waiting(report)
        return nil
      }
      $0 = .finished
      return result
    }
    if let early { report(early) }
  }

  /// Ends the waiting with a result, unless it has ended.
  ///
  /// - Parameter note: called if this is the first result, before the waiting task gets it.
  func finish(_ result: Result, _ note: () -> Void = {}) {
    let report: (@Sendable (Result) -> Void)? = state.withLock {
      switch $0 {
      case .new:
        note()
        $0 = .early(result)
        return nil
      case .waiting(let report):
        note()
        $0 = .finished
        return report
      case .early, .finished: return nil
      }
    }
    report?(result)
  }
}
