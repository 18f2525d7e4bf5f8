// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheProxy
import HTTPCaching
import InMemoryLogging
import Logging
import NIOCore
import TestSupport
import Testing

@Suite("Protection of the origin", .timeLimit(.minutes(10)))
struct OriginProtectionTests {
  private static let noStore = "Cache-Control: no-store\r\n"
  /// Stored, and stale from the start.
  private static let stale = "Cache-Control: max-age=1, stale-if-error=86400\r\nAge: 100\r\n"

  private static func configure(_ configuration: inout ProxyConfiguration, connections: Int) {
    configuration.admin = ProxyConfiguration.Endpoint(host: "127.0.0.1", port: 0)
    configuration.origin.limits.connections = connections
  }

  private func admin(_ proxy: ProxyFixture, _ path: String) async throws -> String {
    try await RawClient.connect(to: proxy.adminPort).exchange(
      "GET \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
  }

  /// The value of a metric.
  private func figure(_ proxy: ProxyFixture, _ name: String) async throws -> Int? {
    let page = try await admin(proxy, "/metrics")
    return page.split(separator: "\n").first { $0.hasPrefix(name + " ") }.flatMap {
      Int($0.dropFirst(name.utf8.count + 1))
    }
  }

  /// Waits until a metric has a value.
  private func figure(_ proxy: ProxyFixture, _ name: String, is value: Int) async throws {
    try await eventually { try await figure(proxy, name) == value }
  }

  private static let waiting = "httpcache_origin_waiting_requests"

  // MARK: - The limit of connections

  @Test("With a limit of two, twenty clients share two connections in the order of their arrival")
  func limit() async throws {
    let gates = (0...20).map { _ in Gate() }
    try await ProxyFixture.run {
      Self.configure(&$0, connections: 2)
    } origin: { request, connection in
      let path = request.split(separator: " ")[1]
      await gates[Int(path.dropFirst()) ?? 0].pass()
      try await connection.send(ok("hello", Self.noStore))
      return true
    } _: { proxy in
      defer { for gate in gates { gate.open() } }
      try await withThrowingTaskGroup { group in
        for number in 1...20 {
          group.addTask { try await proxy.get("/\(number)") }
          // Each is in its place before the next one comes.
          await proxy.origin.arrived(Swift.min(number, 2))
          try await figure(proxy, Self.waiting, is: Swift.max(0, number - 2))
        }
        #expect(try await figure(proxy, "httpcache_origin_connections") == 2)
        #expect(
          try await admin(proxy, "/status").contains("<td>available</td><td>2 of 2</td>"))
        for number in 3...20 {
          gates[number - 2].open()
          await proxy.origin.arrived(number)
          #expect(proxy.origin.requests.last?.hasPrefix("GET /\(number) ") == true)
        }
        for gate in gates { gate.open() }
        for try await answer in group { expect(answer, startsWith: "HTTP/1.1 200 ") }
      }
      #expect(proxy.origin.connectionCount == 2)
      #expect(try await figure(proxy, Self.waiting) == 0)
    }
  }

  @Test("A request that waits too long, or for which no place is left, gets 503 with Retry-After")
  func refused() async throws {
    let isReleased = Gate()
    try await ProxyFixture.run {
      Self.configure(&$0, connections: 1)
      $0.origin.timeouts.queue = .milliseconds(10)
    } origin: { request, connection in
      if request.contains("/busy") { await isReleased.pass() }
      try await connection.send(ok("hello", request.contains("/stale") ? Self.stale : Self.noStore))
      return true
    } _: { proxy in
      expect(try await proxy.get("/stale"), endsWith: "hello")
      try await RawClient.connect(to: proxy.port).talk { busy in
        defer { isReleased.open() }
        try await busy.send("GET /busy HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n")
        await proxy.origin.arrived(2)
        let late = try await proxy.get("/late")
        expect(late, startsWith: "HTTP/1.1 503 ")
        #expect(late.contains("\r\nProxy-Status: httpcache; error=connection_limit_reached\r\n"))
        #expect(late.contains("\r\nRetry-After: 1\r\n"))
        expect(late, endsWith: "\r\n\r\n503: the server is overloaded.\n")
        // A stored response is served as after any other failure.
        let stale = try await proxy.get("/stale")
        expect(stale, startsWith: "HTTP/1.1 200 ")
        var configuration = proxy.proxy.configuration
        configuration.origin.limits.queue = 0
        try proxy.proxy.update(configuration)
        expect(try await proxy.get("/full"), startsWith: "HTTP/1.1 503 ")
        #expect(try await figure(proxy, "httpcache_origin_refused_total{reason=\"limit\"}") == 3)
        isReleased.open()
        expect(await busy.readAll(), endsWith: "hello")
      }
      // The connection is free.
      expect(try await proxy.get("/again"), startsWith: "HTTP/1.1 200 ")
      #expect(proxy.origin.connectionCount == 1)
    }
  }

  @Test("A client that leaves while it waits sends the origin nothing")
  func leaving() async throws {
    let isReleased = Gate()
    try await ProxyFixture.run {
      Self.configure(&$0, connections: 1)
      $0.allowsHalfClosure = false
    } origin: { _, connection in
      await isReleased.pass()
      try await connection.send(ok("hello", Self.noStore))
      return true
    } _: { proxy in
      defer { isReleased.open() }
      try await RawClient.connect(to: proxy.port).talk { busy in
        try await busy.send("GET /busy HTTP/1.1\r\nHost: a.example\r\n\r\n")
        await proxy.origin.arrived(1)
        for upgrade in ["", "Connection: Upgrade\r\nUpgrade: websocket\r\n"] {
          try await RawClient.connect(to: proxy.port).talk { leaver in
            try await leaver.send("GET /left HTTP/1.1\r\nHost: a.example\r\n\(upgrade)\r\n")
            try await figure(proxy, Self.waiting, is: 1)
          }
          try await figure(proxy, Self.waiting, is: 0)
        }
        isReleased.open()
        expect(await busy.read(until: "hello"), endsWith: "hello")
      }
      #expect(proxy.origin.requests.count == 1)
    }
  }

  @Test("A tunnel takes the place of a connection until it ends")
  func tunnel() async throws {
    try await ProxyFixture.run {
      Self.configure(&$0, connections: 1)
      $0.origin.limits.queue = 0
    } origin: { request, connection in
      if request.contains("Upgrade") {
        try await connection.send(
          "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
        _ = await connection.readAll()
        return false
      }
      try await connection.send(ok("hello", Self.noStore))
      return true
    } _: { proxy in
      try await RawClient.connect(to: proxy.port).talk { conversation in
        try await conversation.send(
          "GET / HTTP/1.1\r\nHost: a.example\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
        await conversation.read(until: "\r\n\r\n")
        expect(try await proxy.get("/full"), startsWith: "HTTP/1.1 503 ")
      }
      try await figure(proxy, "httpcache_origin_connections", is: 0)
      expect(try await proxy.get("/free"), startsWith: "HTTP/1.1 200 ")
    }
  }

  // MARK: - Servers that do not answer

  @Test(
    "While its only server is down, the origin delays no stale response, gets all other requests, and is probed"
  )
  func stopped() async throws {
    let log = InMemoryLogHandler()
    let isStopped = Mutex(false)
    try await ProxyFixture.run(
      {
        $0.admin = ProxyConfiguration.Endpoint(host: "127.0.0.1", port: 0)
        $0.origin.limits.failures = 3
        $0.origin.timeouts.probe = .milliseconds(5)
      }, logger: Logger(label: "test") { _ in log }
    ) { request, connection in
      if isStopped.withLock({ $0 }) { return false }
      if request.hasPrefix("HEAD") {
        try await connection.send("HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\n\r\n")
      } else {
        try await connection.send(ok("hello", request.contains("/stale") ? Self.stale : Self.noStore))
      }
      return false
    } _: { proxy in
      expect(try await proxy.get("/stale"), endsWith: "hello")
      isStopped.withLock { $0 = true }
      for _ in 1...3 { expect(try await proxy.get("/first"), startsWith: "HTTP/1.1 502 ") }
      for number in 1...20 {
        // No request for it reaches the origin, whether it is the first or waits for another.
        async let other = proxy.get("/stale")
        for stale in [try await proxy.get("/stale"), try await other] {
          expect(stale, startsWith: "HTTP/1.1 200 ")
        }
        // Nothing is stored that may answer these.
        expect(try await proxy.get("/other\(number)"), startsWith: "HTTP/1.1 502 ")
        expect(
          try await proxy.get("/stale", "Cache-Control: no-cache\r\n"), startsWith: "HTTP/1.1 502 ")
      }
      let requests = proxy.origin.requests
      #expect(requests.count { $0.hasPrefix("GET /other") } == 20)
      #expect(requests.count { $0.hasPrefix("GET /stale ") } == 21)
      #expect(try await figure(proxy, "httpcache_origin_available") == 0)
      #expect(try await figure(proxy, "httpcache_origin_refused_total{reason=\"unavailable\"}") == 40)
      #expect(
        try await admin(proxy, "/status").contains(
          "<td>down until it answers a probe: connection_terminated</td>"))
      expect(
        try await admin(proxy, "/ready"), endsWith: "the origin does not answer: connection_terminated\n")
      isStopped.withLock { $0 = false }
      // Without a wait for a probe.
      expect(try await proxy.get("/other"), startsWith: "HTTP/1.1 200 ")
      try await figure(proxy, "httpcache_origin_available", is: 1)
      #expect(try await figure(proxy, "httpcache_origin_outages_total") == 1)
      expect(try await admin(proxy, "/ready"), startsWith: "HTTP/1.1 200 ")
    }
    // One line each way, with the error.
    let lines = log.entries.filter { "\($0.message)".contains("the origin is down") }
    #expect(lines.map(\.level) == [.warning])
    #expect(lines.first?.metadata["error"]?.description.contains("without a response") == true)
    let ends = log.entries.filter { $0.message == "the origin is up again" }
    #expect(ends.map(\.level) == [.notice])
  }

  @Test("Whatever the load, one probe at a time is sent")
  func oneProbe() async throws {
    let (isReleased, probes) = (Gate(), Recorder<String>())
    let answers = Mutex(false)
    try await ProxyFixture.run {
      $0.origin.limits.failures = 2
      $0.origin.timeouts.probe = .milliseconds(1)
    } origin: { request, connection in
      if request.hasPrefix("HEAD") {
        probes.add(request)
        await isReleased.pass()
        try await connection.send("HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n")
        return true
      }
      guard answers.withLock({ $0 }) else { return false }
      try await connection.send(ok("hello", Self.noStore))
      return true
    } _: { proxy in
      defer { isReleased.open() }
      for _ in 1...2 { expect(try await proxy.get("/"), startsWith: "HTTP/1.1 502 ") }
      try await probes.reach(1)
      try await withThrowingTaskGroup { group in
        for number in 1...100 {
          group.addTask { try await proxy.get("/\(number)", "Cookie: secret\r\n") }
        }
        for try await answer in group { expect(answer, startsWith: "HTTP/1.1 502 ") }
      }
      #expect(probes.all.count == 1 && !probes.all.joined().contains("secret"))
      answers.withLock { $0 = true }
      isReleased.open()
      // An error is a response: the origin gets requests again.
      try await eventually { try await proxy.get("/again").hasPrefix("HTTP/1.1 200 ") }
      #expect(probes.all.count == 1)
    }
  }

  @Test(
    "Requests that wait for a connection to a server that goes down go to another one, and wait on if there is none",
    arguments: [true, false])
  func queueEnds(hasOther: Bool) async throws {
    let isReleased = Gate()
    let other = try await RawOrigin.start { _, connection in
      try await connection.send(ok("hello", Self.noStore))
      return true
    }
    try await ProxyFixture.run {
      Self.configure(&$0, connections: 1)
      $0.origin.limits.failures = 1
      guard hasOther else { return }
      var backup = ProxyConfiguration.Origin.Server(host: "127.0.0.1", port: other.port)
      backup.isBackup = true
      $0.origin.servers.append(backup)
    } origin: { _, _ in
      await isReleased.pass()
      return false
    } _: { proxy in
      defer { isReleased.open() }
      try await withThrowingTaskGroup { group in
        group.addTask { try await proxy.get("/1") }
        await proxy.origin.arrived(1)
        for number in 2...5 { group.addTask { try await proxy.get("/\(number)") } }
        try await figure(proxy, Self.waiting, is: 4)
        isReleased.open()
        for try await answer in group {
          expect(answer, startsWith: hasOther ? "HTTP/1.1 200 " : "HTTP/1.1 502 ")
        }
      }
      #expect(proxy.origin.requests.count { !$0.hasPrefix("HEAD") } == (hasOther ? 1 : 5))
    }
    await other.stop()
  }

  @Test("While all servers are down, a request that one refuses goes to the next one")
  func allDown() async throws {
    let isWell = Mutex(false)
    let gone = try await RawOrigin.start { _, _ in false }
    await gone.stop()
    try await ProxyFixture.run {
      $0.origin.servers[0].isBackup = true
      $0.origin.servers.insert(.init(host: "127.0.0.1", port: gone.port), at: 0)
      $0.origin.limits.failures = 2
    } origin: { _, connection in
      guard isWell.withLock({ $0 }) else { return false }
      try await connection.send(ok("hello", Self.noStore))
      return true
    } _: { proxy in
      for number in 1...20 { expect(try await proxy.get("/\(number)"), startsWith: "HTTP/1.1 502 ") }
      isWell.withLock { $0 = true }
      for number in 1...5 { expect(try await proxy.get("/again\(number)"), startsWith: "HTTP/1.1 200 ") }
    }
  }

  @Test("Of many requests at once that no server answers, none gets 503, however few connections there are")
  func burst() async throws {
    let other = try await RawOrigin.start { _, _ in false }
    try await ProxyFixture.run {
      Self.configure(&$0, connections: 2)
      $0.origin.servers.append(.init(host: "127.0.0.1", port: other.port))
      $0.origin.limits.failures = 3
    } origin: { _, _ in
      false
    } _: { proxy in
      try await withThrowingTaskGroup { group in
        for number in 1...30 { group.addTask { try await proxy.get("/\(number)") } }
        for try await answer in group { expect(answer, startsWith: "HTTP/1.1 502 ") }
      }
    }
    await other.stop()
  }

  /// What a server does with the requests for one URL.
  enum Trouble: CaseIterable {
    case closes
    case sends503
  }

  @Test(
    "One URL that no server answers takes no server from the others", arguments: Trouble.allCases, [1, 2, 3])
  func oneURL(trouble: Trouble, count: Int) async throws {
    let answering: RawOrigin.Answering = { request, connection in
      guard request.contains("/bad") else {
        if request.hasPrefix("POST") { _ = await connection.read(until: "work") }
        try await connection.send(ok(request.hasPrefix("HEAD") ? "" : "hello", Self.noStore))
        return true
      }
      switch trouble {
      case .closes: return false
      case .sends503:
        try await connection.send("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")
        return true
      }
    }
    var others: [RawOrigin] = []
    for _ in 1..<count { others.append(try await RawOrigin.start(answering)) }
    try await ProxyFixture.run {
      $0.origin.servers += others.map { .init(host: "127.0.0.1", port: $0.port) }
      $0.origin.limits.failures = 5
      $0.origin.failureStatuses = [503]
    } origin: { request, connection in
      try await answering(request, &connection)
    } _: { proxy in
      for round in 1...5 {
        try await withThrowingTaskGroup { group in
          for number in 1...8 { group.addTask { try await proxy.get("/bad?\(number)") } }
          for try await answer in group { #expect(!answer.hasPrefix("HTTP/1.1 200 ")) }
        }
        for number in 1...3 {
          expect(try await proxy.get("/good\(round)\(number)"), startsWith: "HTTP/1.1 200 ")
        }
        let post = try await proxy.exchange(
          "POST /good HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nConnection: close\r\n\r\nwork")
        expect(post, startsWith: "HTTP/1.1 200 ")
      }
    }
    for other in others { await other.stop() }
  }

  @Test("A server that accepts and closes is left when another one answers, and counts alone")
  func forwarder() async throws {
    let closing = try await RawOrigin.start { _, _ in false }
    try await ProxyFixture.run {
      Self.configure(&$0, connections: 100)
      var first = ProxyConfiguration.Origin.Server(host: "127.0.0.1", port: closing.port)
      first.weight = 1000
      $0.origin.servers.insert(first, at: 0)
      $0.origin.limits.failures = 5
    } origin: { _, connection in
      try await connection.send(ok("hello", Self.noStore))
      return true
    } _: { proxy in
      for number in 1...20 { expect(try await proxy.get("/\(number)"), endsWith: "hello") }
      #expect(closing.requests.count { $0.hasPrefix("GET") } == 5)
      #expect(
        try await figure(proxy, "httpcache_origin_server_available{server=\"127.0.0.1:\(closing.port)\"}")
          == 0)
      #expect(
        try await figure(
          proxy, "httpcache_origin_server_available{server=\"127.0.0.1:\(proxy.origin.port)\"}")
          == 1)
    }
    await closing.stop()
  }

  @Test("An origin that was away gets requests at once when it is back")
  func restart() async throws {
    let isAway = Mutex(false)
    try await ProxyFixture.run {
      $0.origin.limits.failures = 5
    } origin: { _, connection in
      if isAway.withLock({ $0 }) { return false }
      try await connection.send(ok("hello", Self.noStore))
      return true
    } _: { proxy in
      for round in 1...3 {
        isAway.withLock { $0 = true }
        for number in 1...20 { expect(try await proxy.get("/\(number)"), startsWith: "HTTP/1.1 502 ") }
        isAway.withLock { $0 = false }
        for number in 1...5 { expect(try await proxy.get("/\(round)\(number)"), startsWith: "HTTP/1.1 200 ") }
      }
    }
  }

  @Test("A client that sends invalid content does not count as a failure of the origin")
  func invalidContent() async throws {
    try await ProxyFixture.run {
      $0.origin.limits.failures = 1
    } origin: { request, connection in
      if request.hasPrefix("POST") { _ = await connection.readAll() }
      try await connection.send(ok("hello", Self.noStore))
      return true
    } _: { proxy in
      for _ in 1...3 {
        _ = try await proxy.exchange(
          "POST / HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nnonsense\r\n")
      }
      expect(try await proxy.get("/"), startsWith: "HTTP/1.1 200 ")
    }
  }

  // MARK: - Times

  @Test("An origin that stops within its content is given up after the time between bytes")
  func betweenBytes() async throws {
    try await ProxyFixture.run {
      $0.origin.timeouts.betweenBytes = .zero
    } origin: { _, connection in
      try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nhello")
      _ = await connection.readAll()
      return false
    } _: { proxy in
      // The time for the head is far away.
      expect(try await proxy.get("/"), startsWith: "HTTP/1.1 ")
    }
  }

  // MARK: - Names

  @Test("A name that cannot be resolved is reported as such")
  func unknownName() async throws {
    try await ProxyFixture.run {
      $0.origin.servers = [.init(host: "nowhere.invalid", port: 80)]
    } origin: { _, _ in
      true
    } _: { proxy in
      let answer = try await proxy.get("/")
      expect(answer, startsWith: "HTTP/1.1 502 ")
      #expect(answer.contains("\r\nProxy-Status: httpcache; error=dns_error\r\n"))
      expect(answer, endsWith: "\r\n\r\n502: the server cannot be reached.\n")
    }
  }
}
