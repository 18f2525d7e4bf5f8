// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import TestSupport
import Testing

@Suite("The script for licence headers", .timeLimit(.minutes(5)))
struct HeaderScriptTests {
  /// A copy of the script, with a folder of its own to look at.
  private func script(in folder: URL) throws -> String {
    let copy = folder.appendingPathComponent("scripts/check-headers.sh")
    try FileManager.default.createDirectory(
      at: copy.deletingLastPathComponent(), withIntermediateDirectories: true)
    try FileManager.default.copyItem(
      at: Repository.root.appendingPathComponent("scripts/check-headers.sh"), to: copy)
    return copy.path
  }

  private static func header(_ mark: String) -> String {
    "\(mark) SPDX-License-Identifier: Apache-2.0\n\(mark) Copyright (c) 2026 the HTTPCacheEngine authors\n\n"
  }

  @Test(
    "The script names a file without the header, and --fix adds it in place",
    arguments: [
      ("a.swift", "import A\n", header("//") + "import A\n"),
      (
        "Package.swift", "// swift-tools-version: 6.2\nA\n",
        "// swift-tools-version: 6.2\n" + header("//") + "A\n"
      ),
      ("a.sh", "#!/bin/sh\n\n# What it does.\n", "#!/bin/sh\n" + header("#") + "# What it does.\n"),
      ("a.h", "\n\n#pragma once\n", header("//") + "#pragma once\n"),
      ("a.c", "// SPDX-License-Identifier: MIT\n", header("//") + "// SPDX-License-Identifier: MIT\n"),
    ])
  func adding(name: String, text: String, fixed: String) async throws {
    try await withTemporaryFolder { folder in
      let script = try script(in: folder)
      let file = folder.appendingPathComponent(name)
      try Data(text.utf8).write(to: file)

      let check = try await Command(words: ["sh", script, name]).run()
      #expect(check.status == 1)
      #expect(check.output.hasPrefix("\(name): no licence header\n"))
      #expect(try String(contentsOf: file, encoding: .utf8) == text)

      #expect(try await Command(words: ["sh", script, "--fix", name]).run().status == 0)
      #expect(try String(contentsOf: file, encoding: .utf8) == fixed)

      #expect(try await Command(words: ["sh", script, name]).run().status == 0)
      #expect(try await Command(words: ["sh", script, "--fix", name]).run().status == 0)
      #expect(try String(contentsOf: file, encoding: .utf8) == fixed)
    }
  }
}
