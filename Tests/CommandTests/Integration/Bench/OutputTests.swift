// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import ChildProcesses
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct OutputTests {
  /// Runs a line of the shell, in which `$0` and `$1` are the programs.
  private func run(_ line: String) async throws -> (status: Int32, output: String) {
    let child = try ChildProcess(
      "sh", ["-c", line, BuiltProgram.path("cache-bench"), BuiltProgram.path("cache-bench-servers")])
    let end = try await child.endOrKill()
    return (end.status, child.output.text)
  }

  private static let replay = "replay --generated zipf --requests 100 --keys 10 --eviction exact-lru"
  private static let places =
    FileManager.default.fileExists(atPath: "/dev/full") ? [">&-", ">/dev/full"] : [">&-"]

  @Test(arguments: places)
  func `output that cannot be written is an error in one line`(place: String) async throws {
    let (status, output) = try await run("\"$0\" \(Self.replay) \(place)")
    #expect(status == 74)
    #expect(output.hasPrefix("cache-bench: cannot write to standard output: "))
    #expect(output.split(separator: "\n").count == 1)
  }

  @Test(arguments: places)
  func `a page that cannot be written is an error in one line`(place: String) async throws {
    let (status, output) = try await run(
      """
      file=$(mktemp)
      "$0" \(Self.replay) --json >"$file"
      "$1" report "$file" \(place)
      status=$?
      rm "$file"
      exit $status
      """)
    #expect(status == 74)
    #expect(output.hasPrefix("cache-bench-servers: cannot write to standard output: "))
    #expect(output.split(separator: "\n").count == 1)
  }
}
