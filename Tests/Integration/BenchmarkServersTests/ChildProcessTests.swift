// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import Testing

@testable import BenchmarkHarness

@Suite(.timeLimit(.minutes(10))) struct ChildProcessTests {
  /// Whether a process has ended. Whether its new parent takes notice of that depends on the system.
  private static func hasEnded(_ id: Int32) -> Bool {
    kill(id, 0) != 0
      || (try? String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8))?.contains(") Z ") == true
  }

  @Test func `a program that does not end by itself is stopped, with its child processes`() throws {
    let (parent, child) = try TemporaryDirectory.with { directory -> (ChildProcess, Int32) in
      let script = "trap '' TERM; sleep 1000 & echo $!; wait"
      let process = try ChildProcess("/bin/sh", ["-c", script], log: directory + "/log")
      _ = poll(for: 60) { process.output.hasSuffix("\n") }
      return (process, Int32(process.output.dropLast()) ?? 0)
    }
    let (wasRunning, endedByItself) = (parent.isRunning, parent.wait(atMost: 0.01))
    #expect(wasRunning && !endedByItself && !parent.isRunning)
    #expect(child > 0)
    let hasEnded = poll(for: 60) { Self.hasEnded(child) }
    #expect(hasEnded)
  }

  @Test func `the output of a program is read when it has ended`() throws {
    #expect(try ChildProcess.output(of: "/bin/sh", ["-c", "echo a; echo b >&2"]) == "a\nb\n")
    #expect(throws: BenchError.self) { try ChildProcess.output(of: "/none", []) }
  }

  @Test(
    "A program does not inherit the open files of this one",
    .enabled("the test reads /proc", { FileManager.default.fileExists(atPath: "/proc/self/fd") }))
  func inheritsNothing() throws {
    // Without O_CLOEXEC.
    let files = (0..<40).map { _ in open("/dev/null", O_RDONLY) }
    defer { for file in files { close(file) } }
    let inherited = try ChildProcess.output(of: "/bin/ls", ["/proc/self/fd"])
    // Only numbers below 256 are closed: in a busy run, other tests may have more files open. `ls` itself opens the
    // folder that it lists.
    let numbers = inherited.split(separator: "\n").compactMap { Int($0) }
    #expect(numbers.filter { $0 < 256 }.sorted() == [0, 1, 2, 3], "\(inherited)")
  }
}
