// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser

/// The options of a command, as ArgumentParser describes them.
///
/// The declarations of the command are the only list of its options: this type derives everything from their
/// description.
struct OptionList {
  struct Option: Hashable {
    var name: String
    var isFlag: Bool
    var isRepeating: Bool
    var valueName: String
    var defaultValue: String?
    /// The allowed values; empty if any value may be valid.
    var allowed: [String]
    /// Whether there is a flag `no-NAME` for the opposite.
    var hasOpposite = false
  }

  private let options: [String: Option]
  /// `no-NAME` to `NAME`, and short names to long ones.
  private let aliases: [String: String]

  /// - Parameter type: a command, or a group of its options.
  init(of type: any ParsableArguments.Type) {
    // The description is an experimental part of ArgumentParser: without it, no option is known, and none is rejected.
    let description = try? JSONDecoder().decode(Description.self, from: Data(type._dumpHelp().utf8))
    var options: [String: Option] = [:]
    var aliases: [String: String] = [:]
    for argument in description?.command.arguments ?? [] where argument.kind != "positional" {
      guard let name = argument.preferredName?.name else { continue }
      options[name] = Option(
        name: name, isFlag: argument.kind == "flag", isRepeating: argument.isRepeating,
        valueName: argument.valueName ?? name, defaultValue: argument.defaultValue,
        allowed: argument.allValues ?? [])
      for other in argument.names ?? [] where other.name != name { aliases[other.name] = name }
    }
    for name in options.keys where options["no-" + name]?.isFlag == true {
      options[name]?.hasOpposite = true
      aliases["no-" + name] = name
    }
    for name in aliases.keys { options[name] = nil }
    self.options = options
    self.aliases = aliases
  }

  /// The required part of ArgumentParser's `ToolInfoV0`.
  private struct Description: Decodable {
    struct Command: Decodable { var arguments: [Argument]? }
    struct Name: Decodable { var name: String }
    struct Argument: Decodable {
      var kind: String
      var isRepeating: Bool
      var names: [Name]?
      var preferredName: Name?
      var valueName: String?
      var defaultValue: String?
      var allValues: [String]?
    }
    var command: Command
  }

  /// The names of all options, sorted.
  var names: [String] { options.keys.sorted() }

  /// Returns the option for a name without dashes; `no-NAME` is the option `NAME`.
  subscript(name: String) -> Option? { options[name] ?? aliases[name].flatMap { options[$0] } }

  // MARK: - Command lines

  /// An option on a command line.
  struct Use {
    var option: Option
    /// The one or two arguments that it occupies.
    var arguments: [String]
    /// The value without the name; for a flag, its name.
    var value: String
  }

  /// Returns the options in `arguments`, in order. ArgumentParser reports their errors.
  func uses(in arguments: some Sequence<String>) -> [Use] {
    var uses: [Use] = []
    var rest = Array(arguments)[...]
    while let argument = rest.popFirst(), argument != "--" {
      guard argument.hasPrefix("-") else { continue }
      let name = argument.drop { $0 == "-" }.prefix { $0 != "=" }
      guard let option = self[String(name)] else { continue }
      if option.isFlag {
        uses.append(Use(option: option, arguments: [argument], value: argument))
      } else if let equals = argument.firstIndex(of: "=") {
        let value = String(argument[argument.index(after: equals)...])
        uses.append(Use(option: option, arguments: [argument], value: value))
      } else if let value = rest.popFirst() {
        uses.append(Use(option: option, arguments: [argument, value], value: value))
      }
    }
    return uses
  }

  /// Returns an error if a single-value option is given twice: ArgumentParser silently takes the last one.
  func repeats(in arguments: some Sequence<String>) -> String? {
    var first: [String: Use] = [:]
    for use in uses(in: arguments) where !use.option.isRepeating {
      if let other = first.updateValue(use, forKey: use.option.name) {
        let name = "--\(use.option.name)"
        if ProxyControl.secret.contains(use.option.name) { return "\(name) is given twice; remove one" }
        return use.option.isFlag
          ? "\(name) is given twice, as '\(other.value)' and '\(use.value)'; remove one"
          : "\(name) is given twice, with '\(other.value)' and '\(use.value)'; remove one"
      }
    }
    return nil
  }
}
