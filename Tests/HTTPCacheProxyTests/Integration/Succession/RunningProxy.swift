// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching
import Logging
import NIOPosix
import SystemPackage
import TestSupport

@testable import HTTPCacheProxy

/// A proxy that may take the place of another one of the same folder, which here is in the same process.
struct RunningProxy: Sendable {
  let proxy: CachingProxy
  let cache: HTTPCache
  let endpoints: [ProxyConfiguration.Endpoint]
  let running: Task<Void, any Error>
  let messages: Recorder<String>

  var port: Int { endpoints.first?.port ?? 0 }

  /// Writes down the messages of a proxy.
  private struct Handler: LogHandler {
    let messages: Recorder<String>
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.info

    subscript(metadataKey key: String) -> Logger.MetadataValue? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) { messages.add("\(event.message)") }
  }

  static func configuration(
    _ folder: String, origin: RawOrigin, hasDisk: Bool = true
  ) -> (proxy: ProxyConfiguration, cache: HTTPCache.Configuration) {
    var proxy = ProxyConfiguration(
      listen: [.init(host: "127.0.0.1", port: 0), .unix(.init(path: folder + "/clients"))],
      origin: .init(.init(host: "127.0.0.1", port: origin.port)))
    proxy.admin = .unix(.init(path: folder + "/admin"))
    proxy.handover = .init(path: folder + "/handover")
    proxy.setPatience()
    var cache = HTTPCache.Configuration(
      kind: .shared, memoryCapacity: 8 << 20, diskCapacity: 16 << 20,
      directory: hasDisk ? FilePath(folder + "/cache") : nil)
    cache.name = "test"
    cache.followerTimeout = .patient
    return (proxy, cache)
  }

  /// Starts a proxy, which takes the place of the one that runs.
  static func start(
    _ folder: String, origin: RawOrigin, hasDisk: Bool = true,
    _ configure: (inout ProxyConfiguration, inout HTTPCache.Configuration) -> Void = { _, _ in }
  ) async throws -> RunningProxy {
    var (configuration, settings) = configuration(folder, origin: origin, hasDisk: hasDisk)
    configure(&configuration, &settings)
    let predecessor = try await Predecessor.find(at: folder + "/handover")
    try await predecessor?.prepare(configuration)
    try await predecessor?.leaveDirectory(settings.store.directory)
    let cache = try HTTPCache(settings)
    let messages = Recorder<String>()
    let proxy = CachingProxy(
      configuration, cache: cache, eventLoopGroup: MultiThreadedEventLoopGroup.singleton.next(),
      logger: Logger(label: "test") { _ in Handler(messages: messages) }, predecessor: predecessor)
    let running = Task { try await proxy.run() }
    guard let endpoints = await proxy.endpoints() else {
      try await running.value
      throw CancellationError()
    }
    return RunningProxy(
      proxy: proxy, cache: cache, endpoints: endpoints, running: running, messages: messages)
  }

  /// Returns when it accepts no more connections, because another one has taken its place.
  func isReplaced() async throws {
    try await messages.reach(1) { $0 == "finishing requests in flight" }
  }

  /// Returns when it has ended, of its own accord after ``isReplaced()``.
  func ended() async throws {
    try await running.value
    cache.close()
    proxy.leavePredecessor()
  }

  func stop() async throws {
    proxy.stopAtOnce()
    try await ended()
  }
}

extension RawClient {
  /// A request on a connection of its own.
  static func ask(_ port: Int, _ line: String) async throws -> String {
    try await connect(to: port).exchange("\(line) HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
  }

  static func purge(_ folder: String, _ query: String) async throws -> String {
    try await connect(toUnix: folder + "/admin").exchange(
      "POST /purge?\(query) HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
  }
}
