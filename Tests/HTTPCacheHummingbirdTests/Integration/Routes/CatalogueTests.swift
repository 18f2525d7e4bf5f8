// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Catalogue
import Foundation
import HTTPCaching
import Testing

@Suite("The example of a catalogue", .timeLimit(.minutes(10)))
struct CatalogueTests {
  @Test("Its tour has the output that its page shows")
  func tour() async throws {
    let lines = Mutex<[String]>([])
    let tour = try Tour { line in lines.withLock { $0.append(line) } }
    try await Server.run(tour.catalogue.responder()) { try await tour.run(on: $0.port) }
    tour.catalogue.cache.close()

    let page = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../../../Documentation/Catalogue.md").standardizedFileURL
    let text = try String(contentsOf: page, encoding: .utf8)
    var parts = text.components(separatedBy: "```\n")
    try #require(parts.count == 3, "the page has one block, which is the output")
    parts[1] = lines.withLock { $0.joined(separator: "\n") } + "\n"
    let current = parts.joined(separator: "```\n")
    if ProcessInfo.processInfo.environment["HTTPCACHE_WRITE_SNIPPETS"] != nil {
      try current.write(to: page, atomically: true, encoding: .utf8)
    } else {
      #expect(text == current, "`make snippets` writes the output")
    }
  }
}
