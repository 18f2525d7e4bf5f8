// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import ChildProcesses
import Foundation
import Testing

@testable import CacheBenchServers

/// The programs beside the tests.
enum BuiltProgram {
  static func path(_ name: String) -> String { Program.built(name) ?? name }
  static func exists(_ name: String) -> Bool { Program.built(name) != nil }

  /// Runs a body on a thread of its own: it waits for other processes, and the tests share few threads.
  static func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value
  {
    try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
    }
  }

  /// Runs a command of the benchmarks as a process, and returns its report.
  static func report(_ name: String, _ arguments: String) async throws -> Report {
    let words = arguments.split(separator: " ").map(String.init) + ["--json"]
    let output = try await onThread { try ChildProcess.output(of: path(name), words, seconds: 500) }
    let file = try? ReportFile(name: "a", bytes: Array(output.utf8), path: "a")
    return try #require(file?.report, "\(output)")
  }
}
