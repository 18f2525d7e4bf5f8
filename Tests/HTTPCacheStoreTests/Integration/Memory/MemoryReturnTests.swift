// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ChildProcesses
import TestSupport
import Testing

@Suite("Memory that goes back to the system", .timeLimit(.minutes(10)))
struct MemoryReturnTests {
  #if os(Linux) && canImport(Glibc)
    /// The process reports its resident memory when its store is full, and when it has removed entries.
    @Test("Removed entries leave no memory with the process", arguments: MemoryRemoval.allCases)
    func returned(removal: MemoryRemoval) async throws {
      let executable = try #require(Program.built("TestTool"), "TestTool is not beside the tests")
      let process = try ChildProcess(executable, ["memory", removal.rawValue], errors: .inherited)
      var resident: [Int] = []
      for try await line in process.output.lines { if let bytes = Int(line) { resident.append(bytes) } }
      #expect(try await process.endOrKill() == .exited(0))
      try #require(resident.count == 3)
      let (empty, full, rest) = (resident[0], resident[1], resident[2])
      #expect(full - empty > 60 << 20)
      // Without it, nine tenths stay.
      #expect(rest - empty < (full - empty) / 3, "\(rest - empty) of \(full - empty) bytes stay")
    }
  #endif
}
