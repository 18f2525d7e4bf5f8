// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import ChildProcesses
import Foundation
import Testing

@testable import CacheBenchServers

@Suite(.timeLimit(.minutes(10))) struct ProxyBenchRunTests {
  @Test func `the output of a program is read when it has ended`() async throws {
    let output = try await BuiltProgram.onThread {
      try ChildProcess.output(of: "/bin/sh", ["-c", "echo a; echo b >&2"])
    }
    #expect(output == "a\nb\n")
    #expect(throws: ChildProcessError.self) { try ChildProcess.output(of: "/none", []) }
  }

  @Test func `the processor time of this process grows`() throws {
    guard FileManager.default.fileExists(atPath: "/proc/self/stat") else { return }
    let before = try #require(ProcessTree.processorNanoseconds(of: getpid()))
    var sum = 0
    // It works until it has used a tick, however long it has to wait for the processor.
    while (ProcessTree.processorNanoseconds(of: getpid()) ?? .max) <= before {
      for number in 0..<100_000 { sum &+= number }
    }
    BlackHole.take(sum)
  }
}
