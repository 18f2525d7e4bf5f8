// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCaching
import Logging
import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import HTTPCacheProxy

@Suite("A process that takes the place of another", .timeLimit(.minutes(10)))
struct SuccessionTests {
  /// Runs an origin whose responses to `/slow` end when the gate is open.
  private func withOrigin(
    _ body: @Sendable (_ folder: String, _ origin: RawOrigin, _ gate: Gate) async throws -> Void
  ) async throws {
    let gate = Gate()
    let origin = try await RawOrigin.start { request, connection in
      if request.hasPrefix("GET /slow") {
        try await connection.send(
          "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 10\r\n\r\nfirst")
        await gate.pass()
        try await connection.send("-last")
      } else {
        try await connection.send(ok("hello", "Cache-Control: max-age=60\r\n"))
      }
      return true
    }
    do {
      try await withSocketFolder { folder in try await body(folder.path, origin, gate) }
    } catch {
      Issue.record(error)
    }
    gate.open()
    await origin.stop()
  }

  private static let keptGet = "GET /a HTTP/1.1\r\nHost: a\r\n\r\n"

  @Test("The successor has the sockets and what is stored, and no connection of the predecessor is lost")
  func goesOn() async throws {
    try await withOrigin { folder, origin, gate in
      let old = try await RunningProxy.start(folder, origin: origin)
      expect(try await RawClient.ask(old.port, "GET /a"), contains: "fwd=uri-miss")
      let kept = try await RawClient.connect(to: old.port)
      let unused = try await RawClient.connect(toUnix: folder + "/clients")
      let download = try await RawClient.connect(to: old.port)
      async let slow = download.exchange("GET /slow HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
      async let rest = unused.talk { conversation in
        try await old.isReplaced()
        // The first request of a connection that the predecessor has accepted.
        try await conversation.send(Self.keptGet)
        return await conversation.readAll()
      }
      let (new, second) = try await kept.talk { conversation in
        try await conversation.send(Self.keptGet)
        let first = await conversation.read(until: "hello")
        expect(first, contains: "; hit;")
        let new = try await RunningProxy.start(folder, origin: origin)
        try await old.isReplaced()
        try await conversation.send(Self.keptGet)
        return (new, String(await conversation.readAll().dropFirst(first.count)))
      }
      // Both were served from the memory of the predecessor, and end the connection.
      for answer in [second, try await rest] {
        expect(answer, contains: "; hit;")
        expect(answer, contains: "Connection: close\r\n")
        expect(answer, endsWith: "hello")
      }
      #expect(new.endpoints == old.endpoints)
      // A request of the predecessor may come back to the successor.
      #expect(new.proxy.pseudonym == old.proxy.pseudonym)
      expect(try await RawClient.ask(new.port, "GET /a"), contains: "; hit;")
      expect(
        try await RawClient.connect(toUnix: folder + "/clients").exchange(
          "GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"), contains: "; hit;")
      gate.open()
      expect(try await slow, endsWith: "first-last")
      try await old.ended()
      // Their files stay as long as one of the two listens.
      let names = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
      #expect(names == ["admin", "cache", "clients", "handover"])
      // What the predecessor has received since was stored only in its memory.
      expect(try await RawClient.ask(new.port, "GET /slow"), contains: "fwd=uri-miss")
      try await new.stop()
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["cache"])
    }
  }

  @Test(
    "A removal on one side is made on both before it is answered",
    arguments: ["PURGE /a", "POST /a"], [true, false])
  func removals(line: String, hasDisk: Bool) async throws {
    let loopback = [try ProxyConfiguration.AddressRange(parsing: "127.0.0.0/8")]
    try await withOrigin { folder, origin, gate in
      func start() async throws -> RunningProxy {
        try await RunningProxy.start(folder, origin: origin, hasDisk: hasDisk) { proxy, _ in
          proxy.trustedPeers = loopback
        }
      }
      let old = try await start()
      // Each has one request after the successor serves.
      var connections: [RawClient] = []
      for _ in 1...4 { connections.append(try await RawClient.connect(to: old.port)) }
      func askOld(_ line: String) async throws -> String {
        try await connections.removeFirst().exchange(
          "\(line) HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
      }
      let slow = connections.removeFirst()
      async let download = slow.exchange(
        "GET /slow HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
      await gate.arrived(1)
      expect(try await RawClient.ask(old.port, "GET /a"), contains: "fwd=uri-miss")
      let new = try await start()
      try await old.isReplaced()
      expect(try await RawClient.ask(new.port, "GET /a"), contains: hasDisk ? "; hit;" : "fwd=uri-miss")
      expect(try await askOld(line), startsWith: "HTTP/1.1 200 ")
      expect(try await RawClient.ask(new.port, "GET /a"), contains: "fwd=uri-miss")
      // Both have it in memory again.
      expect(try await askOld("GET /a"), contains: "fwd=uri-miss")
      expect(try await RawClient.ask(new.port, line), startsWith: "HTTP/1.1 200 ")
      expect(try await askOld("GET /a"), contains: "fwd=uri-miss")
      gate.open()
      expect(try await download, endsWith: "first-last")
      try await old.ended()
      try await new.stop()
    }
  }

  @Test(
    "If the successor ends before it serves, the predecessor goes on, and its removals reach the directory")
  func lost() async throws {
    try await withOrigin { folder, origin, _ in
      let old = try await RunningProxy.start(folder, origin: origin)
      for path in ["/a", "/b"] { _ = try await RawClient.ask(old.port, "GET \(path)") }
      var lost = try await Predecessor.find(at: folder + "/handover")
      try await lost?.leaveDirectory(old.cache.directory)
      // Only one at a time.
      await #expect(throws: Predecessor.Fault.self) { try await Predecessor.find(at: folder + "/handover") }
      lost = nil
      try await old.messages.reach(1) {
        $0.hasPrefix("the process that takes the place of this one has ended;")
      }
      expect(try await RawClient.ask(old.port, "GET /a"), contains: "; hit;")
      let purged = try await RawClient.purge(folder, "url=http://a/a")
      expect(purged, endsWith: "Removed 1 response.\n")
      expect(try await RawClient.ask(old.port, "GET /a"), contains: "fwd=uri-miss")
      let new = try await RunningProxy.start(folder, origin: origin)
      expect(try await RawClient.ask(new.port, "GET /b"), contains: "; hit;")
      expect(try await RawClient.ask(new.port, "GET /a"), contains: "fwd=uri-miss")
      try await old.ended()
      try await new.stop()
    }
  }

  @Test("In a chain of three, a removal by the last reaches the first, and one by the first the last")
  func chain() async throws {
    try await withOrigin { folder, origin, gate in
      let first = try await RunningProxy.start(folder, origin: origin)
      var connections: [RawClient] = []
      for _ in 1...3 { connections.append(try await RawClient.connect(to: first.port)) }
      func askFirst(_ line: String) async throws -> String {
        try await connections.removeFirst().exchange(
          "\(line) HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
      }
      let slow = connections.removeFirst()
      async let download = slow.exchange("GET /slow HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
      await gate.arrived(1)
      _ = try await RawClient.ask(first.port, "GET /a")
      let second = try await RunningProxy.start(folder, origin: origin)
      try await first.isReplaced()
      let third = try await RunningProxy.start(folder, origin: origin)
      try await second.isReplaced()
      expect(try await RawClient.ask(third.port, "GET /a"), contains: "; hit;")
      // The second has no request, and stays for the two others.
      expect(try await RawClient.ask(third.port, "POST /a"), startsWith: "HTTP/1.1 200 ")
      expect(try await askFirst("GET /a"), contains: "fwd=uri-miss")
      expect(try await RawClient.ask(third.port, "GET /a"), contains: "fwd=uri-miss")
      expect(try await askFirst("POST /a"), startsWith: "HTTP/1.1 200 ")
      expect(try await RawClient.ask(third.port, "GET /a"), contains: "fwd=uri-miss")
      gate.open()
      expect(try await download, endsWith: "first-last")
      for proxy in [first, second] { try await proxy.ended() }
      try await third.stop()
    }
  }

  @Test("A process that was started, and does not answer, is given up")
  func silent() async throws {
    try await withOrigin { folder, origin, _ in
      let proxy = try await RunningProxy.start(folder, origin: origin)
      let first = try #require(try await proxy.proxy.inviteSuccessor(within: .milliseconds(1)))
      try await proxy.messages.reach(1) { $0.contains("has not answered in time; this one serves on") }
      // Another one may follow, and no other until it has answered, or ended.
      let second = try #require(try await proxy.proxy.inviteSuccessor())
      #expect(try await proxy.proxy.inviteSuccessor() == nil)
      await #expect(throws: Predecessor.Fault.self) { try await Predecessor.find(at: folder + "/handover") }
      close(second)
      try await proxy.messages.reach(2) { $0.contains("this one serves on") }
      let third = try #require(try await proxy.proxy.inviteSuccessor())
      let met = try await Predecessor.meet(at: third)
      #expect(met.process == getpid())
      close(first)
      try await proxy.stop()
    }
  }

  @Test("A successor that fails after the predecessor has left the directory leaves its sockets as they are")
  func failing() async throws {
    try await withOrigin { folder, origin, _ in
      let old = try await RunningProxy.start(folder, origin: origin)
      _ = try await RawClient.ask(old.port, "GET /a")
      // It has everything, and is stopped before it serves.
      let (configuration, settings) = RunningProxy.configuration(folder, origin: origin)
      let predecessor = try #require(try await Predecessor.find(at: folder + "/handover"))
      try await predecessor.prepare(configuration)
      try await predecessor.leaveDirectory(settings.store.directory)
      let cache = try HTTPCache(settings)
      let stopped = CachingProxy(
        configuration, cache: cache, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
        predecessor: predecessor)
      stopped.stop()
      try await stopped.run()
      cache.close()
      stopped.leavePredecessor()
      try await old.messages.reach(1) {
        $0.hasPrefix("the process that takes the place of this one has ended;")
      }
      let names = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
      #expect(names == ["admin", "cache", "clients", "handover"])
      expect(try await RawClient.ask(old.port, "GET /a"), contains: "; hit;")
      expect(try await RawClient.purge(folder, "url=http://a/a"), endsWith: "Removed 1 response.\n")
      let new = try await RunningProxy.start(folder, origin: origin)
      expect(try await RawClient.ask(new.port, "GET /a"), contains: "fwd=uri-miss")
      try await old.ended()
      try await new.stop()
    }
  }

  @Test("What comes over the socket and is not a successor changes nothing")
  func strangers() async throws {
    try await withOrigin { folder, origin, _ in
      let old = try await RunningProxy.start(folder, origin: origin)
      _ = try await RawClient.ask(old.port, "GET /a")
      func send(_ bytes: [UInt8]) async throws -> String {
        try await RawClient.connect(toUnix: folder + "/handover").talk { conversation in
          try await conversation.send(bytes: bytes)
          return await conversation.read(until: "s")
        }
      }
      let hello = SuccessionMessage.hello(version: SuccessionMessage.version, process: 1)
      let later = SuccessionMessage.hello(version: SuccessionMessage.version + 1, process: 1)
      expect(try await send(later.bytes), contains: "process \(getpid()) is")
      var ends = 0
      for messages: [SuccessionMessage] in [
        [.serving], [.opening], [.release(directory: folder + "/cache")], [.removal(1, [1, 2, 3]), later],
        [.applied(7), later], [hello], [hello, .opening], [hello, .release(directory: "/elsewhere")],
      ] {
        _ = try await send(messages.flatMap(\.bytes))
        guard messages.first == hello else { continue }
        ends += 1
        try await old.messages.reach(ends) {
          $0.hasPrefix("the process that takes the place of this one has ended;")
        }
      }
      for bytes: [UInt8] in [
        Array("GET / HTTP/1.1\r\n\r\n".utf8), [2, 255, 255, 255, 255], [99, 0, 0, 0, 0] + later.bytes,
      ] {
        _ = try await send(bytes)
      }
      expect(try await RawClient.ask(old.port, "GET /b"), contains: "fwd=uri-miss")
      let new = try await RunningProxy.start(folder, origin: origin)
      try await old.ended()
      for path in ["/a", "/b"] {
        expect(try await RawClient.ask(new.port, "GET \(path)"), contains: "; hit;")
      }
      try await new.stop()
    }
  }

  @Test(
    "A process at the socket that is not a predecessor is reported", arguments: ["", "HTTP/1.1 400\r\n\r\n"])
  func otherListener(answer: String) async throws {
    try await withSocketFolder { folder in
      let path = folder.path + "/handover"
      let server = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
        .childChannelInitializer { channel in
          channel.eventLoop.execute {
            channel.writeAndFlush(ByteBuffer(string: answer)).whenComplete { _ in channel.close(promise: nil)
            }
          }
          return channel.eventLoop.makeSucceededVoidFuture()
        }
        .bind(unixDomainSocketPath: path).get()
      await #expect { try await Predecessor.find(at: path) } throws: {
        "\($0)".hasPrefix("\(path): no answer; ")
      }
      try await server.close()
      #expect(try await Predecessor.find(at: path) == nil)
      #expect(try await Predecessor.find(at: folder.path + "/none") == nil)
    }
  }

  @Test("If the successor ends later, the predecessor serves nothing that is stored")
  func laterLost() async throws {
    try await withOrigin { folder, origin, gate in
      let old = try await RunningProxy.start(folder, origin: origin)
      _ = try await RawClient.ask(old.port, "GET /a")
      let kept = try await RawClient.connect(to: old.port)
      let (requests, download) = (origin.requests.count, try await RawClient.connect(to: old.port))
      async let slow = download.exchange("GET /slow HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
      await gate.arrived(1)
      let new = try await RunningProxy.start(folder, origin: origin)
      try await old.isReplaced()
      try await new.stop()
      try await old.messages.reach(1) { $0.hasSuffix("; nothing stored is served any more") }
      let answer = try await kept.exchange("GET /a HTTP/1.1\r\nHost: a\r\n\r\n")
      expect(answer, contains: "fwd=")
      #expect(origin.requests.count > requests + 1)
      gate.open()
      expect(try await slow, endsWith: "first-last")
      try await old.ended()
    }
  }
}
