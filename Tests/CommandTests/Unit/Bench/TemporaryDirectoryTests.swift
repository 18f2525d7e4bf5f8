// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import Foundation
import Testing

@testable import CacheBench

@Suite(.timeLimit(.minutes(10))) struct TemporaryDirectoryTests {
  @Test func `a temporary directory is empty and private, and is removed with its contents`() throws {
    var used = ""
    try TemporaryDirectory.with { path in
      used = path
      #expect(try FileManager.default.contentsOfDirectory(atPath: path).isEmpty)
      let attributes = try FileManager.default.attributesOfItem(atPath: path)
      #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o700)
      try FileManager.default.createDirectory(
        atPath: path + "/a/b", withIntermediateDirectories: true)
      try Data("x".utf8).write(to: URL(fileURLWithPath: path + "/a/b/c"))
    }
    #expect(!used.isEmpty)
    #expect(!FileManager.default.fileExists(atPath: used))
  }

  @Test func `a temporary directory is removed after an error`() {
    var used = ""
    #expect(throws: CancellationError.self) {
      try TemporaryDirectory.with { path in
        used = path
        throw CancellationError()
      }
    }
    #expect(!used.isEmpty)
    #expect(!FileManager.default.fileExists(atPath: used))
  }
}
