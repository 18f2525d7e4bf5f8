// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import Testing

@Suite("A short soak test", .serialized, .timeLimit(.minutes(10)))
struct SoakTests {
  /// More processes at a time would not get a processor for as long as an answer may take.
  @Test(
    "A short soak run has only correct responses and no growing resources",
    arguments: [["0", "1", "2", "3"], ["4", "5", "6", "7"]])
  func short(doors: [String]) throws {
    let process = Process()
    process.executableURL = URL(
      fileURLWithPath: try #require(Self.executable, "Soak is not beside the tests"))
    // Other tests may run at the same time: fewer clients, and an origin counts as silent later.
    process.arguments =
      ["--seconds", "20", "--clients", "24", "--silence", "5000"] + doors.flatMap { ["--door", $0] }
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationStatus == 0, "\(Self.reasons(text))\n\(text)")
  }

  /// What the run says of its failure, in a few lines: CI may keep no more of a message.
  private static func reasons(_ text: String) -> String {
    text.split(separator: "\n").filter { line in
      ["failed: ", "failure at ", "Fatal error"].contains { line.contains($0) }
    }.suffix(4).joined(separator: "\n")
  }

  /// The program is built beside the tests.
  private static var executable: String? {
    let own =
      (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")).map { [$0] } ?? []
    let bundles = Bundle.allBundles.map(\.bundlePath).filter { $0.hasSuffix(".xctest") }
    return (own + CommandLine.arguments.prefix(1) + bundles).lazy
      .map { URL(fileURLWithPath: $0).deletingLastPathComponent().appendingPathComponent("Soak").path }
      .first { FileManager.default.isExecutableFile(atPath: $0) }
  }
}
