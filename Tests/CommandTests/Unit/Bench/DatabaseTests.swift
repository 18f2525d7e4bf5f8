// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import BenchmarkHarness
import Testing

@testable import CacheBenchServers

@Suite(.timeLimit(.minutes(10))) struct DatabaseTests {
  @Test func `a library that lacks a function, or is missing, is an error that names the library`() {
    let library = SystemLibrary(["libc.so.6", "/usr/lib/libSystem.B.dylib"], prefix: "absent_")
    let missing = SystemLibrary(["libabsent.so"], prefix: "absent_")
    for (library, expected) in [(library, "absent_open"), (missing, "libabsent.so")] {
      let error = #expect(throws: BenchError.self) {
        let function: @convention(c) () -> Int32 = try library("open")
        _ = function()
      }
      #expect(error?.description.contains(expected) == true)
      #expect(error.map { CacheBenchServers.exitCode(for: $0).rawValue } == 1)
    }
  }
}
