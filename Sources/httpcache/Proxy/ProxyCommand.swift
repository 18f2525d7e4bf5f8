import ArgumentParser
import Foundation
import HTTPCacheProxy
import HTTPCaching
import Logging
import ServiceLifecycle
import UnixSignals

/// `httpcache proxy`.
struct ProxyCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "proxy",
    abstract: "Put this cache in front of an HTTP server.",
    discussion: """
      A reverse proxy: clients connect to it, and it asks the origin for what it has not stored.

        httpcache proxy --origin http://127.0.0.1:8000 --listen 127.0.0.1:8080
        httpcache proxy --origin http://127.0.0.1:8000 --memory 1GB --disk 10GB --directory /var/cache/httpcache \\
          --admin 127.0.0.1:9090

      It is a shared cache unless told otherwise. Two things that RFC 9111 allows and does not ask for are on, because \
      they are what a server's own proxy is put there for: a stale response is served when the origin cannot be reached, \
      where no directive forbids it (§4.2.4), and a stored response in the language that a request prefers answers it. \
      --no-stale-when-disconnected and --no-negotiates-language turn them off.

      SIGTERM and SIGINT end it after what is under way. Options may stand in a file, too: see --config.

      Exit status: 0 after a graceful end, 1 if it could not serve, 64 for a wrong option, 66 for a configuration file \
      that cannot be read.
      """)

  @OptionGroup var options: ProxyOptions

  /// The options with those of the file, which those of the command line override.
  private func completeOptions() throws -> ProxyOptions {
    guard let file = options.config else { return options }
    let text: String
    do {
      text = String(decoding: try Input.bytes(of: file), as: UTF8.self)
    } catch {
      Input.complain(error.text(file: file))
      throw ExitCode(66)  // EX_NOINPUT of sysexits.h
    }
    let given = CommandLine.arguments.drop { $0 != "proxy" }.dropFirst()
    return try ProxyOptions.parse(try ConfigurationFile.arguments(text, file: file) + given)
  }

  func run() async throws {
    Allocator.keepCompact()
    let (configuration, cacheConfiguration, level):
      (ProxyConfiguration, HTTPCache.Configuration, Logger.Level)
    do {
      (configuration, cacheConfiguration, level) = try completeOptions().resolved()
    } catch let error as ConfigurationError {
      throw ValidationError(error.description)
    }
    var logger = Logger(label: "httpcache") { StreamLogHandler.standardError(label: $0) }
    logger.logLevel = level
    do {
      let cache = try HTTPCache(cacheConfiguration)
      defer { cache.close() }
      let proxy = CachingProxy(configuration, cache: cache, logger: logger)
      let group = ServiceGroup(
        configuration: .init(services: [proxy], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger))
      try await group.run()
    } catch {
      Input.complain("\(error)")
      throw ExitCode.failure
    }
  }
}
