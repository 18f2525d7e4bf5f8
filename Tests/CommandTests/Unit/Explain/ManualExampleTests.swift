// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import TestSupport
import Testing

@testable import httpcache

@Suite("The configurations in the manual", .timeLimit(.minutes(10)))
struct ManualExampleTests {
  private static let pages =
    ["HTTP2", "Installing", "Moving", "Origin", "Recipes", "Rules", "Sites", "TLS"]
    .map { "Documentation/Operating/\($0).md" } + ["Documentation/Operating.md"]

  /// The examples that are whole configuration files.
  private static func examples(_ page: String) -> [String] {
    RulesCommandTests.examples(of: page).filter { text in
      text.split(separator: "\n").contains { $0.hasPrefix("origin:") || $0.hasPrefix("sites:") }
    }
  }

  @Test("Each is valid", arguments: pages)
  func isValid(page: String) throws {
    for text in Self.examples(page) {
      #expect(throws: Never.self, "\(text)") {
        try ConfigurationFile(text, options: OptionList(of: ProxyOptions.self))
      }
    }
  }

  @Test("Each configuration of nginx and of Varnish has its translation")
  func translations() throws {
    let page = "Documentation/Operating/Moving.md"
    let text = try Repository.text(page)
    #expect(text.components(separatedBy: "```nginx\n").count == 4)
    #expect(text.components(separatedBy: "```vcl\n").count == 4)
    #expect(Self.examples(page).count == 6)
  }
}
