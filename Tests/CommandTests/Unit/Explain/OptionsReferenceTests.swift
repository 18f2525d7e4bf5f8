// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import Foundation
import TestSupport
import Testing

@testable import TestTool
@testable import httpcache

@Suite("Manual pages", .timeLimit(.minutes(5)))
struct OptionsReferenceTests {
  private static let root = Repository.root

  @Test("The manual pages are up to date")
  func upToDate() throws {
    let reference = try OptionsReference(root: Self.root, dump: Data(HTTPCacheCommand._dumpHelp().utf8))
    let (pages, committed) = (reference.pages(), reference.committed())
    #expect(pages.count > 1)
    for path in Set(pages.keys).union(committed.keys).sorted() {
      let old = (committed[path] ?? "").split(separator: "\n", omittingEmptySubsequences: false)
      let new = (pages[path] ?? "").split(separator: "\n", omittingEmptySubsequences: false)
      let changes = new.difference(from: old).map { change in
        switch change {
        case .insert(_, let line, _): "+ \(line)"
        case .remove(_, let line, _): "- \(line)"
        }
      }
      if changes.isEmpty { continue }
      Issue.record(
        """
        \(path) differs from the help of the command. To write it again, run: make options
        \(changes.joined(separator: "\n"))
        """)
    }
  }

  @Test("Each command has a manual page with each of its options")
  func complete() throws {
    let reference = try OptionsReference(root: Self.root, dump: Data(HTTPCacheCommand._dumpHelp().utf8))
    let pages = reference.pages()
    for type in HTTPCacheCommand.configuration.subcommands {
      let name = try #require(type.configuration.commandName)
      let manual = try #require(pages["Documentation/man/httpcache-\(name).1"])
      for option in OptionList(of: type).names {
        #expect(manual.contains(ManualPage.literal("--\(option)")), "\(name) --\(option)")
      }
    }
  }

  private static func page(_ arguments: String = "", discussion: String = "") throws -> CommandPage {
    let json = """
      {"command": {"commandName": "work", "superCommands": ["tool"], "abstract": "Does work.",
        "discussion": "\(discussion)", "arguments": [\(arguments)]}}
      """
    return CommandPage(try JSONDecoder().decode(CommandHelp.self, from: Data(json.utf8)).command)
  }

  @Test("A flag and its opposite are one option, with the default of the pair")
  func opposite() throws {
    let page = try Self.page(
      """
      {"kind": "flag", "isOptional": true, "isRepeating": false, "names": [{"kind": "long", "name": "cut"}],
       "defaultValue": "--no-cut", "abstract": "Cut it."},
      {"kind": "flag", "isOptional": true, "isRepeating": false, "names": [{"kind": "long", "name": "no-cut"}],
       "abstract": "Cut it."}
      """)
    #expect(page.entries.map(\.names) == [["--cut", "--no-cut"]])
    #expect(page.entries.first?.defaultValue == "--no-cut")
  }

  @Test(
    "A plain default moves out of the help text, and a longer remark stays",
    arguments: [
      ("The size (default: 10GB).", "The size.", "10GB"),
      ("The size (default: 10GB, as most need).", "The size (default: 10GB, as most need).", nil),
    ])
  func defaultInText(abstract: String, text: String, value: String?) throws {
    let page = try Self.page(
      """
      {"kind": "option", "isOptional": true, "isRepeating": false, "names": [{"kind": "long", "name": "size"}],
       "valueName": "size", "abstract": "\(abstract)"}
      """)
    #expect(page.entries.first?.text == text)
    #expect(page.entries.first?.defaultValue == value)
  }

  @Test("Values that the help text does not name are listed")
  func values() throws {
    let page = try Self.page(
      """
      {"kind": "option", "isOptional": false, "isRepeating": true, "names": [{"kind": "long", "name": "kind"}],
       "valueName": "kind", "abstract": "Either old, or new.", "allValues": ["old", "new"]},
      {"kind": "positional", "isOptional": false, "isRepeating": true, "valueName": "side",
       "abstract": "The side.", "allValues": ["left", "right"]}
      """)
    #expect(
      page.entries.map(\.text) == [
        "The side. Values: `left`, `right`.", "Either old, or new. Can be repeated.",
      ])
    #expect(page.synopsis == "tool work <side>... --kind <kind> [options]")
  }

  @Test("The help is split into paragraphs, examples and the exit status")
  func blocks() throws {
    let page = try Self.page(
      discussion: "One\\ntwo.\\n\\n  tool a\\n    --b\\n\\nThree.\\n\\nExit status: 0.")
    #expect(
      page.description == [.paragraph("One two."), .example(["tool a", "  --b"]), .paragraph("Three.")])
    #expect(page.exitStatus == "0.")
  }

  @Test("A manual page escapes what groff reads as markup")
  func escaping() {
    #expect(
      ManualPage.filled("'a' is §4.2. See --no-b (`c-d \\n`).") == [
        #"\(aqa\(aq is \[u00A7]4.2."#, #"See \fB\-\-no\-b\fR (\fBc\-d \en\fR)."#,
      ])
    #expect(ManualPage.filled(".PP").first == #"\&.PP"#)
    #expect(ManualPage.filled(String(repeating: "word ", count: 40)).allSatisfy { $0.utf8.count <= 78 })
  }
}
