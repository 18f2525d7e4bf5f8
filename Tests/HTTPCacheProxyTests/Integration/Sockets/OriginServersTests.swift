// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Foundation
import HTTPCacheProxy
import HTTPCaching
import InMemoryLogging
import Logging
import NIOCore
import NIOHTTP2
import NIOPosix
import TestSupport
import Testing

@Suite("Several servers of an origin", .timeLimit(.minutes(10)))
struct OriginServersTests {
  private static let noStore = "Cache-Control: no-store\r\n"

  /// What the first server does with a request.
  enum Trouble: Sendable, CaseIterable {
    /// Nothing listens there.
    case refuses
    case closesWithoutHead
    case isSilent
    case answersWithoutSense
    case sends503
    case endsInContent
    case sendsInterimAndCloses
  }

  /// What the client sends.
  enum Sending: String, Sendable, CaseIterable {
    case get = "GET / HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n"
    case head = "HEAD / HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n"
    case post = "POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 4\r\nConnection: close\r\n\r\nwork"
    case upload =
      "POST / HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n4\r\nwork\r\n0\r\n\r\n"
    case upgrade =
      "GET / HTTP/1.1\r\nHost: a.example\r\nConnection: upgrade, close\r\nUpgrade: websocket\r\n\r\n"

    /// Whether it does no harm if two servers get it.
    var isRepeatable: Bool { self == .get || self == .head }
  }

  /// An origin whose first server has trouble, and whose second one answers.
  private static func withServers(
    _ trouble: Trouble, _ configure: @escaping (inout ProxyConfiguration) -> Void = { _ in },
    cached fields: String = noStore, _ body: (ProxyFixture, _ troubled: RawOrigin) async throws -> Void
  ) async throws {
    let isEnded = Gate()
    let troubled = try await RawOrigin.start { _, connection in
      switch trouble {
      case .refuses, .closesWithoutHead: return false
      case .isSilent: await isEnded.pass()
      case .answersWithoutSense: try await connection.send("nonsense\r\n\r\n")
      case .sends503: try await connection.send("HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy")
      case .endsInContent: try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")
      case .sendsInterimAndCloses: try await connection.send("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
      }
      return trouble == .sends503
    }
    if trouble == .refuses { await troubled.stop() }
    try await ProxyFixture.run(
      {
        $0.admin = ProxyConfiguration.Endpoint(host: "127.0.0.1", port: 0)
        let healthy = $0.origin.servers[0]
        var first = ProxyConfiguration.Origin.Server(host: "127.0.0.1", port: troubled.port)
        // It comes first, as long as it gets requests.
        first.weight = 1000
        $0.origin.servers = [first, healthy]
        configure(&$0)
      },
      origin: { request, connection in
        if request.contains("chunked") { _ = await connection.read(until: "0\r\n\r\n") }
        if request.hasPrefix("POST"), !request.contains("chunked") {
          _ = await connection.read(until: "work")
        }
        try await connection.send(
          request.hasPrefix("HEAD")
            ? "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\(fields)\r\n" : ok("hello", fields))
        return true
      }
    ) { (proxy: ProxyFixture) in
      defer { isEnded.open() }
      if trouble == .isSilent {
        // The connection to the second server, which is made before, has all the time that it needs.
        var configuration = proxy.proxy.configuration
        let servers = configuration.origin.servers
        configuration.origin.servers = [servers[1]]
        try proxy.proxy.update(configuration)
        expect(try await proxy.get("/before"), startsWith: "HTTP/1.1 200 ")
        (configuration.origin.servers, configuration.origin.timeouts.firstByte) = (servers, .zero)
        try proxy.proxy.update(configuration)
      }
      try await body(proxy, troubled)
    }
    if trouble != .refuses { await troubled.stop() }
  }

  private static func metric(_ proxy: ProxyFixture, _ name: String) async throws -> Int? {
    let page = try await RawClient.connect(to: proxy.adminPort).exchange(
      "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    return page.split(separator: "\n").first { $0.hasPrefix(name + " ") }.flatMap {
      Int($0.dropFirst(name.utf8.count + 1))
    }
  }

  /// Number of requests; the end of chunked content looks like a head to the origin.
  private static func heads(_ origin: RawOrigin) -> Int {
    origin.requests.count { $0.contains(" / HTTP/1.1") }
  }

  // MARK: - Requests that a server does not answer

  @Test(
    "A request goes to the next server if the first has not got it, or if it is safe and no response has begun",
    arguments: Trouble.allCases, Sending.allCases)
  func next(trouble: Trouble, sending: Sending) async throws {
    try await Self.withServers(trouble, { $0.origin.failureStatuses = [503] }) { proxy, troubled in
      let answer = try await proxy.exchange(sending.rawValue)
      let isAnswered: Bool
      switch trouble {
      case .refuses: isAnswered = true
      case .sends503: isAnswered = sending.isRepeatable
      case .endsInContent: isAnswered = false
      default: isAnswered = sending.isRepeatable
      }
      #expect(
        answer.contains("HTTP/1.1 200 OK\r\n") == (isAnswered || trouble == .endsInContent), "\(answer)")
      // What an interim response has announced stays true.
      #expect(answer.contains("103 Early Hints") == (trouble == .sendsInterimAndCloses))
      if isAnswered, sending != .head { expect(answer, endsWith: "hello") }
      if trouble == .sends503, !isAnswered { expect(answer, endsWith: "busy") }
      #expect(Self.heads(proxy.origin) == (isAnswered ? 1 : 0))
      // A silent one may not have read the request when the proxy gives it up.
      if trouble != .isSilent { #expect(Self.heads(troubled) == (trouble == .refuses ? 0 : 1)) }
      #expect(try await Self.metric(proxy, "httpcache_origin_failovers_total") == (isAnswered ? 1 : 0))
    }
  }

  @Test(
    "A request goes to so many servers, and has the last error, or the last response", arguments: [1, 2, 3],
    [true, false])
  func attempts(limit: Int, isAnswered: Bool) async throws {
    let answering: RawOrigin.Answering = { request, connection in
      if isAnswered { try await connection.send("HTTP/1.1 500 Error\r\nContent-Length: 4\r\n\r\noops") }
      return isAnswered
    }
    let others = [try await RawOrigin.start(answering), try await RawOrigin.start(answering)]
    try await ProxyFixture.run(
      {
        $0.origin.servers += others.map { .init(host: "127.0.0.1", port: $0.port) }
        $0.origin.limits.attempts = limit
        $0.origin.failureStatuses = [500]
      }, origin: answering
    ) { (proxy: ProxyFixture) in
      expect(try await proxy.get("/"), startsWith: isAnswered ? "HTTP/1.1 500 " : "HTTP/1.1 502 ")
      #expect(proxy.origin.requests.count + others.reduce(0) { $0 + $1.requests.count } == limit)
    }
    for other in others { await other.stop() }
  }

  /// What the first server of HTTP/2 does with a stream.
  enum StreamTrouble: Sendable, CaseIterable { case refuses, resets, closesConnection, sends503 }

  @Test(
    "With HTTP/2, too, a request goes to the next server if the first has not got it, or if it is safe",
    arguments: StreamTrouble.allCases, ["GET", "POST"])
  func nextWithHTTP2(trouble: StreamTrouble, method: String) async throws {
    try await OriginFixture.run { stream in
      try await stream.answer("hello", [("cache-control", "no-store")])
    } _: { (healthy: OriginFixture) in
      try await OriginFixture.run {
        $0.origin.servers[0].weight = 1000
        $0.origin.servers += healthy.proxy.proxy.configuration.origin.servers
        $0.origin.failureStatuses = [503]
      } origin: { stream in
        switch trouble {
        case .refuses: try await stream.reset(.refusedStream)
        case .resets: try await stream.reset(.internalError)
        case .closesConnection: try await stream.closeConnection()
        case .sends503:
          try await stream.send([(":status", "503"), ("content-length", "0")], endsStream: true)
        }
      } _: { (fixture: OriginFixture) in
        let answer = try await fixture.proxy.exchange(
          "\(method) / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        let isAnswered = method == "GET" || trouble == .refuses
        let failure = trouble == .sends503 ? "503" : "502"
        expect(answer, startsWith: "HTTP/1.1 \(isAnswered ? "200" : failure) ")
        #expect(healthy.requests.all.count == (isAnswered ? 1 : 0))
        #expect(try await fixture.metric("httpcache_origin_failovers_total") == (isAnswered ? 1 : 0))
        // A refused stream is sent again to the same server first, which has not looked at it.
        #expect(fixture.requests.all.count == (trouble == .refuses ? 3 : 1))
      }
    }
  }

  @Test("If no server answers, a stale response is served", arguments: [true, false])
  func stale(isDown: Bool) async throws {
    let fields = "Cache-Control: max-age=1, stale-if-error=86400\r\nAge: 100\r\n"
    try await Self.withServers(.closesWithoutHead, cached: fields) { proxy, troubled in
      expect(try await proxy.get("/"), endsWith: "hello")
      await proxy.origin.stop()
      if isDown { await troubled.stop() }
      expect(try await proxy.get("/"), endsWith: "hello")
      expect(try await proxy.get("/other"), startsWith: "HTTP/1.1 502 ")
    }
  }

  // MARK: - Health

  @Test(
    "A server that fails several times gets no requests, until it answers a probe", arguments: [true, false])
  func ejected(byStatus: Bool) async throws {
    let isWell = Mutex(false)
    let log = InMemoryLogHandler()
    let troubled = try await RawOrigin.start { request, connection in
      guard isWell.withLock({ $0 }) else {
        if byStatus { try await connection.send("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n") }
        return byStatus
      }
      try await connection.send(ok(request.hasPrefix("HEAD") ? "" : "well", Self.noStore))
      return true
    }
    try await ProxyFixture.run(
      {
        $0.admin = ProxyConfiguration.Endpoint(host: "127.0.0.1", port: 0)
        $0.origin.servers.append(.init(host: "127.0.0.1", port: troubled.port))
        $0.origin.failureStatuses = [503]
        $0.origin.limits.failures = 3
        $0.origin.timeouts.probe = .milliseconds(1)
      }, logger: Logger(label: "test") { _ in log },
      origin: { _, connection in
        try await connection.send(ok("hello", Self.noStore))
        return true
      }
    ) { (proxy: ProxyFixture) in
      let available = "httpcache_origin_server_available{server=\"127.0.0.1:\(troubled.port)\"}"
      for number in 1...20 { expect(try await proxy.get("/\(number)"), endsWith: "hello") }
      #expect(troubled.requests.count { $0.hasPrefix("GET ") } == 3)
      #expect(proxy.origin.requests.count == 20)
      #expect(try await Self.metric(proxy, available) == 0)
      #expect(try await Self.metric(proxy, "httpcache_origin_available") == 1)
      isWell.withLock { $0 = true }
      try await eventually { try await Self.metric(proxy, available) == 1 }
      var answers: Set<String> = []
      for number in 1...4 {
        answers.insert(try await proxy.get("/\(number)").hasSuffix("well") ? "well" : "hello")
      }
      #expect(answers == ["hello", "well"])
    }
    await troubled.stop()
    let ends = log.entries.filter { "\($0.message)".contains("the origin is down") }
    #expect(ends.map { $0.metadata["server"] } == ["127.0.0.1:\(troubled.port)"])
    // Each request that another server has answered is logged, and not each in a line.
    let failovers = log.entries.filter { "\($0.message)".contains("other servers get the requests") }
    #expect(failovers.count == 1 && failovers.first?.level == .warning)
  }

  @Test("A server that fails its checks gets no requests, although it answers them")
  func checks() async throws {
    let isWell = Mutex(true)
    let checked = try await RawOrigin.start { request, connection in
      let isFailing = request.hasPrefix("GET /health ") && !isWell.withLock { $0 }
      try await connection.send(
        isFailing ? "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n" : ok("checked", Self.noStore))
      return true
    }
    try await ProxyFixture.run(
      {
        $0.admin = ProxyConfiguration.Endpoint(host: "127.0.0.1", port: 0)
        $0.origin.servers.append(.init(host: "127.0.0.1", port: checked.port))
        $0.origin.checkPath = "/health"
        $0.origin.limits.failures = 2
        $0.origin.timeouts.probe = .milliseconds(1)
      },
      origin: { _, connection in
        try await connection.send(ok("hello", Self.noStore))
        return true
      }
    ) { (proxy: ProxyFixture) in
      let available = "httpcache_origin_server_available{server=\"127.0.0.1:\(checked.port)\"}"
      expect(try await proxy.get("/"), startsWith: "HTTP/1.1 200 ")
      isWell.withLock { $0 = false }
      try await eventually { try await Self.metric(proxy, available) == 0 }
      for number in 1...10 { expect(try await proxy.get("/\(number)"), endsWith: "hello") }
      isWell.withLock { $0 = true }
      try await eventually { try await Self.metric(proxy, available) == 1 }
      let checks = checked.requests.filter { $0.hasPrefix("GET /health ") }
      #expect(checks.allSatisfy { $0.contains("\r\nHost: 127.0.0.1:\(checked.port)\r\n") })
      // Without checks, it gets requests whatever /health says.
      var configuration = proxy.proxy.configuration
      configuration.origin.checkPath = nil
      isWell.withLock { $0 = false }
      try await eventually { try await Self.metric(proxy, available) == 0 }
      try proxy.proxy.update(configuration)
      #expect(try await Self.metric(proxy, available) == 1)
    }
    await checked.stop()
  }

  @Test("The proxy is ready while one server is", arguments: [true, false])
  func readiness(isOneReady: Bool) async throws {
    try await Self.withServers(.refuses) { proxy, _ in
      if !isOneReady { await proxy.origin.stop() }
      let answer = try await RawClient.connect(to: proxy.adminPort).exchange(
        "GET /ready HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
      expect(answer, startsWith: isOneReady ? "HTTP/1.1 200 " : "HTTP/1.1 503 ")
    }
  }

  // MARK: - Load

  @Test("A server that is busy gets no request while another is not, and its share by weight otherwise")
  func load() async throws {
    let isReleased = Gate()
    let second = try await RawOrigin.start { request, connection in
      if request.hasPrefix("GET /busy ") { await isReleased.pass() }
      try await connection.send(ok("second", Self.noStore))
      return true
    }
    try await ProxyFixture.run(
      {
        var server = ProxyConfiguration.Origin.Server(host: "127.0.0.1", port: second.port)
        server.weight = 3
        $0.origin.servers.append(server)
      },
      origin: { request, connection in
        if request.hasPrefix("GET /busy ") { await isReleased.pass() }
        try await connection.send(ok("first", Self.noStore))
        return true
      }
    ) { (proxy: ProxyFixture) in
      for number in 1...20 { expect(try await proxy.get("/\(number)"), startsWith: "HTTP/1.1 200 ") }
      #expect((proxy.origin.requests.count, second.requests.count) == (5, 15))
      try await RawClient.connect(to: proxy.port).talk { busy in
        defer { isReleased.open() }
        // The second has 3 of 4 turns.
        try await busy.send("GET /busy HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n")
        await second.arrived(16)
        for number in 1...5 { expect(try await proxy.get("/\(number)"), endsWith: "first") }
        isReleased.open()
        expect(await busy.readAll(), endsWith: "second")
      }
    }
    await second.stop()
  }

  @Test("A hundred requests at once share the servers and their limits of connections")
  func limits() async throws {
    let (isReleased, counts) = (Gate(), [EventCount(), EventCount()])
    @Sendable func answer(_ count: EventCount, _ connection: inout Conversation) async throws
      -> Bool
    {
      count.next()
      await isReleased.pass()
      try await connection.send(ok("hello", Self.noStore))
      return true
    }
    let second = try await RawOrigin.start { try await answer(counts[1], &$1) }
    try await ProxyFixture.run(
      {
        $0.origin.servers.append(.init(host: "127.0.0.1", port: second.port))
        $0.origin.limits.connections = 10
      }, origin: { try await answer(counts[0], &$1) }
    ) { (proxy: ProxyFixture) in
      try await withThrowingTaskGroup { group in
        for number in 1...100 { group.addTask { try await proxy.get("/\(number)") } }
        for count in counts { try await count.reached(10) }
        isReleased.open()
        for try await answer in group { expect(answer, endsWith: "hello") }
      }
      #expect(proxy.origin.connectionCount == 10 && second.connectionCount == 10)
      #expect(counts.allSatisfy { (40...60).contains($0.count) })
    }
    await second.stop()
  }

  // MARK: - Settings

  @Test("Servers can be added and removed while the proxy serves: one that goes finishes its requests")
  func changes() async throws {
    let isReleased = Gate()
    let second = try await RawOrigin.start { _, connection in
      try await connection.send(ok("second", Self.noStore))
      return true
    }
    try await ProxyFixture.run(origin: { request, connection in
      if request.hasPrefix("GET /busy ") { await isReleased.pass() }
      try await connection.send(ok("first", Self.noStore))
      return true
    }) { (proxy: ProxyFixture) in
      try await RawClient.connect(to: proxy.port).talk { busy in
        defer { isReleased.open() }
        try await busy.send("GET /busy HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n")
        await proxy.origin.arrived(1)
        var configuration = proxy.proxy.configuration
        let first = configuration.origin.servers
        configuration.origin.servers = [.init(host: "127.0.0.1", port: second.port)]
        try proxy.proxy.update(configuration)
        for number in 1...5 { expect(try await proxy.get("/\(number)"), endsWith: "second") }
        isReleased.open()
        expect(await busy.readAll(), endsWith: "first")
        configuration.origin.servers = first
        try proxy.proxy.update(configuration)
        expect(try await proxy.get("/again"), endsWith: "first")
        configuration.origin.servers = []
        #expect(throws: ProxyConfiguration.ValidationError.self) { try proxy.proxy.update(configuration) }
        expect(try await proxy.get("/still"), endsWith: "first")
      }
    }
    await second.stop()
  }

  @Test(
    "All addresses of a name are used, one that refuses included, and an address that is gone gets no requests"
  )
  func names() async throws {
    let origins = [try await Self.named("a"), try await Self.named("b")]
    let refusing = try await Self.named("c")
    await refusing.stop()
    let ports = Mutex([origins[0].port, refusing.port, origins[1].port])
    try await ProxyFixture.run(
      {
        $0.admin = ProxyConfiguration.Endpoint(host: "127.0.0.1", port: 0)
        $0.origin.servers = [.init(host: "app.example", port: 80)]
        $0.origin.timeouts.resolve = .milliseconds(1)
      },
      lookup: { host, _ in
        #expect(host == "app.example")
        return try ports.withLock { $0 }.map { try SocketAddress(ipAddress: "127.0.0.1", port: $0) }
      }, origin: { _, _ in false }
    ) { (proxy: ProxyFixture) in
      for number in 1...9 { expect(try await proxy.get("/close\(number)"), startsWith: "HTTP/1.1 200 ") }
      #expect(origins.allSatisfy { $0.requests.count > 1 })
      // A connection is kept. It goes, although no new one is made.
      expect(try await proxy.get("/keep"), startsWith: "HTTP/1.1 200 ")
      ports.withLock { $0 = [origins[1].port] }
      try await eventually {
        let before = origins[0].requests.count
        for number in 1...3 { expect(try await proxy.get("/keep\(number)"), startsWith: "HTTP/1.1 200 ") }
        return origins[0].requests.count == before
      }
      ports.withLock { $0 = [origins[0].port] }
      try await eventually { try await Self.metric(proxy, "httpcache_origin_connections") == 0 }
      expect(try await proxy.get("/keep"), endsWith: "a")
    }
    for origin in origins { await origin.stop() }
  }

  /// An origin that answers with its name, and closes the connection if the path says so.
  private static func named(_ name: String) async throws -> RawOrigin {
    try await RawOrigin.start { request, connection in
      let closes = request.hasPrefix("GET /close")
      try await connection.send(ok(name, noStore + (closes ? "Connection: close\r\n" : "")))
      return !closes
    }
  }

  @Test("A server may listen in the file system")
  func unix() async throws {
    try await withSocketFolder { folder in
      let path = folder.path + "/app"
      var inner = ProxyConfiguration(
        listen: [.unix(.init(path: path))], origin: .init(host: "127.0.0.1", port: 1))
      try await ProxyFixture.run(origin: { request, connection in
        try await connection.send(
          ok(request.contains("Host: a.example\r\n") ? "hello" : "lost", Self.noStore))
        return true
      }) { (behind: ProxyFixture) in
        // A proxy is the server.
        inner.origin = behind.proxy.configuration.origin
        let server = CachingProxy(
          inner, cache: try HTTPCache(.init(kind: .shared)),
          logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let running = Task { try await server.run() }
        _ = await server.endpoints()
        try await ProxyFixture.run(
          { $0.origin.servers = [.init(.unix(path: path))] }, origin: { _, _ in false }
        ) {
          (proxy: ProxyFixture) in
          expect(try await proxy.get("/"), endsWith: "hello")
          running.cancel()
          try await running.value
          let answer = try await proxy.get("/gone")
          expect(answer, startsWith: "HTTP/1.1 502 ")
          #expect(answer.contains("error=connection_refused\r\n"))
        }
      }
    }
  }
}
