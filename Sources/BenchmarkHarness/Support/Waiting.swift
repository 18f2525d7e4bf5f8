// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ChildProcesses
import Foundation

extension ChildProcess {
  /// Runs a program to its end, and returns its output. It blocks the thread.
  package static func output(
    of executable: String, _ arguments: [String], seconds: Double = 60
  ) throws -> String {
    let child = try ChildProcess(executable, arguments)
    guard child.blockingEnd(atMost: .seconds(seconds)) != nil else {
      child.blockingStop()
      throw BenchError.unprepared("\(child.name) did not end within \(Int(seconds)) s")
    }
    return child.output.text
  }
}

/// Waits until a condition holds, which nothing announces. Returns `false` if it does not hold in time.
package func poll(for seconds: Double, until condition: () -> Bool) -> Bool {
  let start = MonotonicClock.now
  while !condition() {
    if Double(MonotonicClock.now - start) > seconds * 1e9 { return false }
    usleep(2_000)
  }
  return true
}
