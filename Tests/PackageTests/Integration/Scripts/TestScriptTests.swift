// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import TestSupport
import Testing

@Suite("The scripts that run the tests", .timeLimit(.minutes(5)))
struct TestScriptTests {
  /// Copies the scripts to a folder with a unit test and an integration test, and a program in the place of the compiled
  /// tests.
  private func prepare(_ folder: URL, program: String) throws {
    let files = FileManager.default
    let tests = ["Tests/SomeTests/Unit": "First", "Tests/SomeTests/Integration/Sockets": "Second"]
    for name in ["scripts", ".build/debug", "bin"] + tests.keys {
      try files.createDirectory(
        at: folder.appendingPathComponent(name), withIntermediateDirectories: true)
    }
    for (name, suite) in tests {
      let source =
        "@Suite(\"Some\") struct \(suite)Tests {\n#if Redis\n  struct \(suite)MoreTests {}\n// struct NoTests\n"
      try Data(source.utf8).write(to: folder.appendingPathComponent(name + "/Some.swift"))
    }
    for name in ["scripts/test.sh", "scripts/test-busy.sh"] {
      try files.copyItem(
        at: Repository.root.appendingPathComponent(name), to: folder.appendingPathComponent(name))
    }
    try write(program, to: folder.appendingPathComponent(".build/debug/HTTPCacheEnginePackageTests.xctest"))
  }

  private func write(_ program: String, to file: URL) throws {
    try Data("#!/bin/sh\n\(program)\n".utf8).write(to: file)
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: file.path)
  }

  private func run(_ words: [String], _ variables: [String] = [], in folder: URL) async throws
    -> Command.Result
  {
    let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
    let unset = ["SCRATCH", "FLAGS", "TESTS", "ROUNDS", "WIDTH"].flatMap { ["-u", $0] }
    let script = folder.appendingPathComponent("scripts/\(words[0])").path
    return try await Command(
      words: ["env"] + unset + ["PATH=\(folder.path)/bin:\(path)"] + variables + ["bash", script]
        + words.dropFirst()
    ).run()
  }

  private static let failing = """
    cat <<'END'
    ◇ Test run started.
    ◇ Test "first" started.
    ◇ Test second() started.
    ◇ Test "third" started.
    ➜ Test "fourth" skipped: "no server"
    ✔ Test "third" passed after 0.001 seconds.
    ✘ Test "first" recorded an issue at A.swift:1:2: Expectation failed: 1 == 2
    ✘ Test "first" with 2 test cases failed after 0.001 seconds with 1 issue.
    ✘ Test second() failed after 0.001 seconds with 1 issue.
    ✘ Suite "Some" recorded an issue at B.swift:3:4: Issue recorded
    ✘ Test run with 4 tests in 1 suite failed after 0.002 seconds with 3 issues.
    END
    exit 1
    """

  @Test("Failed and skipped tests are counted, and the last lines name the issues")
  func failures() async throws {
    try await withTemporaryFolder { folder in
      try prepare(folder, program: Self.failing)
      let end = try await run(["test.sh", "unit"], in: folder)
      #expect(end.status == 1)
      #expect(
        end.output.hasSuffix(
          """
          What failed:
          ✘ Test "first" recorded an issue at A.swift:1:2: Expectation failed: 1 == 2
          ✘ Suite "Some" recorded an issue at B.swift:3:4: Issue recorded
          ✘ Test run with 4 tests in 1 suite failed after 0.002 seconds with 3 issues.
          Totals: 1 passed, 2 failed, 1 skipped

          """), "\(end.output)")
    }
  }

  @Test("Each tier runs the suites of its folders, or those of them that match")
  func selection() async throws {
    try await withTemporaryFolder { folder in
      try prepare(folder, program: "echo \"<$*>\"")
      let end = try await run(["test.sh", "unit", "integration"], ["TESTS=Some"], in: folder)
      for (label, suites) in [
        ("unit tests", "FirstMoreTests|FirstTests"),
        ("SomeTests/Integration/Sockets", "SecondMoreTests|SecondTests"),
      ] {
        let lines = end.output.split(separator: "\n")
        let start = try #require(lines.firstIndex(of: "— \(label)"), "\(end.output)")
        #expect(lines[start + 1].contains("SomeTests\\.(\(suites))/"))
        #expect(lines[start + 1].contains("--filter ^(?=.*(Some))"))
      }
    }
  }

  @Test("A run that failed counts, even without perl")
  func withoutPerl() async throws {
    try await withTemporaryFolder { folder in
      try prepare(folder, program: Self.failing)
      try write("exit 127", to: folder.appendingPathComponent("bin/perl"))
      let end = try await run(["test.sh", "unit"], in: folder)
      #expect(end.status == 1)
      #expect(end.output.hasSuffix("Totals: 2 passed, 1 failed, 1 skipped\n"), "\(end.output)")
    }
  }

  @Test("After a crash, the tests that did not end are named")
  func crash() async throws {
    try await withTemporaryFolder { folder in
      try prepare(
        folder,
        program: """
          echo '◇ Test "ended" started.'
          echo '◇ Test "not ended" started.'
          echo '✔ Test "ended" passed after 0.001 seconds.'
          exit 139
          """)
      let end = try await run(["test.sh", "unit"], in: folder)
      #expect(end.status == 1)
      #expect(
        end.output.hasSuffix(
          """
          What failed:
          ✘ Test run of unit tests ended before its tests did. Unfinished:
            "not ended"
          Totals: 0 passed, 1 failed

          """), "\(end.output)")
    }
  }

  @Test("A run without a matching test fails, and says so")
  func noMatch() async throws {
    try await withTemporaryFolder { folder in
      try prepare(folder, program: "exit 69")
      let end = try await run(["test.sh", "unit", "integration"], ["TESTS=none"], in: folder)
      #expect(end.status == 1)
      #expect(
        end.output.hasSuffix("No test matches TESTS=none.\nTotals: 0 passed, 0 failed\n"), "\(end.output)")
    }
  }

  @Test(
    "Invalid arguments are refused",
    arguments: [
      (["test.sh"], [], "usage: "), (["test.sh", "unit", "support"], [], "no tier support: "),
      (["test-busy.sh"], ["ROUNDS=abc"], "ROUNDS=abc: "), (["test-busy.sh"], ["ROUNDS=0"], "ROUNDS=0: "),
    ] as [([String], [String], String)])
  func arguments(words: [String], variables: [String], message: String) async throws {
    try await withTemporaryFolder { folder in
      try prepare(folder, program: "exit 0")
      let end = try await run(words, variables, in: folder)
      #expect(end.status == 2 && end.output.hasPrefix(message), "\(end.output)")
    }
  }

  @Test("test-busy.sh lists the failed tests, and how often each failed")
  func busy() async throws {
    try await withTemporaryFolder { folder in
      try prepare(folder, program: Self.failing)
      try write("shift 2; exec \"$@\"", to: folder.appendingPathComponent("bin/taskset"))
      let end = try await run(["test-busy.sh"], ["ROUNDS=1"], in: folder)
      #expect(end.status == 1)
      // Two tiers in each of two rounds.
      #expect(
        end.output.hasSuffix(
          """
          Failures in all rounds:
              4  "first"
              4  second()
          Totals: 2 passed, 4 failed, 2 skipped
          Totals: 2 passed, 4 failed, 2 skipped

          """), "\(end.output)")
    }
  }
}
