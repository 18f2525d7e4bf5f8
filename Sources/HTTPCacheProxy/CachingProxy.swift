import HTTPCacheObserving
import HTTPCaching
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle
import Synchronization

/// A caching reverse proxy: an ``HTTPCache`` between clients and one origin, over sockets.
///
/// ```swift
/// let cache = try HTTPCache(.init(kind: .shared, memoryCapacity: 256 << 20))
/// let proxy = CachingProxy(
///   .init(listen: .init(host: "127.0.0.1", port: 8080), origin: .init(host: "127.0.0.1", port: 8000)), cache: cache)
/// try await proxy.run()    // until the task is cancelled, or the service group shuts down gracefully
/// ```
///
/// It speaks HTTP/1.1 to both sides and knows no rules of caching: those are the cache's.
public final class CachingProxy: ServiceLifecycle.Service {
  public let configuration: ProxyConfiguration
  public let cache: HTTPCache
  public let statistics: ProxyStatistics
  private let logger: Logger
  private let isBound: AsyncStream<[Address]>
  private let bound: AsyncStream<[Address]>.Continuation
  private let stopping: AsyncStream<Void>
  private let stop: AsyncStream<Void>.Continuation

  /// - Parameter cache: a shared cache, as a rule; it may serve others, too, and is not closed with the proxy.
  public init(
    _ configuration: ProxyConfiguration, cache: HTTPCache,
    logger: Logger = Logger(label: "HTTPCacheProxy")
  ) {
    self.configuration = configuration
    self.cache = cache
    self.logger = logger
    statistics = ProxyStatistics()
    (isBound, bound) = AsyncStream.makeStream()
    (stopping, stop) = AsyncStream.makeStream()
  }

  /// The addresses that clients and, behind them, administrators connect to, once they are open; `nil` if the proxy ended
  /// before. To be asked once.
  public func addresses() async -> [Address]? {
    for await addresses in isBound { return addresses }
    return nil
  }

  /// Serves until the task is cancelled or the service group shuts down; then finishes what is under way.
  ///
  /// - Throws: ``ConfigurationError`` for a configuration that cannot be, and NIO's `IOError` if the address is taken.
  public func run() async throws {
    defer { bound.finish() }
    let counting = statistics.cache.count(cache, ProxyStatistics.cacheActions)
    defer { counting.cancel() }
    if let admin = configuration.admin, !admin.isLoopback, configuration.adminToken == nil {
      throw ConfigurationError("the admin address \(admin) is open to others: set a token, or use 127.0.0.1")
    }
    let group = MultiThreadedEventLoopGroup(numberOfThreads: Swift.max(1, configuration.threads))
    do {
      try await serve(on: group)
    } catch {
      try? await group.shutdownGracefully()
      throw error
    }
    try await group.shutdownGracefully()
  }

  private func serve(on group: MultiThreadedEventLoopGroup) async throws {
    let origin = OriginClient(configuration, group: group, statistics: statistics, transit: cache.transit)
    let context = ProxyContext(
      configuration, cache: cache, origin: origin, statistics: statistics, logger: logger)
    let connections = ConnectionTable(limit: configuration.limits.connections, statistics: statistics)
    let server = try await ServerBootstrap(group: group)
      .serverChannelOption(.backlog, value: 4096)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .serverChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(AcceptGate(connections, channel))
        }
      }
      .childChannelOption(.socketOption(.tcp_nodelay), value: 1)
      .childChannelOption(.autoRead, value: false)
      .childChannelOption(.allowRemoteHalfClosure, value: true)
      .childChannelOption(.maxMessagesPerRead, value: 1)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          let connection = ClientConnection(context)
          connections.add(channel, connection)
          try channel.pipeline.syncOperations.addHandler(connection)
        }
      }
      .bind(host: configuration.listen.host, port: configuration.listen.port).get()
    var admin: (any Channel)?
    if let address = configuration.admin {
      do {
        admin = try await AdminServer(context).bind(address, group: group)
      } catch {
        try? await server.close()
        throw error
      }
    }
    let addresses = [server, admin].compactMap { $0?.localAddress }.map {
      Address(host: $0.ipAddress ?? "", port: $0.port ?? 0)
    }
    logger.info(
      "serving",
      metadata: [
        "listen": "\(addresses[0])", "origin": "\(configuration.origin)",
        "admin": "\(addresses.count > 1 ? addresses[1].description : "none")",
      ])
    bound.yield(addresses)
    await withTaskCancellationHandler {
      await withGracefulShutdownHandler {
        for await _ in stopping { break }
      } onGracefulShutdown: {
        self.stop.finish()
      }
    } onCancel: {
      stop.finish()
    }
    logger.info("stopping", metadata: ["connections": "\(statistics.openConnections)"])
    context.isDraining.store(true, ordering: .relaxed)
    try? await server.close()
    try? await admin?.close()
    await connections.drain(within: .milliseconds(configuration.timeouts.drain))
    origin.close()
  }
}
