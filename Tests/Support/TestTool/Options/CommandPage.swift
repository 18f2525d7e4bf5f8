// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// A block of a command's help.
enum HelpBlock: Equatable {
  case paragraph(String)
  /// Lines that are shown as they are.
  case example([String])

  /// The blocks of a text. Lines that are indented by two spaces are examples.
  static func blocks(of text: String) -> [HelpBlock] {
    var blocks: [HelpBlock] = []
    var startsBlock = true
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.allSatisfy({ $0 == " " }) {
        startsBlock = true
        continue
      }
      let isExample = line.hasPrefix("  ")
      switch (blocks.last, isExample) {
      case (.example(let lines), true) where !startsBlock:
        blocks[blocks.count - 1] = .example(lines + [String(line.dropFirst(2))])
      case (.paragraph(let start), false) where !startsBlock:
        blocks[blocks.count - 1] = .paragraph(start + " " + line)
      case (_, true):
        blocks.append(.example([String(line.dropFirst(2))]))
      case (_, false):
        blocks.append(.paragraph(String(line)))
      }
      startsBlock = false
    }
    return blocks
  }

  /// A part of a line of text.
  enum Span: Equatable {
    case text(String)
    /// What stands between backticks, or an option, as `--listen`.
    case code(String)
  }

  /// The parts of a text.
  static func spans(of text: String) -> [Span] {
    var spans: [Span] = []
    var rest = text[...]
    while let match = rest.firstMatch(of: /`([^`]+)`|(?:^|(?<before>[\ (]))(?<option>--[a-z][a-z-]*)/) {
      let before = rest[..<match.range.lowerBound] + (match.output.before ?? "")
      if !before.isEmpty { spans.append(.text(String(before))) }
      if let code = match.output.option ?? match.output.1 { spans.append(.code(String(code))) }
      rest = rest[match.range.upperBound...]
    }
    if !rest.isEmpty { spans.append(.text(String(rest))) }
    return spans
  }
}

/// The help of one command, in parts.
struct CommandPage {
  var command: CommandHelp.Command
  /// One command line that stands for all.
  var synopsis: String
  var description: [HelpBlock]
  /// The paragraph of the help that begins with `Exit status:`, without these words.
  var exitStatus: String?
  var entries: [OptionEntry]

  init(_ command: CommandHelp.Command) {
    self.command = command
    entries = OptionEntry.entries(of: command)
    var parts = [command.fullName]
    for entry in entries where entry.isPositional {
      parts.append(entry.isRequired ? entry.usage : "[\(entry.usage)]")
    }
    parts += entries.filter { !$0.isPositional && $0.isRequired }.map(\.usage)
    parts.append(command.documented.isEmpty ? "[options]" : "<command>")
    synopsis = parts.joined(separator: " ")

    description = []
    for block in HelpBlock.blocks(of: command.discussion ?? "") {
      if case .paragraph(let text) = block, text.hasPrefix("Exit status: ") {
        exitStatus = String(text.dropFirst("Exit status: ".count))
      } else {
        description.append(block)
      }
    }
  }
}
