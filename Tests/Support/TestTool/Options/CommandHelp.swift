// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// The help of a command and of its subcommands, as `--experimental-dump-help` prints it.
///
/// It has what is needed of ArgumentParser's `ToolInfoV0`.
struct CommandHelp: Decodable {
  var command: Command

  struct Command: Decodable {
    var commandName: String
    var abstract: String?
    var discussion: String?
    var superCommands: [String]?
    var arguments: [Argument]?
    var subcommands: [Command]?
    var shouldDisplay: Bool?

    /// The name with that of the command around it: `httpcache proxy`.
    var fullName: String { ((superCommands ?? []) + [commandName]).joined(separator: " ") }

    /// The subcommands that are documented. ArgumentParser adds `help` itself.
    var documented: [Command] {
      (subcommands ?? []).filter { $0.shouldDisplay ?? true && $0.commandName != "help" }
    }
  }

  struct Name: Decodable, Equatable {
    var kind: String
    var name: String

    /// The name with its dashes.
    var text: String { (kind == "long" ? "--" : "-") + name }
  }

  struct Argument: Decodable {
    var kind: String
    var shouldDisplay: Bool?
    var isOptional: Bool
    var isRepeating: Bool
    var names: [Name]?
    var preferredName: Name?
    var valueName: String?
    var defaultValue: String?
    var allValues: [String]?
    var abstract: String?
  }
}
