// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// An argument or option, as the pages show it.
struct OptionEntry: Equatable {
  /// All names, shortest first: `-H`, `--header`. A flag and its opposite are one entry. Empty for a positional argument.
  var names: [String]
  /// The name of the value, without brackets. `nil` for a flag.
  var value: String?
  /// What the option sets, in sentences.
  var text: String
  var defaultValue: String?
  var isRequired: Bool
  var isRepeating: Bool

  var isPositional: Bool { names.isEmpty }

  /// The option as on a command line: `--listen <host:port>`.
  var usage: String {
    let value = value.map { "<\($0)>" + (isPositional && isRepeating ? "..." : "") }
    return [names.last, value].compactMap(\.self).joined(separator: " ")
  }

  /// The entries of a command: positional arguments first, then options in the order of their declarations.
  ///
  /// `--version` and `--help`, which every command has, are left out.
  static func entries(of command: CommandHelp.Command) -> [OptionEntry] {
    let arguments = (command.arguments ?? []).filter { $0.shouldDisplay ?? true }
    let names = Set(arguments.flatMap { $0.names ?? [] }.map(\.text))
    var entries: [OptionEntry] = []
    for argument in arguments {
      let own = (argument.names ?? []).map(\.text)
      if own.contains("--version") || own.contains("--help") { continue }
      // The second half of a pair: the first one has the default.
      if own.contains(where: { $0.hasPrefix("--no-") && names.contains("--" + $0.dropFirst(5)) }) { continue }
      var entry = OptionEntry(argument)
      if argument.kind == "flag" {
        entry.names += own.map { "--no-" + $0.dropFirst(2) }.filter(names.contains)
      }
      entries.append(entry)
    }
    return entries.filter(\.isPositional) + entries.filter { !$0.isPositional }
  }

  private init(_ argument: CommandHelp.Argument) {
    names = (argument.names ?? []).map(\.text).sorted { $0.count < $1.count }
    value = argument.kind == "flag" ? nil : argument.valueName
    defaultValue = argument.defaultValue
    isRequired = !argument.isOptional
    isRepeating = argument.isRepeating
    text = argument.abstract ?? ""
    // A default that the text has in brackets gets its own place. Brackets that say more stay, too.
    if let match = text.firstMatch(of: /\ ?\(default: ([^,()\ ]+)\)/) {
      defaultValue = String(match.1)
      text.removeSubrange(match.range)
    }
    if !text.isEmpty, !text.hasSuffix(".") { text += "." }
    let values = argument.allValues ?? []
    let words = Set(text.split { !$0.isLetter && !$0.isNumber && $0 != "-" && $0 != "_" }.map(String.init))
    if !values.allSatisfy(words.contains) {
      text += " Values: \(values.map { "`\($0)`" }.joined(separator: ", "))."
    }
    if isRepeating, !isPositional, !text.contains("repeated") { text += " Can be repeated." }
  }
}
