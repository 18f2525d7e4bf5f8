// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// `Documentation/Operating/Options.md`.
enum OptionsMarkdown {
  static func text(of command: CommandHelp.Command) -> String {
    var lines = [
      "# Options of \(command.commandName)", "",
      "Every command of `\(command.commandName)`, with its arguments, options and defaults. `make options` writes this page and the "
        + "manual pages in",
      "[`Documentation/man`](../man) from the help of the command itself. Do not edit them: a test compares them with the command.",
      "",
      "| Command | What it does |",
      "|---|---|",
    ]
    for command in command.documented {
      let anchor = command.fullName.replacing(" ", with: "-")
      lines.append(
        "| [`\(command.fullName)`](#\(anchor)) | \(inline(command.abstract ?? "", inTable: true)) |")
    }
    lines += ["", "Each command has `--help`, which shows this text, and `--version`."]
    for command in command.documented { lines += section(CommandPage(command)) }
    return lines.map { $0 + "\n" }.joined()
  }

  private static func section(_ page: CommandPage) -> [String] {
    var lines = ["", "## \(page.command.fullName)", "", inline(page.command.abstract ?? ""), ""]
    lines += ["```", page.synopsis, "```"]
    for block in page.description {
      lines.append("")
      switch block {
      case .paragraph(let text): lines.append(inline(text))
      case .example(let example):
        let isJSON = example.first?.hasPrefix("{") ?? false
        lines += [isJSON ? "```json" : "```sh"] + example + ["```"]
      }
    }
    for (heading, entries) in [
      ("Argument", page.entries.filter(\.isPositional)), ("Option", page.entries.filter { !$0.isPositional }),
    ] where !entries.isEmpty {
      lines += ["", "| \(heading) | What it sets | Default |", "|---|---|---|"]
      lines += entries.map(row)
    }
    if let exitStatus = page.exitStatus { lines += ["", "Exit status: \(inline(exitStatus))"] }
    return lines
  }

  private static func row(_ entry: OptionEntry) -> String {
    var names = entry.names
    if let value = entry.value {
      names = names.isEmpty ? ["<\(value)>"] : names.dropLast() + [names[names.count - 1] + " <\(value)>"]
    }
    let name = names.map { code($0) }.joined(separator: ", ")
    let value = entry.isRequired ? "required" : entry.defaultValue.map(code) ?? ""
    return "| \(name) | \(inline(entry.text, inTable: true)) |\(value.isEmpty ? "" : " \(value)") |"
  }

  /// Code in a cell of a table.
  private static func code(_ text: String) -> String { "`" + text.replacing("|", with: "\\|") + "`" }

  private static func inline(_ text: String, inTable: Bool = false) -> String {
    HelpBlock.spans(of: text).map { span in
      switch span {
      case .option(let name): "`\(name)`"
      case .code(let code): inTable ? self.code(code) : "`\(code)`"
      case .text(let text):
        String(text.flatMap { "\\*_<|".contains($0) ? ["\\", $0] : [$0] })
      }
    }.joined()
  }
}
