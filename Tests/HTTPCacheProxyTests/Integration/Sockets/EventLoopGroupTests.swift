// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheProxy
import HTTPCacheStore
import HTTPCaching
import Logging
import NIOCore
import NIOPosix
import TestSupport
import Testing

@Suite("The proxy's event loops", .timeLimit(.minutes(10)))
struct EventLoopGroupTests {
  /// Sees on which event loops a cache is asked, and whether their threads still run.
  private final class LoopClock: CacheClock {
    private final class Mark: Sendable {
      private let end: Gate

      init(_ end: Gate) { self.end = end }
      deinit { end.open() }
    }

    private struct Weak: Sendable {
      weak let mark: Mark?
    }

    private let ofThread = ThreadSpecificVariable<Mark>()
    private let seen = Mutex<(marks: [Weak], loops: Set<ObjectIdentifier>)>(([], []))
    private let elsewhere = Atomic(0)
    /// Opens when the first of the threads ends.
    let threadEnd = Gate()

    var now: Timestamp {
      if MultiThreadedEventLoopGroup.currentEventLoop == nil { elsewhere.wrappingAdd(1, ordering: .relaxed) }
      if let loop = MultiThreadedEventLoopGroup.currentEventLoop, ofThread.currentValue == nil {
        let mark = Mark(threadEnd)
        ofThread.currentValue = mark
        seen.withLock { seen in
          seen.marks.append(Weak(mark: mark))
          seen.loops.insert(ObjectIdentifier(loop))
        }
      }
      return SystemCacheClock.shared.now
    }

    var loops: Set<ObjectIdentifier> { seen.withLock { $0.loops } }
    /// How often another thread asked.
    var questionsElsewhere: Int { elsewhere.load(ordering: .relaxed) }
    var liveThreads: Int { seen.withLock { $0.marks.count { $0.mark != nil } } }
  }

  private static let request = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"

  private static func proxy(
    in front: RawOrigin, _ clock: LoopClock, _ group: MultiThreadedEventLoopGroup?
  ) throws -> CachingProxy {
    var configuration = ProxyConfiguration(
      listen: ProxyConfiguration.Address(host: "127.0.0.1", port: 0),
      origin: ProxyConfiguration.Address(host: "127.0.0.1", port: front.port))
    configuration.admin = ProxyConfiguration.Endpoint(host: "127.0.0.1", port: 0)
    configuration.setPatience()
    let settings = HTTPCache.Configuration(kind: .shared, memoryCapacity: 1 << 20)
    let cache = try HTTPCache(
      store: CacheStore(.init(memoryCapacity: 1 << 20)), configuration: settings, clock: clock)
    return CachingProxy(
      configuration, cache: cache, eventLoopGroup: group,
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
  }

  @Test("A proxy starts its own event loops and ends them with itself")
  func own() async throws {
    let origin = try await RawOrigin.start { _, connection in
      try await connection.send(ok("hello", "Cache-Control: max-age=3600\r\n"))
      return true
    }
    let clock = LoopClock()
    let proxy = try Self.proxy(in: origin, clock, nil)
    defer { proxy.cache.close() }
    let running = Task { try await proxy.run() }
    let port = try #require(await proxy.endpoints()?.first?.port)
    let before = clock.questionsElsewhere
    for _ in 1...2 {
      let request = Self.request.replacing("\r\n\r\n", with: "\r\nConnection: close\r\n\r\n")
      expect(try await RawClient.connect(to: port).exchange(request), endsWith: "hello")
    }
    #expect(clock.liveThreads == 1)
    // Without a disk, neither the miss nor the hit needs another thread.
    #expect(clock.questionsElsewhere == before)
    proxy.stop()
    try await running.value
    await clock.threadEnd.pass()
    #expect(clock.liveThreads == 0)
    await origin.stop()
  }

  @Test("A proxy serves on given event loops and leaves them running without its channels")
  func given() async throws {
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 2)
    // What is open at the end: a connection of a client, one of an administrator, and one to the origin.
    let originSawEnd = Gate()
    let origin = try await RawOrigin.start { request, connection in
      try await connection.send(ok("hello", "Cache-Control: max-age=3600\r\n"))
      guard request.contains("/last") else { return true }
      _ = await connection.readAll()
      originSawEnd.open()
      return false
    }
    let clock = LoopClock()
    // Two share them, one after the other.
    for round in 1...2 {
      let proxy = try Self.proxy(in: origin, clock, group)
      defer { proxy.cache.close() }
      let running = Task { try await proxy.run() }
      let ports = try #require(await proxy.endpoints()).compactMap(\.port)
      try await RawClient.connect(to: ports[1]).talk { administrator in
        try await administrator.send(Self.request.replacing("/ ", with: "/metrics "))
        await administrator.read(until: "\r\n\r\n")
        try await RawClient.connect(to: ports[0]).talk { client in
          for count in 1...2 {
            try await client.send(Self.request)
            await client.read(until: "hello", times: count)
          }
          if round == 2 {
            try await client.send(Self.request.replacing("/ ", with: "/last "))
            await client.read(until: "hello", times: 3)
          }
          proxy.stop()
          try await running.value
          _ = await client.readAll()
        }
        _ = await administrator.readAll()
      }
    }
    await originSawEnd.pass()
    let loops = Set(group.makeIterator().map { ObjectIdentifier($0) })
    #expect(!clock.loops.isEmpty && clock.loops.isSubset(of: loops))
    #expect(clock.liveThreads == clock.loops.count)
    #expect(try await group.next().submit { true }.get())
    await origin.stop()
    try await group.shutdownGracefully()
  }
}
