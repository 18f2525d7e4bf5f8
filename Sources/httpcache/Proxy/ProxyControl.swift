// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheProxy
import HTTPCacheStore
import HTTPCaching
import Logging
import UnixSignals

/// Handles the signals to a running proxy.
struct ProxyControl {
  private let proxy: CachingProxy
  private let arguments: [String]
  /// The options that the proxy currently runs with.
  private var running: ProxySettings
  private let level: SharedLogLevel
  private let manager: ServiceManager?
  private let logger: Logger
  private var isStopping = false

  /// The options that change in this process. For all others, another process takes its place.
  static let changeable: Set<String> = [
    "admin-token", "certificate", "client-ca", "client-header-timeout", "client-idle-timeout", "connections",
    "connections-per-address",
    "disk", "drain-timeout", "key", "log", "maximum-fields", "maximum-head", "maximum-line",
    "maximum-request",
    "memory", "origin", "origin-accept-any-certificate", "origin-attempts", "origin-between-bytes-timeout",
    "origin-ca", "origin-certificate", "origin-check", "origin-connect-timeout", "origin-connections",
    "origin-failure-status", "origin-failures", "origin-first-byte-timeout", "origin-http2",
    "origin-idle-connections", "origin-idle-timeout", "origin-key", "origin-probe-interval", "origin-queue",
    "origin-queue-timeout", "origin-resolve-interval", "origin-server-name", "origin-timeout", "rules",
    "sites",
    "stall-timeout", "streams", "streams-per-connection", "tls-minimum", "trust", "trust-field",
    "upgrade-timeout",
  ]
  /// Options that are checked together with another one.
  private static let companion = [
    "disk": "directory", "trust": "proxy-protocol", "admin-token": "admin",
  ]
  /// The options of TLS with clients, and the sites, which may have some.
  private static let ofCertificates: Set<String> = [
    "certificate", "key", "client-ca", "sites", "tls-minimum",
  ]
  /// The options whose values are not logged.
  static let secret: Set<String> = ["admin-token", "shared"]

  init(
    _ proxy: CachingProxy, arguments: [String], running: ProxySettings, level: SharedLogLevel,
    manager: ServiceManager?, logger: Logger
  ) {
    self.proxy = proxy
    self.arguments = arguments
    self.running = running
    self.level = level
    self.manager = manager
    self.logger = logger
  }

  /// Handles signals until the task is cancelled.
  mutating func obey(_ signals: ProxySignals) async {
    for await signal in signals.events { receive(signal) }
  }

  private mutating func receive(_ signal: UnixSignal) {
    switch signal {
    case .sighup:
      manager?.send(.reloading(since: ServiceManager.now))
      let needsSuccessor = reload()
      manager?.send(.reloaded)
      if needsSuccessor { startSuccessor(because: "SIGHUP") }
    case .sigusr2: startSuccessor(because: "SIGUSR2")
    case .sigusr1:
      proxy.reopenLogs()
      logger.notice("SIGUSR1: reopening log files")
    case _ where isStopping:
      logger.notice("\(signal) again: ending at once")
      proxy.stopAtOnce()
    default:
      isStopping = true
      manager?.send(.stopping)
      logger.notice("\(signal): waiting for the requests in flight; a second signal ends the proxy at once")
      proxy.stop()
    }
  }

  // MARK: - The successor

  /// Whether another process may take the place of this one without being asked for: the service manager follows it, or the
  /// operator counts on it. Other supervisors may take the end of this process for that of the service.
  private var mayReplaceItself: Bool {
    getpid() != 1 && (manager != nil || running.settings["handover"] != nil)
  }

  /// Starts the program again, in the place of this process.
  private func startSuccessor(because signal: String) {
    guard getpid() != 1, running.file != "-" else {
      return logger.warning(
        "\(signal): another process cannot take the place of this one: \(getpid() == 1 ? "all processes of a container end with its first" : "the configuration is from standard input")"
      )
    }
    // The file system may hang. Signals are obeyed meanwhile.
    Task { [proxy, logger] in
      do {
        guard let socket = try await proxy.inviteSuccessor() else {
          return logger.warning(
            "\(signal): another process is taking the place of this one, or this one does not serve yet; try again"
          )
        }
        defer { close(socket) }
        logger.notice("\(signal): starting another process in the place of this one")
        try await BlockingExecutor.run { Result { try Successor.start(at: socket) } }.get()
      } catch {
        logger.error("\(signal): no other process can take the place of this one: \(error)")
      }
    }
  }

  // MARK: - The configuration file

  /// Reads the configuration file, and applies what it can.
  ///
  /// - Returns: whether a successor must apply the changes.
  private mutating func reload() -> Bool {
    guard running.file != "-" else {
      logger.warning("SIGHUP: standard input cannot be read again; the configuration is unchanged")
      readCertificates()
      return false
    }
    do throws(ProxySettings.Fault) {
      let read = try ProxySettings.read(arguments)
      // The whole file must be valid, including options that cannot change now.
      let whole = try read.resolved()
      let changes = running.changes(to: read)
      let names = Set(changes.map(\.name))
      // An option with a companion that needs a restart waits for the restart too.
      var taken = names.filter {
        Self.changeable.contains($0) && Self.companion[$0].map(names.contains) != true
      }
      // A port has TLS, or has not, from the start on.
      if running.hasCertificates != read.hasCertificates { taken.subtract(Self.ofCertificates) }
      // The sites, and what is for all of them, belong together.
      if names.contains("sites"), !taken.contains("sites") {
        taken = taken.filter { !ProxyOptions.isOfSite($0) && $0 != "rules" }
      }
      // A successor has another directory at once, and this process its own until the end. One that has left its directory to a
      // process which has failed needs another.
      let isWithoutDirectory = proxy.hasLeftDirectory
      if taken != names || isWithoutDirectory, !names.contains("directory"), mayReplaceItself {
        do {
          try CachingProxy.check(whole.proxy)
        } catch {
          throw read.located("\(error)")
        }
        if isWithoutDirectory { logger.notice("SIGHUP: another process takes the directory again") }
        if !changes.isEmpty { report(changes, taken: names, isNow: false) }
        return true
      }
      let merged = running.taking(taken.sorted(), from: read)
      let resolved = taken == names ? whole : try merged.resolved()
      // First the rules: a site that comes must not be without its own.
      let rules = proxy.cache.cacheRules
      if merged.rules != running.rules { proxy.cache.cacheRules = merged.rules }
      do {
        try proxy.update(resolved.proxy)
      } catch {
        proxy.cache.cacheRules = rules
        throw read.located("\(error)")
      }
      level.value = resolved.level
      let store = resolved.cache.store
      proxy.cache.setCapacity(
        memory: store.memoryCapacity, disk: store.directory == nil ? nil : store.diskCapacity)
      running = merged
      proxy.show(merged.shownSettings)
      report(changes, taken: taken)
      if resolved.proxy.hasFiles {
        logger.notice("SIGHUP: certificates and keys were read again")
      }
    } catch {
      logger.error("SIGHUP: the configuration is unchanged: \(error)")
    }
    return false
  }

  /// Reads the files of certificates and keys again.
  private func readCertificates() {
    do {
      let proxy = try running.resolved().proxy
      guard proxy.hasFiles else { return }
      try self.proxy.update(proxy)
      logger.notice("SIGHUP: certificates and keys were read again")
    } catch {
      logger.error("SIGHUP: certificates and keys are unchanged: \(error)")
    }
  }

  /// - Parameter isNow: whether the changes are in use; otherwise a successor brings them.
  private func report(_ changes: [ProxySettings.Change], taken: Set<String>, isNow: Bool = true) {
    guard let file = running.file else {
      return logger.notice("SIGHUP: no configuration file to reload; start the proxy with --config FILE")
    }
    for change in changes {
      let isSecret = Self.secret.contains(change.name)
      let values = isSecret ? "" : ": '\(change.old)' before, '\(change.new)' now"
      if taken.contains(change.name) {
        logger.notice(
          "SIGHUP: \(change.name) \(isNow ? "has changed" : "changes with another process")\(values)")
      } else if isSecret {
        logger.warning("SIGHUP: \(change.name) cannot change without a restart")
      } else {
        logger.warning(
          "SIGHUP: \(change.name) cannot change without a restart: it stays '\(change.old)', \(file) says '\(change.new)'"
        )
      }
    }
    if changes.isEmpty { logger.notice("SIGHUP: nothing has changed in \(file)") }
  }
}

extension ProxyConfiguration {
  /// Whether it names files of certificates and keys.
  fileprivate var hasFiles: Bool { tls != nil || sites.contains { $0.origin.tls != nil } }
}

/// The signals that a proxy handles. Other signals that people or scripts send, and that end a process by default, are
/// ignored.
struct ProxySignals {
  let events: UnixSignalsSequence

  init() async {
    // A successor that ends early leaves nothing behind: its end is seen by its socket.
    for number in [SIGPIPE, SIGALRM, SIGCHLD] { signal(number, SIG_IGN) }
    events = await UnixSignalsSequence(trapping: .sigterm, .sigint, .sigquit, .sighup, .sigusr1, .sigusr2)
  }
}
