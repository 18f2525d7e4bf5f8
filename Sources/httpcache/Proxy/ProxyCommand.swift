// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import CacheMutex
import HTTPCacheObserving
import HTTPCacheProxy
import HTTPCacheStore
import HTTPCaching
import Logging

/// `httpcache proxy`.
struct ProxyCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "proxy",
    abstract: "Run a caching reverse proxy in front of an HTTP server.",
    usage: "httpcache proxy --origin <url> [<options>]",
    discussion: """
      Clients connect to the proxy. It serves what it has stored, and fetches everything else from the origin.

        httpcache proxy --origin http://127.0.0.1:8000 --listen 127.0.0.1:8080
        httpcache proxy --origin http://127.0.0.1:8000 --memory 1GB --disk 10GB --directory /var/cache/httpcache \\
          --admin 127.0.0.1:9090
        httpcache proxy --config proxy.yaml
        httpcache proxy --config proxy.yaml --check

      The proxy is a shared cache by default. If the origin cannot be reached, it serves a stale response that had a lifetime, \
      where no directive forbids it. RFC 9111 permits this, and does not require it (§4.2.4); --no-stale-when-disconnected turns it off. \
      --negotiates-language is off by default. It goes beyond the RFC, in which only requests with matching Accept-Language \
      fields share a response (§4.1).

      SIGTERM, SIGINT and SIGQUIT stop the proxy after the requests in flight; a second signal stops it at once. SIGHUP \
      reloads the configuration file. SIGUSR1 reopens the log files. SIGUSR2 starts the program again in the place of the \
      process, without a gap.

      Exit status: 0 if a signal ended it, 1 if it could not serve, 64 for an invalid option, 66 for a configuration \
      file that cannot be read, 69 if the server of --shared does not answer and --shared-required is set, 78 for a \
      configuration file that is invalid.
      """)

  @Flag(help: "Only check the options and the configuration file, and end: with status 0 if they are valid.")
  var check = false

  @OptionGroup var options: ProxyOptions

  func run() async throws {
    Allocator.keepCompact()
    DescriptorLimit.raise()
    let arguments = Array(CommandLine.arguments.drop { $0 != "proxy" }.dropFirst()).filter { $0 != "--check" }
    let (settings, resolved): (ProxySettings, ProxySettings.Resolved)
    do throws(ProxySettings.Fault) {
      settings = try ProxySettings.read(arguments)
      resolved = try settings.resolved()
    } catch {
      Input.complain(error.description)
      throw ExitCode(error.status)
    }
    if check {
      let counts = [(settings.sites.count, "site"), (settings.rules.rules.count, "rule")]
      let texts = counts.filter { $0.0 > 0 }.map { "\($0) \($1)\($0 == 1 ? "" : "s")" }
      return print("valid" + (texts.isEmpty ? "" : ", with " + texts.joined(separator: " and ")))
    }
    // First, before slow operations, so that no signal is lost.
    let signals = await ProxySignals()
    do {
      let level = SharedLogLevel(resolved.level)
      let logger = level.logger(label: "httpcache")
      var configuration = resolved.cache
      // What happens to requests is in the access log.
      configuration.log(to: logger, CacheEvent.Action.allCases.filter { $0.change != nil })
      let events = resolved.requiresSharedTier ? configuration.sharedTierEvents() : nil
      let manager = ServiceManager(process: getpid()) { getenv($0).map { String(cString: $0) } }
      let predecessor = try await Self.predecessor(resolved, logger)
      let cache = try HTTPCache(configuration)
      defer { cache.close() }
      if let events { try await Self.requireSharedTier(events) }
      let isReplaced = Mutex(false)
      let proxy = CachingProxy(resolved.proxy, cache: cache, logger: logger, predecessor: predecessor) {
        isReplaced.withLock { $0 = true }
        Self.tell(manager, .replaced(by: $0), logger)
      }
      defer {
        cache.close()
        proxy.leavePredecessor()
      }
      proxy.show(settings.shownSettings)
      let obeying = Task {
        var control = ProxyControl(
          proxy, arguments: arguments, running: settings, level: level, manager: manager, logger: logger)
        await control.obey(signals)
      }
      defer { obeying.cancel() }
      let serving = Task {
        let file = try await Self.serve(proxy, pidFile: resolved.pidFile, tell: manager, logger)
        // The process that has taken the place of this one writes its own at any time.
        if !isReplaced.withLock({ $0 }) { file?.remove() }
      }
      defer { serving.cancel() }
      try await proxy.run()
      serving.cancel()
      try await serving.value
    } catch let error as PIDFile.Fault {
      Input.complain(
        "cannot write the PID file \(error.path) (\(settings.place(of: "pid-file"))): \(error.cause)")
      throw ExitCode.failure
    } catch let error as SharedTierUnreachable {
      Input.complain("--shared-required: \(error.cause)")
      throw ExitCode(69)  // EX_UNAVAILABLE of sysexits.h
    } catch let error as Predecessor.Fault {
      Input.complain("cannot take over: \(error)")
      throw ExitCode.failure
    } catch let error as StoreError {
      Input.complain(DirectoryInput.text(of: error, isServed: true))
      throw ExitCode.failure
    } catch let error as CachingProxy.ListenError {
      let option =
        switch error.purpose {
        case .clients: "listen"
        case .administrators: "admin"
        case .redirects: "redirect"
        case .successors: "handover"
        }
      Input.complain("cannot listen on \(error.endpoint) (\(settings.place(of: option))): \(error.reason)")
      throw ExitCode.failure
    } catch {
      Input.complain("\(error)")
      throw ExitCode.failure
    }
  }

  /// Writes the PID file when the proxy serves, until it ends. Tells the service manager the same, and then again and again that
  /// its event loops turn.
  ///
  /// - Returns: the PID file, to remove; `nil` if the configuration names no PID file, or the proxy does not serve.
  /// - Throws: ``PIDFile/Fault``, after the proxy was told to stop.
  private static func serve(
    _ proxy: CachingProxy, pidFile: String?, tell manager: ServiceManager?, _ logger: Logger
  ) async throws -> PIDFile? {
    guard let endpoints = await proxy.endpoints() else { return nil }
    var file: PIDFile?
    do throws(PIDFile.Fault) {
      file = try pidFile.map { path throws(PIDFile.Fault) in try PIDFile(path) }
    } catch {
      proxy.stop()
      throw error
    }
    await Self.tell(manager, .ready(on: endpoints.map { "\($0)" }), logger).value
    let interval = manager?.signOfLife
    while !Task.isCancelled {
      if interval != nil {
        await proxy.passEventLoops()
        manager?.send(.alive)
      }
      try? await Task.sleep(for: interval ?? .seconds(3600))
    }
    return file
  }

  /// Tells the service manager something that it must know. Its queue may be full for a moment.
  @discardableResult
  private static func tell(
    _ manager: ServiceManager?, _ message: ServiceManager.Message, _ logger: Logger
  ) -> Task<Void, Never> {
    Task {
      for attempt in 1...10 {
        if manager?.send(message) != false { break }
        if attempt == 10 { logger.warning("the service manager does not take messages (NOTIFY_SOCKET)") }
        try? await Task.sleep(for: .milliseconds(100))
      }
    }
  }

  /// Finds the process whose place this one takes, and waits until it has left the directory.
  private static func predecessor(
    _ resolved: ProxySettings.Resolved, _ logger: Logger
  ) async throws -> Predecessor? {
    var found: Predecessor?
    if let socket = Successor.takeSocket() {
      found = try await Predecessor.meet(at: socket)
    } else if let socket = resolved.proxy.handover {
      found = try await Predecessor.find(at: socket.path)
    }
    guard let found else { return nil }
    logger.notice("taking the place of another process", metadata: ["process": "\(found.process)"])
    try await found.prepare(resolved.proxy)
    if let path = resolved.pidFile { try PIDFile.check(path) }
    try await found.leaveDirectory(resolved.cache.store.directory)
    return found
  }

  private struct SharedTierUnreachable: Error {
    var cause: String
  }

  /// Returns when the shared tier has answered for the first time.
  private static func requireSharedTier(_ events: AsyncStream<CacheEvent>) async throws {
    for await event in events {
      if event.action == .sharedTierAvailable { return }
      throw SharedTierUnreachable(cause: event.cause.map { "\($0)" } ?? "")
    }
  }
}

extension HTTPCache.Configuration {
  /// Returns whether the shared tier can be reached, from the opening on.
  fileprivate mutating func sharedTierEvents() -> AsyncStream<CacheEvent> {
    let (events, continuation) = AsyncStream.makeStream(
      of: CacheEvent.self, bufferingPolicy: .bufferingOldest(16))
    observe([.sharedTierAvailable, .sharedTierUnavailable]) { continuation.yield($0) }
    return events
  }
}
