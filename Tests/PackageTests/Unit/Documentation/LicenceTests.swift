// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import TestSupport
import Testing

@Suite("The licence", .timeLimit(.minutes(5)))
struct LicenceTests {
  @Test("LICENSE is the Apache License 2.0")
  func licence() throws {
    let lines = try Repository.text("LICENSE").split(separator: "\n").prefix(2)
    #expect(
      lines.map { $0.trimmingPrefix(while: { $0 == " " }) } == [
        "Apache License", "Version 2.0, January 2004",
      ])
  }
}
