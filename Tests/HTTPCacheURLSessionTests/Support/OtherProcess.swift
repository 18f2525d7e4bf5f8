// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ChildProcesses
import Foundation
import TestSupport

@testable import TestTool

/// Runs `TestTool load`: another process that loads URLs through a cache.
enum OtherProcess {
  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  /// - Parameter prefix: the beginning of the command, such as `unshare`.
  /// - Returns: the results, and what the process printed beside them: the events of the disk.
  static func run(
    _ work: Work, prefix: [String] = []
  ) async throws -> (results: [LoadResult], events: [String]) {
    guard let program = Program.built("TestTool") else {
      throw Failure(description: "TestTool is not beside the tests")
    }
    let argument = String(decoding: try JSONEncoder().encode(work), as: UTF8.self)
    // All tests begin at once, on a machine that has other work.
    let end = try await Command(words: prefix + [program, "load", argument], timeLimit: .seconds(300)).run()
    let lines = end.output.split(separator: "\n")
    let results = try lines.filter { $0.hasPrefix("{") }.map {
      try JSONDecoder().decode(LoadResult.self, from: Data($0.utf8))
    }
    guard end.status == 0, results.count == work.loads.count else {
      throw Failure(description: "TestTool ended with status \(end.status): \(end.output)")
    }
    return (results, lines.filter { !$0.hasPrefix("{") }.map(String.init))
  }
}
