// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ChildProcesses
import Testing

@Suite("A short soak test", .serialized, .timeLimit(.minutes(10)))
struct SoakTests {
  /// More processes at a time would not get a processor for as long as an answer may take.
  @Test(
    "A short soak run has only correct responses and no growing resources",
    arguments: [["0", "1", "2", "3"], ["4", "5", "6", "7"]])
  func short(entryPoints: [String]) async throws {
    // Other tests may run at the same time: fewer clients, and an origin counts as silent later.
    let process = try ChildProcess(
      try #require(Program.built("TestTool"), "TestTool is not beside the tests"),
      ["soak", "--seconds", "20", "--clients", "24", "--silence", "5000"]
        + entryPoints.flatMap { ["--entry-point", $0] },
      errors: .inherited)
    let end = try await process.endOrKill()
    let text = process.output.text
    #expect(end == .exited(0), "\(Self.reasons(text))\n\(text)")
  }

  /// What the run says of its failure, in a few lines: CI may keep no more of a message.
  private static func reasons(_ text: String) -> String {
    text.split(separator: "\n").filter { line in
      ["failed: ", "failure at ", "Fatal error"].contains { line.contains($0) }
    }.suffix(4).joined(separator: "\n")
  }
}
