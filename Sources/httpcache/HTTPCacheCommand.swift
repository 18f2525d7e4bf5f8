import ArgumentParser

/// `httpcache`: what an HTTP cache does, on the command line.
@main
struct HTTPCacheCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "httpcache", abstract: "Tools around an HTTP cache by RFC 9111.",
    subcommands: [
      ExplainCommand.self, ConformCommand.self, ProxyCommand.self, InspectCommand.self, VerifyCommand.self,
      PurgeCommand.self, StatsCommand.self, ImportCommand.self, RecordCommand.self,
    ])
}
