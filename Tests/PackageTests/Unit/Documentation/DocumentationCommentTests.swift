// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCaching
import TestSupport
import Testing

@testable import TestTool

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

  @Test("Each public declaration of a product has a comment")
  func publicDeclarations() throws {
    // Members whose meaning a protocol of the standard library defines.
    let defined =
      /.*\b(func (==|<|hash|next|makeAsyncIterator)|var (description|errorDescription|startIndex|endIndex)|typealias (Element|Failure)|override ).*/
    var checked = 0
    for module in try APIDigest(root: Repository.root).lines().keys {
      let folder = Repository.root.appendingPathComponent("Sources/\(module)")
      let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
      for case let file as URL in try #require(files) where file.pathExtension == "swift" {
        let lines = try String(contentsOf: file, encoding: .utf8)
          .split(separator: "\n", omittingEmptySubsequences: false).map { $0.drop { $0 == " " } }
        for (index, line) in lines.enumerated() {
          guard line.hasPrefix("public ") || (line.hasPrefix("@") && line.contains(" public ")),
            !line.contains("public import"), !line.contains("public extension"),
            try defined.wholeMatch(in: line) == nil
          else { continue }
          let before = lines[..<index].last { !$0.hasPrefix("@") && !$0.hasPrefix("#") } ?? ""
          checked += 1
          #expect(before.hasPrefix("///"), "\(file.lastPathComponent):\(index + 1): \(line)")
        }
      }
    }
    #expect(checked > 500)
  }
}
