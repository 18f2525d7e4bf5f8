// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheEngine
import HTTPCaching
import Logging

/// Logs repeated failures: each kind once, then their number in at most one warning a minute, and their end.
///
/// ```
/// warning: no connection to 127.0.0.1:8000: connection refused    failures=1 kind=connection_refused
/// warning: no connection to 127.0.0.1:8000: connection refused    failures=4711 kind=connection_refused
/// notice: the origin answers again                                failures=302 kind=connection_refused
/// ```
///
/// `failures` counts the failures since the previous line. The number of lines depends on time alone: a failure that
/// comes and goes makes one warning and one notice a minute.
package final class FailureLog: Sendable {
  /// The shortest time between two warnings of a kind, in milliseconds.
  package static let interval: Int64 = 60_000

  /// Runs a closure after a number of milliseconds; by the clock, unless a test does it by hand.
  package typealias Schedule = @Sendable (Int64, @escaping @Sendable () -> Void) -> Void

  private struct Kind {
    /// The message of the last failure.
    var message = ""
    /// Failures that have not been logged yet.
    var untold = 0
    /// Whether the last attempt failed.
    var isFailing = true
    /// Whether the last line was a warning.
    var isTold = false
    var nextWarning = Timestamp(milliseconds: .min)
    /// Whether a call of ``FailureLog/tellLater()`` is scheduled.
    var isScheduled = false

    mutating func warning(at now: Timestamp) -> Line {
      defer { untold = 0 }
      isTold = true
      nextWarning = Timestamp(milliseconds: now.milliseconds + FailureLog.interval)
      return Line(level: .warning, message: message, failures: untold)
    }

    mutating func notice(_ message: String) -> Line {
      defer { untold = 0 }
      isTold = false
      return Line(level: .notice, message: message, failures: untold)
    }
  }

  private struct Line {
    var level: Logger.Level
    var message: String
    var failures: Int
  }

  private let kinds = Mutex<[String: Kind]>([:])
  /// Whether ``recovered()`` has anything to log.
  private let isFailing = Atomic(false)
  private let logger: Logger
  private let clock: any CacheClock
  private let schedule: Schedule
  private let recovery: String

  /// - Parameter recovery: the message when the failures are over.
  package init(
    _ logger: Logger, recovery: String, clock: any CacheClock = SystemCacheClock.shared,
    schedule: Schedule? = nil
  ) {
    self.logger = logger
    self.recovery = recovery
    self.clock = clock
    self.schedule =
      schedule ?? { delay, body in
        Task {
          try? await clock.sleep(for: .milliseconds(delay))
          body()
        }
      }
  }

  /// Counts failures, and logs them: at once, or a minute after the last warning of their kind.
  ///
  /// - Parameter kind: the kind of failure; there must be few kinds, because each is kept in memory.
  package func failed(_ kind: String, _ message: @autoclosure () -> String, count: Int = 1) {
    let now = clock.now
    let (line, delay): (Line?, Int64?) = kinds.withLock { kinds in
      isFailing.store(true, ordering: .relaxed)
      var state = kinds[kind] ?? Kind()
      defer { kinds[kind] = state }
      state.untold += count
      state.isFailing = true
      state.message = message()
      if now >= state.nextWarning { return (state.warning(at: now), nil) }
      if state.isScheduled { return (nil, nil) }
      state.isScheduled = true
      return (nil, state.nextWarning.milliseconds - now.milliseconds)
    }
    if let line { log(line, kind) }
    if let delay { schedule(delay) { [weak self] in self?.tellLater(kind) } }
  }

  private func tellLater(_ kind: String) {
    let now = clock.now
    let lines: [Line] = kinds.withLock { kinds in
      guard var state = kinds[kind] else { return [] }
      defer { kinds[kind] = state }
      state.isScheduled = false
      // A later line has already reported them.
      guard state.untold > 0, now >= state.nextWarning else { return [] }
      let line = state.warning(at: now)
      return state.isFailing ? [line] : [line, state.notice(recovery)]
    }
    for line in lines { log(line, kind) }
  }

  /// Logs that a failed operation works again. If it did not fail before, the call costs the load of a flag.
  package func recovered() {
    guard isFailing.load(ordering: .relaxed) else { return }
    let lines: [(String, Line)] = kinds.withLock { kinds in
      isFailing.store(false, ordering: .relaxed)
      var lines: [(String, Line)] = []
      for kind in kinds.keys {
        kinds[kind]?.isFailing = false
        if kinds[kind]?.isTold == true, let line = kinds[kind]?.notice(recovery) {
          lines.append((kind, line))
        }
      }
      return lines
    }
    for (kind, line) in lines { log(line, kind) }
  }

  private func log(_ line: Line, _ kind: String) {
    logger.log(
      level: line.level, "\(line.message)", metadata: ["kind": "\(kind)", "failures": "\(line.failures)"])
  }
}
