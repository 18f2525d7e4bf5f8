// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching
import TestSupport
import Testing

@Suite("Documentation comments", .timeLimit(.minutes(5)))
struct DocumentationCommentTests {
  @Test("Each reason is documented by its own sentence and section")
  func reasons() throws {
    var comments: [String: String] = [:]
    var comment: [Substring] = []
    for line in try Repository.text("Sources/HTTPCacheEngine/Reason.swift").split(separator: "\n") {
      let text = line.drop { $0 == " " }
      if text.hasPrefix("/// ") {
        comment.append(text.dropFirst(4))
        continue
      }
      if let name = text.wholeMatch(of: /case (\w+)/)?.1 {
        comments[String(name)] = comment.joined(separator: " ")
      }
      comment = []
    }
    for reason in CacheEngine.Reason.allCases {
      #expect(comments[reason.rawValue] == reason.description)
    }
  }
}
