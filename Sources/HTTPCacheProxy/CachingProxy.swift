// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheEngine
import HTTPCacheObserving
import HTTPCaching
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle
import TransportSecurity

#if !Proxy
  #error("HTTPCacheProxy needs the trait Proxy: pass --traits Proxy or set it in your .package")
#endif

/// A caching reverse proxy: an `HTTPCache` between clients and one origin, over sockets.
///
/// ```swift
/// let cache = try HTTPCache(.init(kind: .shared, memoryCapacity: 256 << 20))
/// let proxy = CachingProxy(
///   .init(listen: .init(host: "127.0.0.1", port: 8080), origin: .init(host: "127.0.0.1", port: 8000)), cache: cache)
/// try await proxy.run()    // until the task is cancelled, or the service group shuts down gracefully
/// ```
///
/// It supports HTTP/1.1 with both sides, HTTP/2 with clients (``ProxyConfiguration/http2-swift.property``), and TLS with
/// ``ProxyConfiguration/tls`` and ``ProxyConfiguration/Origin/tls-swift.property``. All rules of caching are in the cache.
public final class CachingProxy: ServiceLifecycle.Service {
  /// The configuration that the proxy was made with; ``update(_:)`` does not change it.
  public let configuration: ProxyConfiguration
  /// The cache that serves the requests.
  public let cache: HTTPCache
  /// The counters of the proxy.
  package let statistics: ProxyStatistics
  private let logger: Logger
  private let lookup: HostLookup
  /// The group that the caller gave; `nil` if the proxy has its own.
  private let eventLoopGroup: (any EventLoopGroup)?
  private let accessLog = Mutex<AccessLog?>(nil)
  private let isBound: AsyncStream<[ProxyConfiguration.Endpoint]>
  private let bound: AsyncStream<[ProxyConfiguration.Endpoint]>.Continuation
  private let settings: CurrentConfiguration
  private let phase = Mutex(Phase.serving)
  private let hasStopped = Atomic<Bool>(false)
  /// The processes that may take the place of this one, while the proxy serves.
  private let successors = Mutex<Successors?>(nil)
  /// The event loops, while the proxy serves.
  private let loops = Mutex<[any EventLoop]>([])
  /// The process whose place this one takes; `nil` if no process runs before this one.
  private let predecessor: Predecessor?
  /// Called with the number of the process that has taken the place of this one.
  private let onReplacement: @Sendable (Int32) -> Void
  /// Has an element when another process has taken the place of this one, and ends when the proxy is to stop.
  private let stopping: AsyncStream<Void>
  private let stopSignal: AsyncStream<Void>.Continuation

  /// The phase of ``run()``, as far as ``stop()`` and ``stopAtOnce()`` need it.
  private enum Phase {
    /// Starting, or serving.
    case serving
    /// Client connections are open. They must be closed if the proxy ends at once.
    case draining(ConnectionTable)
    /// The proxy must end at once.
    case ending
  }

  /// - Parameters:
  ///   - configuration: the addresses, limits and timeouts.
  ///   - cache: usually a shared cache. It may serve other users too, and is not closed with the proxy.
  ///   - eventLoopGroup: the event loops of NIOPosix that serve connections. The proxy does not shut the group down,
  ///     and ignores `threads` of the configuration. By default ``run()`` starts its own group, and shuts it down
  ///     at its end. The access log always has its own thread.
  ///   - logger: receives messages for the operator.
  /// - Precondition: the event loops of `eventLoopGroup` are of NIOPosix, and run until ``run()`` has returned.
  public convenience init(
    _ configuration: ProxyConfiguration, cache: HTTPCache, eventLoopGroup: (any EventLoopGroup)? = nil,
    logger: Logger = Logger(label: "HTTPCacheProxy")
  ) {
    self.init(
      configuration, cache: cache, eventLoopGroup: eventLoopGroup, logger: logger, lookup: systemHostLookup)
  }

  /// - Parameters:
  ///   - lookup: finds the addresses of the origin's servers.
  ///   - predecessor: the process whose place this one takes.
  ///   - onReplacement: called with the number of the process that has taken the place of this one.
  package init(
    _ configuration: ProxyConfiguration, cache: HTTPCache, eventLoopGroup: (any EventLoopGroup)? = nil,
    logger: Logger, lookup: @escaping HostLookup = systemHostLookup, predecessor: Predecessor? = nil,
    onReplacement: @escaping @Sendable (Int32) -> Void = { _ in }
  ) {
    self.lookup = lookup
    (self.predecessor, self.onReplacement) = (predecessor, onReplacement)
    self.configuration = configuration
    settings = CurrentConfiguration(configuration, predecessor?.pseudonym ?? Pseudonym())
    self.cache = cache
    self.eventLoopGroup = eventLoopGroup
    self.logger = logger
    statistics = ProxyStatistics()
    (isBound, bound) = AsyncStream.makeStream()
    (stopping, stopSignal) = AsyncStream.makeStream()
  }

  /// Returns where clients, administrators, and clients that will be redirected connect to, in this order, once that is open;
  /// `nil` if the proxy ended before. Ports are those that the system chose. Call it once.
  public func endpoints() async -> [ProxyConfiguration.Endpoint]? {
    for await endpoints in isBound { return endpoints }
    return nil
  }

  /// Opens the access log under its name again, after it was moved away, as programs do on SIGUSR1. If that fails, the
  /// old file stays in use, and the proxy logs a warning.
  public func reopenLogs() {
    accessLog.withLock { $0 }?.reopen()
  }

  /// Serves until the task is cancelled or the service group shuts down, and then finishes the requests in flight. A
  /// proxy runs once: to serve again, create another one.
  ///
  /// - Throws: ``ProxyConfiguration/ValidationError`` for an invalid configuration, or an access log that cannot be
  ///   written, or a file of a certificate or a key that cannot be read. Throws ``CachingProxy/ListenError`` if
  ///   it cannot listen.
  public func run() async throws {
    defer { bound.finish() }
    try configuration.validate()
    try settings.readFiles()
    guard let accessLog = configuration.accessLog else { return try await serve(nil) }
    // A thread that may wait for a disk, or for the reader of a pipe.
    let writer = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    do {
      let log = try AccessLog(
        accessLog, loop: writer.next(), dropped: statistics.logLinesDropped, logger: logger)
      self.accessLog.withLock { $0 = log }
      do {
        try await serve(log)
      } catch {
        await log.close()
        throw error
      }
      // All connections are closed: no event loop writes lines any more.
      await log.close()
    } catch {
      self.accessLog.withLock { $0 = nil }
      try? await writer.shutdownGracefully()
      throw error
    }
    self.accessLog.withLock { $0 = nil }
    try await writer.shutdownGracefully()
  }

  private func serve(_ log: AccessLog?) async throws {
    if let eventLoopGroup { return try await serve(on: eventLoopGroup, log) }
    let group = MultiThreadedEventLoopGroup(numberOfThreads: Swift.max(1, configuration.threads))
    do {
      try await serve(on: group, log)
    } catch {
      try? await group.shutdownGracefully()
      throw error
    }
    try await group.shutdownGracefully()
  }

  private func serve(on group: any EventLoopGroup, _ log: AccessLog?) async throws {
    loops.withLock { $0 = Array(group.makeIterator()) }
    defer { loops.withLock { $0 = [] } }
    let context = ProxyContext(
      settings, cache: cache, group: group, statistics: statistics, logger: logger, accessLog: log,
      lookup: lookup)
    let counting = statistics.count(cache, for: context.sites)
    defer { counting.cancel() }
    // Fetches may continue for other users of the cache.
    defer { context.executors.close() }
    let looking = look(at: context, on: group.next())
    defer { looking.cancel() }
    let connections = ConnectionTable(
      Self.connectionLimits(settings.value), of: "client connections", statistics: statistics,
      logger: logger)
    settings.onChange { [weak connections, logger] in
      guard let connections else { return }
      connections.setLimits(Self.connectionLimits($0))
      Self.checkDescriptors($0, logger)
    }
    // Before this process stores anything.
    if let predecessor { cache.tellRemovals(to: predecessor) }
    let following = Task { [predecessor, cache] in
      if let predecessor { await predecessor.follow(cache) }
    }
    defer { following.cancel() }
    let ports = ClientPorts(
      context: context, connections: connections, group: group, predecessor: predecessor)
    let administration = AdminServer(context)
    let successors = Successors(cache, settings.pseudonym, logger) { [onReplacement, stopSignal] process in
      onReplacement(process)
      stopSignal.yield()
    }
    var (clients, admin, redirects): ([ListeningSocket], [ListeningSocket], [ListeningSocket]) = ([], [], [])
    var waiting: [ListeningSocket] = []
    var sockets: [ListeningSocket] { clients + admin + redirects }
    do {
      if hasStopped.load(ordering: .relaxed) { throw Stopped() }
      await predecessor?.pause()
      // First, so that purges go to the process that will serve.
      if let endpoint = configuration.admin {
        admin = try await Self.listening(on: endpoint, .administrators) {
          try await administration.open($0, group: group, predecessor: predecessor)
        }
      }
      for endpoint in configuration.listen {
        clients += try await Self.listening(on: endpoint, .clients) {
          try await ports.open($0, .answers, isEncrypted: configuration.tls != nil)
        }
      }
      if let endpoint = configuration.redirect {
        let port = configuration.redirectPort ?? clients.lazy.compactMap(\.endpoint.port).first ?? 443
        redirects = try await Self.listening(on: endpoint, .redirects) {
          try await ports.open($0, .redirects(port: port), isEncrypted: false)
        }
      }
      successors.pass(sockets)
      if let socket = configuration.handover {
        let open = sockets
        waiting = try await Self.listening(on: .unix(socket), .successors) {
          try await successors.open($0, predecessor: predecessor, passing: open)
        }
      }
      if hasStopped.load(ordering: .relaxed) { throw Stopped() }
    } catch {
      // The files of sockets that the predecessor has passed are still its own.
      for server in sockets + waiting { await server.close(isPassedOn: server.isTaken) }
      await passEventLoops()
      await administration.closeConnections()
      await connections.drain(within: .zero)
      await context.sites.close()
      if error is Stopped { return }
      throw error
    }
    func text(_ sockets: [ListeningSocket]) -> String {
      sockets.isEmpty ? "none" : sockets.map { "\($0.endpoint)" }.joined(separator: ", ")
    }
    logger.info(
      "serving",
      metadata: [
        "listen": "\(text(clients))",
        "origin":
          "\(configuration.sites.map { $0.name.isEmpty ? "\($0.origin)" : "\($0.name): \($0.origin)" }.joined(separator: "; "))",
        "admin": "\(text(admin))",
      ])
    let untaken = InheritedSockets.untakenOfProcess
    if !untaken.isEmpty {
      logger.warning(
        "no endpoint uses some sockets of the service manager, whose clients wait in vain",
        metadata: ["names": "\(untaken.joined(separator: ", "))"])
    }
    logCertificates()
    Self.checkDescriptors(settings.value, logger)
    if let predecessor, !(await predecessor.replace()) {
      logger.error(
        "the process whose place this one takes does not answer; end it, if it has not ended",
        metadata: ["process": "\(predecessor.process)"])
    }
    self.successors.withLock { $0 = successors }
    defer { self.successors.withLock { $0 = nil } }
    bound.yield(sockets.map(\.endpoint))
    await withTaskCancellationHandler {
      await withGracefulShutdownHandler {
        let isReplaced = await untilStopped()
        for socket in waiting { await socket.close(isPassedOn: isReplaced || successors.isOffered) }
        if isReplaced {
          await leave(sockets, connections, administration, context, following)
          (clients, admin, redirects) = ([], [], [])
        }
      } onGracefulShutdown: {
        self.stop()
      }
    } onCancel: {
      stop()
    }
    let time = settings.value.timeouts.drain
    logger.info(
      "stopping", metadata: ["connections": "\(statistics.openConnections)", "within": "\(time)"])
    context.isDraining.store(true, ordering: .relaxed)
    context.warmer.stop()
    // A successor that has them fails, or serves.
    let isOffered = successors.isOffered
    for server in clients + redirects { await server.close(isPassedOn: isOffered) }
    await beginDraining(connections)
    await connections.drain(within: time.timeAmount)
    // Last, so that liveness checks see the proxy until its end.
    for server in admin { await server.close(isPassedOn: isOffered) }
    await passEventLoops()
    await administration.closeConnections()
    await context.sites.close()
    await successors.close()
  }

  /// Why the proxy does not begin to serve: it was stopped before.
  private struct Stopped: Error {}

  /// Maximum time for requests in flight after another process has taken the place of this one: nothing waits for the end.
  static let lastRequests = TimeAmount.hours(1)

  /// Returns when the proxy is to stop, or another process has taken its place: then `true`.
  private func untilStopped() async -> Bool {
    for await _ in stopping { return true }
    return false
  }

  /// Leaves the listening sockets to the process that has taken the place of this one, and finishes the requests in flight.
  ///
  /// Connections without a request stay: their clients may be sending one, which is then the last.
  private func leave(
    _ sockets: [ListeningSocket], _ connections: ConnectionTable, _ administration: AdminServer,
    _ context: ProxyContext, _ following: Task<Void, Never>
  ) async {
    context.isDraining.store(true, ordering: .relaxed)
    context.warmer.stop()
    for socket in sockets { await socket.close(isPassedOn: true) }
    await beginDraining(connections)
    logger.info("finishing requests in flight", metadata: ["connections": "\(statistics.openConnections)"])
    let isOver = Task {
      // A signal ends it sooner.
      for await _ in stopping {}
      guard !Task.isCancelled else { return }
      following.cancel()
      let time = settings.value.timeouts.drain.timeAmount
      async let admin: Void = administration.closeConnections(within: time)
      await connections.drain(within: time)
      await admin
    }
    async let admin: Void = administration.closeConnections(within: Self.lastRequests, isPatient: true)
    await connections.drain(within: Self.lastRequests, isPatient: true)
    await admin
    // This process tells the one before it what the one after it removes.
    let limit = Task {
      try? await Task.sleep(for: .seconds(3600))
      following.cancel()
    }
    await following.value
    limit.cancel()
    isOver.cancel()
    await isOver.value
  }

  /// Enters the phase in which connections finish, after their ports were closed. If the proxy must end at once, closes them.
  private func beginDraining(_ connections: ConnectionTable) async {
    await passEventLoops()
    let endsAtOnce = phase.withLock { phase in
      if case .ending = phase { return true }
      phase = .draining(connections)
      return false
    }
    if endsAtOnce { connections.closeAll() }
  }

  /// Waits until each event loop has done its earlier tasks: accepted connections are then in its table.
  package func passEventLoops() async {
    for loop in loops.withLock({ $0 }) { try? await loop.submit {}.get() }
  }

  /// Reads the counters every few seconds: for the figures of the last minute, and for failed reads of the disk.
  private func look(at context: ProxyContext, on loop: any EventLoop) -> RepeatedTask {
    let sites = context.sites
    let disk = DiskWatch(context.cache.store, logger)
    return loop.scheduleRepeatedTask(
      initialDelay: .seconds(RecentFigures.interval), delay: .seconds(RecentFigures.interval)
    ) { _ in
      sites.look()
      disk.look()
    }
  }

  /// The limits of client connections: those of the configuration, as far as the process has file descriptors.
  private static func connectionLimits(_ configuration: ProxyConfiguration) -> ConnectionTable.Limits {
    let wanted = configuration.limits.connections
    let possible = DescriptorLimit.current.map { DescriptorLimit.connections(within: $0) }
    return ConnectionTable.Limits(
      connections: Swift.min(wanted, possible ?? wanted),
      perAddress: configuration.limits.connectionsPerAddress)
  }

  /// Logs that the process has too few file descriptors for the limit of connections.
  private static func checkDescriptors(_ configuration: ProxyConfiguration, _ logger: Logger) {
    let (wanted, limits) = (configuration.limits.connections, connectionLimits(configuration))
    guard limits.connections < wanted, let descriptors = DescriptorLimit.current else { return }
    logger.warning(
      """
      \(wanted) client connections need \(DescriptorLimit.needed(for: wanted)) file descriptors, and the process may open \
      \(descriptors): the proxy accepts \(limits.connections) connections; increase the limit (LimitNOFILE, ulimit -n), or \
      decrease the number of connections
      """)
  }

  private static func listening(
    on endpoint: ProxyConfiguration.Endpoint, _ purpose: CachingProxy.ListenError.Purpose,
    _ open: (ProxyConfiguration.Endpoint) async throws -> [ListeningSocket]
  ) async throws -> [ListeningSocket] {
    do {
      return try await open(endpoint)
    } catch {
      throw CachingProxy.ListenError(endpoint, purpose, error)
    }
  }

  // MARK: - While it runs

  /// Ends ``run()`` after the requests in flight: the proxy accepts no more connections, and `/health` returns 503.
  public func stop() {
    hasStopped.store(true, ordering: .relaxed)
    stopSignal.finish()
  }

  /// Ends ``run()`` at once: the proxy closes all client connections, even with requests in flight.
  public func stopAtOnce() {
    let draining: ConnectionTable? = phase.withLock { phase in
      defer { phase = .ending }
      if case .draining(let connections) = phase { return connections }
      return nil
    }
    draining?.closeAll()
    stop()
  }

  /// Applies the settings that can change while the proxy serves: `limits`, `timeouts`, `adminToken`, `trustedPeers`,
  /// `trustsUnixPeers`, `trustedFields`, `sites`, and `tls` if it is set already. The rest of `configuration` is ignored. Files of certificates and keys are read again.
  ///
  /// Limits of a request's head and of streams, trusted peers, and the time-outs of a connection to the origin apply to connections
  /// made from then on.
  ///
  /// - Throws: ``ProxyConfiguration/ValidationError``; then nothing has changed.
  public func update(_ configuration: ProxyConfiguration) throws {
    try settings.update(configuration)
    logCertificates()
  }

  /// Checks a configuration, and the files of certificates and keys that it names.
  ///
  /// - Throws: ``ProxyConfiguration/ValidationError``.
  package static func check(_ configuration: ProxyConfiguration) throws {
    try configuration.validate()
    try CurrentConfiguration.checkFiles(configuration)
  }

  /// The name of the proxy in the `Via` of its requests.
  package var pseudonym: String { settings.pseudonym.text(configuration.name) }

  /// Returns a socket for a process that is started to take the place of this one; `nil` if the proxy does not serve. Close it
  /// when the process has it.
  ///
  /// - Parameter time: the time that the process has to answer.
  package func inviteSuccessor(within time: Duration = .seconds(30)) async throws -> CInt? {
    try await successors.withLock { $0 }?.invite(within: time.timeAmount)
  }

  /// Whether this process has left its directory to another one, which has taken its place, or failed to.
  package var hasLeftDirectory: Bool { successors.withLock { $0 }?.hasLeftDirectory ?? false }

  /// Ends the connection with the process whose place this one has taken. Call it when the cache is closed: what this process has
  /// not removed from the directory, the other one then does.
  package func leavePredecessor() { predecessor?.close() }

  /// Sets what the admin port shows as the configuration in use.
  package func show(_ shown: [ShownSetting]) { settings.shown = shown }

  /// Logs until when the certificates for clients are valid, as a warning if that is soon, and whether that of the origin is
  /// not checked.
  private func logCertificates() {
    for site in settings.value.sites where site.origin.tls?.acceptsAnyCertificate == true {
      logger.warning(
        "the proxy accepts any certificate of the origin: its connections can be read and changed",
        metadata: site.name.isEmpty ? nil : ["site": "\(site.name)"])
    }
    let now = SystemCacheClock.shared.now.seconds
    for certificate in settings.encryption.clients?.certificates ?? [] {
      let isSoon = certificate.lastSecond - now < 14 * 86_400
      logger.log(
        level: isSoon ? .warning : .info,
        certificate.lastSecond < now
          ? "a certificate has expired" : isSoon ? "a certificate expires soon" : "certificate",
        metadata: [
          "file": "\(certificate.file)", "names": "\(certificate.names.joined(separator: " "))",
          "until": "\(HTTPDate(secondsSince1970: certificate.lastSecond).fieldValue)",
        ])
    }
  }
}
