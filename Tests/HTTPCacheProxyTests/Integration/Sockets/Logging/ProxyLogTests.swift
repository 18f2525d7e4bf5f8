// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheProxy
import HTTPCaching
import InMemoryLogging
import Logging
import NIOCore
import TestSupport
import Testing

@Suite("The logs of a running proxy", .timeLimit(.minutes(10)))
struct ProxyLogTests {
  /// Runs a proxy, and gives the lines of its access log, by target.
  private func log(
    _ configure: (inout ProxyConfiguration) -> Void = { _ in },
    origin: @escaping RawOrigin.Answering, _ body: (ProxyFixture) async throws -> Void
  ) async throws -> [[String: String]] {
    let file = try LogFile()
    try await ProxyFixture.run {
      $0.accessLog = ProxyConfiguration.AccessLogOptions(.file(file.path), format: .json)
      configure(&$0)
    } origin: { request, connection in
      try await origin(request, &connection)
    } _: { proxy in
      try await body(proxy)
    }
    return try file.objects
  }

  private func expect(
    _ line: [String: String]?, _ members: [String: String], sourceLocation: SourceLocation = #_sourceLocation
  ) {
    for (name, value) in members {
      #expect(line?[name] == value, "\(name) in \(line ?? [:])", sourceLocation: sourceLocation)
    }
  }

  @Test("Each response is logged with its outcome, reason and content bytes")
  func outcomes() async throws {
    let lines = try await log { request, connection in
      if request.hasPrefix("GET /304") || request.hasPrefix("HEAD /304"), request.contains("If-None-Match") {
        try await connection.send("HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\n\r\n")
      } else if request.contains("/304") {
        try await connection.send(ok("hello", "ETag: \"a\"\r\nCache-Control: no-cache\r\n"))
      } else if request.contains("/stale") {
        try await connection.send(ok("hello", "Cache-Control: max-age=0, stale-while-revalidate=3600\r\n"))
      } else if request.contains("/chunked") {
        try await connection.send(
          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nCache-Control: no-store\r\n\r\n3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n"
        )
      } else if request.contains("/none") {
        try await connection.send("HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno")
      } else if request.contains("/head") {
        try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 70\r\n\r\n")
      } else {
        try await connection.send(ok("hello", "Cache-Control: max-age=3600\r\n"))
      }
      return true
    } _: { proxy in
      for path in ["/hit", "/hit", "/304", "/304", "/stale", "/stale", "/chunked", "/none"] {
        _ = try await proxy.get(path, "User-Agent: test/1\r\nReferer: \"x\"\r\n")
      }
      _ = try await proxy.exchange("HEAD /head HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n")
      _ = try await proxy.exchange("HEAD /hit HTTP/1.0\r\n\r\n")
      _ = try await proxy.get("/hit", "Range: bytes=1-2\r\n")
      _ = try await proxy.get("/never", "Cache-Control: only-if-cached\r\n")
      _ = try await proxy.exchange(
        "OPTIONS * HTTP/1.1\r\nHost: a.example\r\nMax-Forwards: 0\r\nConnection: close\r\n\r\n")
    }
    let expected: [[String: String]] = [
      [
        "target": "/hit", "status": "200", "bytes": "5", "cache": "network", "reason": "storedWithLifetime",
        "forward": "uri-miss",
      ],
      [
        "target": "/hit", "status": "200", "bytes": "5", "cache": "hit", "reason": "fresh", "forward": "null",
      ],
      ["target": "/304", "bytes": "5", "cache": "network", "forward": "uri-miss"],
      ["target": "/304", "bytes": "5", "cache": "validated", "reason": "validated"],
      ["target": "/stale", "cache": "network"],
      ["target": "/stale", "cache": "stale", "reason": "staleWhileRevalidate"],
      ["target": "/chunked", "bytes": "7", "cache": "network", "reason": "responseNoStore"],
      ["target": "/none", "status": "404", "bytes": "2", "cache": "network"],
      ["target": "/head", "method": "HEAD", "bytes": "0", "status": "200"],
      ["target": "/hit", "method": "HEAD", "bytes": "0", "protocol": "HTTP/1.0"],
      ["target": "/hit", "status": "206", "bytes": "2", "cache": "hit"],
      ["target": "/never", "status": "504", "cache": "generated", "reason": "onlyIfCached"],
      ["target": "*", "method": "OPTIONS", "status": "204", "cache": "generated"],
    ]
    #expect(lines.count == expected.count)
    for (line, members) in zip(lines, expected) {
      expect(line, members)
      expect(line, ["client": "127.0.0.1", "aborted": "0"])
      #expect(Double(line["total_seconds"] ?? "") ?? -1 >= Double(line["head_seconds"] ?? "") ?? 0)
    }
    expect(lines.first, ["user_agent": "test/1", "referer": "\"x\"", "authority": "a.example"])
  }

  @Test("The access log names the client that trusted proxies name")
  func clients() async throws {
    let trusting: (inout ProxyConfiguration) -> Void = {
      if let range = try? ProxyConfiguration.AddressRange(parsing: "127.0.0.1") { $0.trustedPeers = [range] }
    }
    let hello: RawOrigin.Answering = { _, connection in
      try await connection.send(ok("hello"))
      return true
    }
    let forwarded = try await log(trusting, origin: hello) { proxy in
      _ = try await proxy.get("/", "X-Forwarded-For: 192.0.2.1, 2001:db8::1\r\n")
      _ = try await proxy.get("/")
      _ = try await proxy.exchange("nonsense\r\n\r\n")
    }
    #expect(forwarded.map { $0["client"] } == ["2001:db8::1", "127.0.0.1", "127.0.0.1"])
    let header = try await log(
      {
        trusting(&$0)
        $0.expectsProxyHeader = true
      }, origin: hello
    ) { proxy in
      for request in ["GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "nonsense\r\n\r\n"] {
        _ = try await proxy.exchange("PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n" + request)
      }
    }
    #expect(header.map { $0["client"] } == ["192.0.2.1", "192.0.2.1"])
  }

  @Test("A tunnel is logged when it ends, with the bytes sent to the client")
  func tunnel() async throws {
    let lines = try await log { _, connection in
      try await connection.send("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nhello")
      return false
    } _: { proxy in
      _ = try await RawClient.connect(to: proxy.port).exchange(
        "GET /tunnel HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n")
    }
    #expect(lines.count == 1)
    expect(
      lines.first,
      ["target": "/tunnel", "status": "101", "bytes": "5", "cache": "network", "aborted": "0"])
  }

  @Test("Unreadable and oversized requests are logged, with escaped text")
  func refused() async throws {
    let requests: [(String, [String: String])] = [
      ("GET /a\u{1}b HTTP/1.1\r\nHost: a\r\n\r\n", ["unreadable": "GET /a\u{1}b HTTP/1.1", "status": "400"]),
      (
        "GET /\"}\n{\"status\":200} HTTP/1.1\r\nHost: a\r\n\r\n", ["unreadable": "GET /\"}", "status": "400"]
      ),
      (
        "GET / HTTP/1.1\r\n\r\n",
        ["unreadable": "GET / HTTP/1.1", "status": "400", "error": "Host is missing (RFC 9112 §3.2)"]
      ),
      ("GET / HTTP/2.0\r\nHost: a\r\n\r\n", ["unreadable": "GET / HTTP/2.0", "status": "505"]),
      ("\u{16}\u{3}\u{1}\r\n\r\n", ["unreadable": "\u{16}\u{3}\u{1}", "status": "400"]),
      (
        "POST /large HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n",
        ["method": "POST", "target": "/large", "status": "413"]
      ),
      (
        "POST /chunks HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nnone\r\n",
        ["method": "POST", "target": "/chunks", "status": "400"]
      ),
    ]
    let lines = try await log {
      $0.limits.requestBytes = 100
    } origin: { _, _ in
      true
    } _: { proxy in
      for (request, _) in requests { _ = try await proxy.exchange(request) }
    }
    #expect(lines.count == requests.count)
    for (line, request) in zip(lines, requests) {
      expect(line, request.1)
      expect(line, ["cache": "refused", "reason": "null", "aborted": "0"])
    }
  }

  @Test("A request head that times out is logged")
  func late() async throws {
    let lines = try await log {
      $0.timeouts.head = .zero
    } origin: { _, _ in
      true
    } _: { proxy in
      try await RawClient.connect(to: proxy.port).talk { conversation in
        try await conversation.send("GET /late HT")
        _ = await conversation.readAll()
      }
    }
    #expect(lines.count == 1)
    expect(lines.first, ["unreadable": "GET /late HT", "status": "408", "cache": "refused"])
  }

  @Test("An aborted response is logged with the bytes sent, or with 499 if none began")
  func aborted() async throws {
    let asked = Gate()
    let lines = try await log {
      $0.allowsHalfClosure = false
    } origin: { request, connection in
      if request.contains("/half") {
        try await connection.send(
          "HTTP/1.1 200 OK\r\nContent-Length: 10\r\nCache-Control: no-store\r\n\r\nhello")
        return false
      }
      asked.open()
      _ = await connection.readAll()
      return false
    } _: { proxy in
      try await RawClient.connect(to: proxy.port).talk { conversation in
        try await conversation.send("GET /half HTTP/1.1\r\nHost: a\r\n\r\n")
        _ = await conversation.readAll()
      }
      try await RawClient.connect(to: proxy.port).talk { conversation in
        try await conversation.send("GET /never HTTP/1.1\r\nHost: a\r\n\r\n")
        await asked.pass()
      }
    }
    #expect(lines.count == 2)
    expect(
      lines.first, ["target": "/half", "status": "200", "bytes": "5", "cache": "network", "aborted": "1"])
    expect(
      lines.last,
      [
        "target": "/never", "status": "499", "bytes": "0", "cache": "null", "head_seconds": "null",
        "aborted": "1",
      ])
  }

  @Test("A response is not logged as stored if its client left before it was complete")
  func leftEarly() async throws {
    let lines = try await log {
      $0.allowsHalfClosure = false
    } origin: { request, connection in
      try await connection.send(
        "HTTP/1.1 200 OK\r\n" + (request.contains("/known") ? "Content-Length: 1000000\r\n" : "")
          + "Cache-Control: max-age=60\r\n\r\nhello")
      _ = await connection.readAll()
      return false
    } _: { proxy in
      for target in ["/known", "/unknown"] {
        try await RawClient.connect(to: proxy.port).talk { conversation in
          try await conversation.send("GET \(target) HTTP/1.1\r\nHost: a\r\n\r\n")
          _ = await conversation.read(until: "hello")
        }
      }
    }
    #expect(lines.count == 2)
    for line in lines {
      expect(line, ["status": "200", "cache": "network", "aborted": "1"])
      // The fetch may have ended before the line was written.
      #expect(["null", "incompleteContent"].contains(line["reason"]))
    }
  }

  @Test("Each failed request is logged with its error, and the log tells when the origin fails and answers")
  func failures() async throws {
    let handler = InMemoryLogHandler()
    let file = try LogFile()
    try await ProxyFixture.run(
      {
        $0.accessLog = ProxyConfiguration.AccessLogOptions(.file(file.path), format: .json)
      }, logger: Logger(label: "test") { _ in handler }
    ) { request, connection in
      if request.contains("/works") {
        try await connection.send(ok("hello"))
        return true
      }
      return false
    } _: { proxy in
      for number in 1...20 { _ = try await proxy.get("/fails/\(number)") }
      for number in 1...3 { _ = try await proxy.get("/works/\(number)") }
    }
    // What a proxy logs at a lower level is not of interest.
    let told = handler.entries.filter { $0.level >= .notice }
    #expect(told.first?.level == .warning)
    #expect(told.last?.message == "the origin answers again")
    let lines = try file.objects
    #expect(lines.count == 23)
    for line in lines.prefix(20) {
      expect(line, ["status": "502", "cache": "failed", "reason": "connection_terminated", "aborted": "0"])
    }
  }

  @Test("The access log is reopened while the proxy serves")
  func reopens() async throws {
    let file = try LogFile()
    try await ProxyFixture.run {
      $0.accessLog = ProxyConfiguration.AccessLogOptions(.file(file.path), format: .common)
    } origin: { _, connection in
      try await connection.send(ok("hello"))
      return true
    } _: { proxy in
      _ = try await proxy.get("/1")
      try FileManager.default.moveItem(atPath: file.path, toPath: file.path + ".1")
      proxy.proxy.reopenLogs()
      _ = try await proxy.get("/2")
    }
    #expect(try LogFile.lines(file.path + ".1").count == 1)
    #expect(try file.lines.count == 1)
    #expect(try file.lines.first?.contains("\"GET /2 HTTP/1.1\"") == true)
  }

  @Test("A proxy does not start if its access log cannot be opened")
  func unwritable() async throws {
    var configuration = ProxyConfiguration(
      listen: ProxyConfiguration.Address(host: "127.0.0.1", port: 0),
      origin: ProxyConfiguration.Address(host: "127.0.0.1", port: 9))
    configuration.accessLog = ProxyConfiguration.AccessLogOptions(.file("/dev/null/access.log"))
    let proxy = CachingProxy(configuration, cache: try HTTPCache(.init(memoryCapacity: 1 << 20)))
    await #expect(throws: ProxyConfiguration.ValidationError.self) { try await proxy.run() }
    #expect(await proxy.endpoints() == nil)
  }
}
