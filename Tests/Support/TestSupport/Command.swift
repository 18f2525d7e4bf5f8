// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation

/// A program that a test runs to its end.
package struct Command: Sendable {
  package struct Result: Sendable {
    package var status: Int32
    /// Standard output and standard error.
    package var output: String
  }

  private let words: [String]
  private let timeLimit: Duration

  /// - Parameters:
  ///   - words: a program by its name or path, and its arguments.
  ///   - timeLimit: after this time the process is terminated.
  package init(words: [String], timeLimit: Duration = .seconds(60)) {
    self.words = words
    self.timeLimit = timeLimit
  }

  /// Runs the program without the variables that select what the manifest of this package builds.
  package func run() async throws -> Result {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = words
    process.environment = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("HTTPCACHE_") }
    process.standardInput = FileHandle.nullDevice
    let output = Pipe()
    process.standardOutput = output
    process.standardError = output
    try process.run()
    let limit = Task {
      try await Task.sleep(for: timeLimit)
      process.terminate()
    }
    defer { limit.cancel() }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        // A thread of its own: both calls block.
        Thread.detachNewThread {
          let data: Data
          do {
            data = try output.fileHandleForReading.readToEnd() ?? Data()
          } catch {
            process.terminate()
            continuation.resume(throwing: error)
            return
          }
          process.waitUntilExit()
          continuation.resume(
            returning: Result(
              status: process.terminationStatus, output: String(decoding: data, as: UTF8.self)))
        }
      }
    } onCancel: {
      process.terminate()
    }
  }
}
