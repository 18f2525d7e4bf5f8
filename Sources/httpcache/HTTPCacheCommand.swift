import ArgumentParser

/// `httpcache`: what an HTTP cache does, on the command line.
@main
struct HTTPCacheCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "httpcache", abstract: "Tools around an HTTP cache by RFC 9111.",
    subcommands: [ExplainCommand.self])
}
