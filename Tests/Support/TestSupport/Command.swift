// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ChildProcesses
import Foundation

/// A program that a test runs to its end.
package struct Command: Sendable {
  package struct Result: Sendable {
    /// As a shell gives it: 128 and the number of the signal, if a signal ended the program.
    package var status: Int32
    /// Standard output and standard error.
    package var output: String
  }

  private let words: [String]
  private let timeLimit: Duration

  /// - Parameters:
  ///   - words: a program by its name or path, and its arguments.
  ///   - timeLimit: after this time the process is killed.
  package init(words: [String], timeLimit: Duration = .seconds(60)) {
    self.words = words
    self.timeLimit = timeLimit
  }

  /// Runs the program without the variables that select what the manifest of this package builds.
  package func run() async throws -> Result {
    let process = try ChildProcess(
      words[0], Array(words.dropFirst()),
      environment: ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("HTTPCACHE_") })
    process.kill(after: timeLimit)
    let end = try await process.endOrKill()
    return Result(status: end.status, output: process.output.text)
  }
}
