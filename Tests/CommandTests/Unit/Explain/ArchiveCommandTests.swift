// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import Foundation
import HTTPCaching
import TestSupport
import Testing

@testable import httpcache

@Suite("httpcache import and record", .timeLimit(.minutes(10)))
struct ArchiveCommandTests {
  private func run(_ arguments: String...) async throws -> ExitCode? {
    do {
      var command = try HTTPCacheCommand.parseAsRoot(arguments)
      if var command = command as? any AsyncParsableCommand {
        try await command.run()
      } else {
        try command.run()
      }
      return nil
    } catch let code as ExitCode {
      return code
    } catch {
      return HTTPCacheCommand.exitCode(for: error)
    }
  }

  @Test("Imported responses answer from the directory, and --fresh-for overrides no-store")
  func imports() async throws {
    try await withTemporaryFolder { root async throws in
      let (folder, directory) = (root.path + "/folder", root.path + "/cache")
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
      let head = #"{"url": "https://a.test/", "fields": {"Cache-Control": "no-store"}, "text": "x"}"#
      try Data(head.utf8).write(to: URL(fileURLWithPath: folder + "/a.json"))
      #expect(try await run("import", folder, "--directory", directory) == ExitCode(1))
      #expect(
        try await run("import", folder, "--directory", directory, "--fresh-for", "60", "--quiet") == nil)
      let cache = try HTTPCache(.init(directory: FilePath(directory)))
      defer { cache.close() }
      let request = HTTPRequest(method: .get, scheme: "https", authority: "a.test", path: "/")
      #expect(cache.storedCopy(for: request)?.content == Array("x".utf8)[...])
    }
  }

  @Test("The exit status of import and record reports invalid input and arguments")
  func faults() async throws {
    try await withTemporaryFolder { folder async throws in
      let path = folder.path
      let directory = path + "/cache"
      try Data("{".utf8).write(to: URL(fileURLWithPath: path + "/a.har"))
      #expect(try await run("import", path + "/none", "--directory", directory) == ExitCode(66))
      #expect(try await run("import", path + "/a.har", "--directory", directory) == ExitCode(65))
      #expect(try await run("import", path, "--directory", path + "/a.har/x") == ExitCode(73))
      #expect(try await run("import", path, "--directory", directory, "--fresh-for", "-1") == ExitCode(64))
      #expect(try await run("record", "nothing", "--folder", directory) == ExitCode(64))
      #expect(
        try await run("record", "http://127.0.0.1:1/", "--folder", directory, "-H", "none") == ExitCode(64))
    }
  }
}
