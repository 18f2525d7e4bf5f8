// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import HTTPCaching

#if !CommandLine
  #error("httpcache needs the trait CommandLine: pass --traits CommandLine or set it in your .package")
#endif

/// `httpcache`: the behaviour of an HTTP cache, on the command line.
@main
struct HTTPCacheCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "httpcache", abstract: "Run, inspect and test an HTTP cache that implements RFC 9111.",
    version: HTTPCache.version,
    subcommands: [
      ExplainCommand.self, RulesCommand.self, ConformCommand.self, ProxyCommand.self, InspectCommand.self,
      VerifyCommand.self, PurgeCommand.self, WarmCommand.self, StatsCommand.self, ImportCommand.self,
      RecordCommand.self,
    ])

  /// Runs the command as ArgumentParser does, but rejects repeated options.
  static func main() async {
    Successor.startIfWanted()
    do {
      var command = try parseAsRoot()
      if let fault = OptionList(of: type(of: command)).repeats(in: CommandLine.arguments.dropFirst()) {
        Input.complain(fault)
        throw ExitCode.validationFailure
      }
      if var asynchronous = command as? any AsyncParsableCommand {
        try await asynchronous.run()
      } else {
        try command.run()
      }
    } catch {
      exit(withError: error)
    }
  }
}
