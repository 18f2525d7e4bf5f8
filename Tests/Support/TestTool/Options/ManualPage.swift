// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// A manual page, in the macros of man(7).
struct ManualPage {
  var page: CommandPage
  var version: String
  /// The day of the version, as `2026-11-22`.
  var date: String

  /// The name of the page: `httpcache-proxy`.
  var name: String { page.command.fullName.replacing(" ", with: "-") }

  var text: String {
    let program = String(page.command.fullName.prefix { $0 != " " })
    var lines = [
      #".\" SPDX-License-Identifier: Apache-2.0"#,
      #".\" Written by `make options` from the help of the command. Do not edit."#,
      ".TH \(Self.literal(name.uppercased())) 1 \(date) \"\(program) \(version)\" \"\(program) manual\"",
      // Names are not hyphenated, and spaces are not stretched.
      ".nh", ".ad l",
      ".SH NAME",
    ]
    lines += Self.wrapped("\(Self.literal(name)) \\- \(Self.escaped(summary))")
    lines += [".SH SYNOPSIS", synopsis]
    if !page.description.isEmpty { lines.append(".SH DESCRIPTION") }
    for (index, block) in page.description.enumerated() {
      switch block {
      case .paragraph(let text): lines += (index == 0 ? [] : [".PP"]) + Self.filled(text)
      case .example(let example):
        lines += [".PP", ".in +4n", ".nf"] + example.map { Self.guarded(Self.literal($0)) } + [".fi", ".in"]
      }
    }
    lines += commands
    lines += entries(page.entries.filter(\.isPositional), heading: "ARGUMENTS")
    lines += entries(page.entries.filter { !$0.isPositional }, heading: "OPTIONS", withCommon: true)
    if let exitStatus = page.exitStatus { lines += [".SH EXIT STATUS"] + Self.filled(exitStatus) }
    if page.command.documented.isEmpty { lines += [".SH SEE ALSO", ".BR \(program) (1)"] }
    return lines.map { $0 + "\n" }.joined()
  }

  /// The abstract as `NAME` has it: without a capital and a full stop.
  private var summary: String {
    var text = page.command.abstract ?? ""
    if text.hasSuffix(".") { text.removeLast() }
    // Not "HTTP".
    if text.dropFirst().first?.isLowercase == true { text = text.prefix(1).lowercased() + text.dropFirst() }
    return text
  }

  /// Values are in italics, in place of their brackets.
  private var synopsis: String {
    page.synopsis.split(separator: " ").map { part in
      let isValue = part.contains("<") || part == "[options]"
      let value = part.filter { !"<>[].".contains($0) }
      let (start, end) = (part.hasPrefix("[") ? "[" : "", part.hasSuffix("]") ? "]" : "")
      let font = isValue ? "I" : "B"
      return "\(start)\\f\(font)\(Self.literal(value))\\fR\(part.contains("...") ? "..." : "")\(end)"
    }.joined(separator: " ")
  }

  /// The subcommands, each with a page of its own.
  private var commands: [String] {
    guard !page.command.documented.isEmpty else { return [] }
    return [".SH COMMANDS"]
      + page.command.documented.flatMap { command in
        [".TP", ".BR \(Self.literal(command.fullName.replacing(" ", with: "-"))) (1)"]
          + Self.filled(command.abstract ?? "")
      }
  }

  private func entries(_ entries: [OptionEntry], heading: String, withCommon: Bool = false) -> [String] {
    guard !entries.isEmpty || withCommon else { return [] }
    var lines = [".SH \(heading)"]
    for entry in entries {
      var tag = entry.names.map { "\\fB\(Self.literal($0))\\fR" }.joined(separator: ", ")
      if let value = entry.value { tag += "\(tag.isEmpty ? "" : " ")\\fI\(Self.literal(value))\\fR" }
      lines += [".TP", tag] + Self.filled(entry.text)
      if entry.isRequired {
        lines.append("Required.")
      } else if let value = entry.defaultValue {
        lines.append("Default: \\fB\(Self.literal(value))\\fR.")
      }
    }
    if withCommon {
      lines += [".TP", "\\fB\\-\\-version\\fR", "Show the version."]
      lines += [".TP", "\\fB\\-h\\fR, \\fB\\-\\-help\\fR", "Show the help."]
    }
    return lines
  }

  // MARK: - Text

  /// A text on lines of at most 78 bytes. Each sentence begins a line, as is usual in manual pages.
  static func filled(_ text: String) -> [String] {
    let source = HelpBlock.spans(of: text).map { span in
      switch span {
      case .text(let text): escaped(text)
      case .code(let text): "\\fB\(literal(text))\\fR"
      }
    }.joined()
    return wrapped(source)
  }

  private static func wrapped(_ source: String) -> [String] {
    var lines: [String] = []
    var line = ""
    for word in source.split(separator: " ") {
      let endsSentence = line.hasSuffix(".") || line.hasSuffix(".)")
      if !line.isEmpty, endsSentence || line.utf8.count + word.utf8.count >= 78 {
        lines.append(guarded(line))
        line = ""
      }
      line += (line.isEmpty ? "" : " ") + word
    }
    return line.isEmpty ? lines : lines + [guarded(line)]
  }

  /// Prose. Hyphens stay hyphens.
  static func escaped(_ text: String) -> String {
    text.unicodeScalars.map { scalar in
      switch scalar {
      case "\\": "\\e"
      case "\"": "\\(dq"
      case "'": "\\(aq"
      case "`": "\\(ga"
      case "^": "\\(ha"
      case "~": "\\(ti"
      case _ where !scalar.isASCII: "\\[u\(hexadecimal(scalar))]"
      default: String(scalar)
      }
    }.joined()
  }

  /// What can be copied to a command line: hyphens become minus signs.
  static func literal(_ text: String) -> String { escaped(text).replacing("-", with: "\\-") }

  /// A full stop or an apostrophe at the beginning of a line would begin a macro.
  private static func guarded(_ line: String) -> String {
    line.hasPrefix(".") || line.hasPrefix("'") ? "\\&" + line : line
  }

  private static func hexadecimal(_ scalar: Unicode.Scalar) -> String {
    let digits = String(scalar.value, radix: 16, uppercase: true)
    return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
  }
}
