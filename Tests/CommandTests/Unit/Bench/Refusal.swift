// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser

/// Returns the exit code of a program that refuses a line of arguments; `nil` if nothing is wrong with it.
///
/// A subcommand that exists parses by itself: ArgumentParser takes 0.4 s of a debug build to refuse a line for a program with
/// all its subcommands.
func refusal(of line: String, _ program: any ParsableCommand.Type) -> Int32? {
  var words = line.split(separator: " ").map(String.init)
  var command = program
  if let name = words.first,
    let subcommand = program.configuration.subcommands.first(where: { $0._commandName == name })
  {
    command = subcommand
    words.removeFirst()
  }
  do {
    _ = try command.parseAsRoot(words)
    return nil
  } catch {
    return command.exitCode(for: error).rawValue
  }
}
