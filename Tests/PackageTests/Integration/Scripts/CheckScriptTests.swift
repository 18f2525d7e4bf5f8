// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import TestSupport
import Testing

@Suite("The scripts that check the text of the package", .timeLimit(.minutes(5)))
struct CheckScriptTests {
  private func copy(_ name: String, to folder: URL) throws -> String {
    let copy = folder.appendingPathComponent("scripts/\(name)")
    try FileManager.default.createDirectory(
      at: copy.deletingLastPathComponent(), withIntermediateDirectories: true)
    try FileManager.default.copyItem(at: Repository.root.appendingPathComponent("scripts/\(name)"), to: copy)
    return copy.path
  }

  @Test("A check whose git fails does not pass", arguments: ["check-headers.sh", "check-terms.sh"])
  func gitFails(name: String) async throws {
    try await withTemporaryFolder { folder in
      let script = try copy(name, to: folder)
      let end = try await Command(words: ["env", "GIT_DIR=\(folder.path)/none", "sh", script]).run()
      #expect(end.status != 0 && end.output.contains("none"), "\(end.output)")
    }
  }

  @Test("A refused word is found in a page, in a test, and in the name of a file")
  func terms() async throws {
    try await withTemporaryFolder { folder in
      let script = try copy("check-terms.sh", to: folder)
      _ = try copy("terms.txt", to: folder)
      // Not as one word: the script also reads this file.
      let word = "Some" + "body"
      let texts = [
        "Page.md": "One line.\n\(word) reads it.\n", "Some.swift": "// \(word)\n",
        "\(word)Tests.swift": "// None.\n",
        "Good.swift": "// Each client.\n",
      ]
      for (name, text) in texts {
        try Data(text.utf8).write(to: folder.appendingPathComponent(name))
      }
      for words in [["init", "-q"], ["add", "."]] {
        #expect(try await Command(words: ["git", "-C", folder.path] + words).run().status == 0)
      }
      let end = try await Command(words: ["sh", script]).run()
      #expect(end.status != 0)
      for place in ["Page.md:2: ", "Some.swift:1: ", "\(word)Tests.swift: "] {
        #expect(end.output.contains("\n" + place) || end.output.hasPrefix(place), "\(place)\n\(end.output)")
      }
      #expect(!end.output.contains("Good.swift"))
    }
  }

  // Not as one word: the script also reads this file.
  private static let (task, process) = ("Task", "Process")

  private static let refused = [
    "try await eventually { true }", "try await \(task).sleep(for: .seconds(1))",
    "await \(task)<Never, Never>.yield()", "try await \(task)<Never, Never>.sleep(for: .zero)",
    "let clock = ContinuousClock()", "let clock: any Clock<Duration> = .continuous", "Thread.sleep(1)",
    "Foundation.sleep(1)", "Glibc.usleep(1)", "sleep(1)", "func pause() { sleep(1) }", "poll(&all, 1, 10)",
    "sched_yield()", "queue.asyncAfter(deadline: limit) {}", "_ = gate.wait(timeout: limit)",
    "let now = DispatchTime.now()", "clock_gettime(CLOCK_REALTIME, &time)", "let now = NIODeadline.now()",
    "let now = ProcessInfo.processInfo.systemUptime", "let now = Date()", "let now = Date.now",
    "let now: Date = .now", "let timer = Timer(timeInterval: 1)", "RunLoop.main.run(until: end)",
    "let now = SystemCacheClock.shared.now",
    "let child = \(process)()", "let child = \(process).init()", "let child: \(process) = .init()",
    "try \(process).run(url, arguments: [])", "posix_spawn(&id, path, nil, nil, nil, nil)",
    "let child = try ChildProcess(path)", "let end = try await Command(words: words).run()",
    "let number = socket(AF_INET, 1, 0)", "let origin = try LoopbackOrigin()",
    "let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)",
    "let (data, _) = try await URLSession.shared.data(from: url)",
  ]

  private static let allowed = [
    "// eventually, and sleep(1)", "try await clock.sleep(for: .seconds(1))",
    "let date = Date(timeIntervalSince1970: 0)",
    "let now = clock.now", "gate.wait()",
  ]

  @Test("Unit tests with clocks, sleeps, processes or sockets are refused, and nothing else is")
  func unitRules() async throws {
    try await withTemporaryFolder { folder in
      let script = try copy("check-tests.sh", to: folder)
      for name in ["Sources", "Benchmarks", "Tests/SomeTests/Unit"] {
        try FileManager.default.createDirectory(
          at: folder.appendingPathComponent(name), withIntermediateDirectories: true)
      }
      let file = folder.appendingPathComponent("Tests/SomeTests/Unit/Some.swift")
      try Data((Self.allowed + Self.refused).joined(separator: "\n").utf8).write(to: file)
      let end = try await Command(words: ["sh", script]).run()
      #expect(end.status == 1)
      for line in Self.refused { #expect(end.output.contains(":\(line)\n"), "\(line)") }
      for line in Self.allowed { #expect(!end.output.contains(":\(line)\n"), "\(line)") }

      try Data(Self.allowed.joined(separator: "\n").utf8).write(to: file)
      #expect(try await Command(words: ["sh", script]).run().status == 0)

      try FileManager.default.removeItem(at: folder.appendingPathComponent("Benchmarks"))
      #expect(try await Command(words: ["sh", script]).run().status == 1, "a folder is missing")
    }
  }

  @Test(
    "Tests that no tier would run are refused",
    arguments: [
      ("SomeTests/Unit/Some.swift", "struct SomeTests", true),
      ("SomeTests/Unit/Part/Some.swift", "extension SomeTests", true),
      ("SomeTests/Unit/Some.swift", "struct Some", false),
      ("SomeTests/Some.swift", "struct SomeTests", false),
      ("SomeTests/Integration/Some.swift", "struct SomeTests", false),
      ("SomeTests/Integration/Part/Some.swift", "  struct SomeTests", true),
    ])
  func tierRules(path: String, declaration: String, isAllowed: Bool) async throws {
    try await withTemporaryFolder { folder in
      let script = try copy("check-tests.sh", to: folder)
      let file = folder.appendingPathComponent("Tests/" + path)
      for name in ["Sources", "Benchmarks", "Tests/SomeTests/Unit"] {
        try FileManager.default.createDirectory(
          at: folder.appendingPathComponent(name), withIntermediateDirectories: true)
      }
      try FileManager.default.createDirectory(
        at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data("\(declaration) {\n  @Test(\"It works\") func works() {}\n}\n".utf8).write(to: file)
      let end = try await Command(words: ["sh", script]).run()
      #expect((end.status == 0) == isAllowed, "\(end.output)")
    }
  }
}
