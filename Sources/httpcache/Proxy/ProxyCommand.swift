// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import Foundation
import HTTPCacheObserving
import HTTPCacheProxy
import HTTPCacheStore
import HTTPCaching
import Logging

/// `httpcache proxy`.
struct ProxyCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "proxy",
    abstract: "Put this cache in front of an HTTP server.",
    usage: "httpcache proxy --origin <url> [<options>]",
    discussion: """
      A reverse proxy: clients connect to it, and it asks the origin for what it has not stored.

        httpcache proxy --origin http://127.0.0.1:8000 --listen 127.0.0.1:8080
        httpcache proxy --origin http://127.0.0.1:8000 --memory 1GB --disk 10GB --directory /var/cache/httpcache \\
          --admin 127.0.0.1:9090
        httpcache proxy --config proxy.yaml

      It is a shared cache by default. One thing that RFC 9111 allows and does not ask for is on: the proxy serves a stale \
      response when the origin cannot be reached and no directive forbids it (§4.2.4). --no-stale-when-disconnected turns \
      it off. --negotiates-language goes beyond the RFC, which lets only matching Accept-Language fields share a response \
      (§4.1), and is off.

      SIGTERM, SIGINT and SIGQUIT end it after the requests in flight; a second one ends it at once. SIGHUP reads the \
      configuration file again. SIGUSR1 opens log files again.

      Exit status: 0 if a signal ended it, 1 if it could not serve, 64 for an invalid option, 66 for a configuration \
      file that cannot be read, 78 for one that is invalid.
      """)

  @OptionGroup var options: ProxyOptions

  func run() async throws {
    Allocator.keepCompact()
    let arguments = Array(CommandLine.arguments.drop { $0 != "proxy" }.dropFirst())
    let (settings, resolved): (ProxySettings, ProxySettings.Resolved)
    do throws(ProxySettings.Fault) {
      settings = try ProxySettings.read(arguments)
      resolved = try settings.resolved()
    } catch {
      Input.complain(error.description)
      throw ExitCode(error.status)
    }
    // First, before slow operations, so that no signal is lost.
    let signals = await ProxySignals()
    do {
      let level = SharedLogLevel(resolved.level)
      let logger = level.logger(label: "httpcache")
      var configuration = resolved.cache
      configuration.logDiskFailures(to: logger)
      let cache = try HTTPCache(configuration)
      defer { cache.close() }
      if let discarded = cache.store.discarded {
        logger.warning("started empty", metadata: ["reason": "\(discarded.problem)"])
      }
      let proxy = CachingProxy(resolved.proxy, cache: cache, logger: logger)
      let obeying = Task {
        var control = ProxyControl(
          proxy, arguments: arguments, running: settings, level: level, logger: logger)
        await control.obey(signals)
      }
      defer { obeying.cancel() }
      try await proxy.run()
    } catch let error as StoreError {
      Input.complain(DirectoryInput.text(of: error, isServed: true))
      throw ExitCode.failure
    } catch let error as CachingProxy.ListenError {
      let option = error.purpose == .clients ? "listen" : "admin"
      Input.complain("cannot listen on \(error.address) (\(settings.place(of: option))): \(error.reason)")
      throw ExitCode.failure
    } catch {
      Input.complain("\(error)")
      throw ExitCode.failure
    }
  }
}
