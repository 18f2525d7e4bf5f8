// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Foundation
import HTTPCacheProxy
import HTTPCaching
import HTTPTypes
import InMemoryLogging
import Logging
import Loopback
import NIOCore
import NIOHPACK
import NIOHTTP2
import TestSupport
import Testing

@Suite("HTTP/2 to the origin (RFC 9113)", .timeLimit(.minutes(10)))
struct OriginHTTP2Tests {
  // MARK: - Responses

  /// A response, and what a client of HTTP/1.1 gets.
  struct Answer: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var method = "GET"
    var heads: [[(String, String)]] = []
    var head: [(String, String)] = [(":status", "200")]
    var pieces: [[UInt8]] = []
    /// Whether an empty frame ends the stream, and not the last piece.
    var endsLater = false
    var trailers: [(String, String)]?
    var expected: [String]
    /// The seconds for which a stored response is fresh: a second may pass until the client has it.
    var lifetime: ClosedRange<Int>?
    var content: [UInt8]?
  }

  private static func bytes(_ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
  }

  static let answers: [Answer] =
    [0, 1, 1000, 65_536, 65_537, 300_000].flatMap { count in
      [true, false].flatMap { hasLength in
        [1 << 14, 100].filter { count / $0 < 4000 }.map { size in
          let content = bytes(count)
          let pieces = stride(from: 0, to: count, by: size).map { Array(content[$0..<min(count, $0 + size)]) }
          return Answer(
            testDescription: "\(count) bytes\(hasLength ? " with their length" : ""), in pieces of \(size)",
            head: [(":status", "200")] + (hasLength ? [("content-length", "\(count)")] : []),
            pieces: pieces, endsLater: size == 100, expected: ["HTTP/1.1 200 OK\r\n"], content: content)
        }
      }
    } + [
      Answer(
        testDescription: "trailers", pieces: [bytes(10)], trailers: [("x-sum", "1")],
        expected: ["X-Sum: 1\r\n", "\r\n0\r\n"]),
      Answer(
        testDescription: "an interim response", heads: [[(":status", "103"), ("link", "</a>")]],
        expected: ["HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", "HTTP/1.1 200 OK\r\n"]),
      Answer(
        testDescription: "100 without a question", heads: [[(":status", "100")]],
        expected: ["HTTP/1.1 200 OK\r\n"]),
      Answer(
        testDescription: "HEAD", method: "HEAD", head: [(":status", "200"), ("content-length", "5")],
        expected: ["Content-Length: 5\r\n"], content: []),
      Answer(
        testDescription: "204", head: [(":status", "204")], expected: ["HTTP/1.1 204 No Content\r\n"],
        content: []),
      Answer(
        testDescription: "204 with a length",
        head: [(":status", "204"), ("content-length", "2"), ("cache-control", "max-age=3600")],
        endsLater: true, expected: ["HTTP/1.1 204 No Content\r\n", "; fwd-status=204; ttl="],
        lifetime: 3540...3600,
        content: []),
      Answer(
        testDescription: "404", head: [(":status", "404")], pieces: [[0x61]],
        expected: ["HTTP/1.1 404 Not Found\r\n"]),
      Answer(
        testDescription: "an unknown status", head: [(":status", "299")], expected: ["HTTP/1.1 299 \r\n"]),
      Answer(
        testDescription: "repeated fields",
        head: [(":status", "200"), ("set-cookie", "a=1"), ("set-cookie", "b=2")],
        expected: ["set-cookie: a=1\r\n", "set-cookie: b=2\r\n"]),
      Answer(
        testDescription: "white space around a value", head: [(":status", "200"), ("x-a", " b\t")],
        expected: ["x-a: b\r\n"]),
    ]

  @Test("Responses reach clients of HTTP/1.1 whole, whatever their frames", arguments: answers)
  func response(_ response: Answer) async throws {
    try await OriginFixture.run { stream in
      for head in response.heads { try await stream.send(head) }
      let (pieces, trailers) = (response.pieces, response.trailers)
      let endsLater = response.endsLater || trailers != nil
      try await stream.send(response.head, endsStream: pieces.isEmpty && !endsLater)
      for (index, piece) in pieces.enumerated() {
        try await stream.send(piece, endsStream: index == pieces.count - 1 && !endsLater)
      }
      if let trailers {
        try await stream.send(trailers, endsStream: true)
      } else if endsLater {
        try await stream.send([] as [UInt8], endsStream: true)
      }
    } _: { (fixture: OriginFixture) in
      let received = try await RawClient.connect(to: fixture.proxy.port).talk { conversation in
        try await conversation.send(
          "\(response.method) / HTTP/1.1\r\nHost: a.example\r\nTE: trailers\r\nConnection: close\r\n\r\n")
        var bytes: [UInt8] = []
        while let buffer = try await conversation.input.next() { bytes += Array(buffer: buffer) }
        return bytes
      }
      let text = String(decoding: received, as: UTF8.self)
      for expected in response.expected {
        #expect(text.lowercased().contains(expected.lowercased()), "\(text.prefix(600))")
      }
      if let lifetime = response.lifetime {
        let stored = try #require(text.firstMatch(of: /; ttl=([0-9]+); stored;/), "\(text.prefix(600))")
        #expect(lifetime.contains(try #require(Int(stored.1))))
      }
      guard let content = response.content, let end = received.firstRange(of: Array("\r\n\r\n".utf8)) else {
        return
      }
      let body = Array(received[end.upperBound...])
      #expect(
        try text.contains("Transfer-Encoding: chunked") ? Self.unchunked(body) == content : body == content)
    }
  }

  private static func unchunked(_ bytes: [UInt8]) throws -> [UInt8] {
    var (rest, content) = (bytes[...], [UInt8]())
    while let end = rest.firstRange(of: Array("\r\n".utf8)) {
      let count = try #require(Int(String(decoding: rest[..<end.lowerBound], as: UTF8.self), radix: 16))
      content += rest[end.upperBound...].prefix(count)
      rest = rest[end.upperBound...].dropFirst(count + 2)
    }
    return content
  }

  /// Frames that are not a response.
  struct Malformed: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var send: @Sendable (OriginSide) async throws -> Void
    var start = "HTTP/1.1 502 Bad Gateway"
    var reason: String
  }

  private static let ok = [(":status", "200")]

  static let failures: [Malformed] =
    [
      ("no :status", [("x-a", "1")], ":status is missing"),
      ("two of :status", [(":status", "200"), (":status", "200")], "a pseudo-field is not :status"),
      ("a late :status", [("x-a", "1"), (":status", "200")], "a pseudo-field is not :status"),
      ("a pseudo-field of requests", ok + [(":path", "/")], "a pseudo-field is not :status"),
      ("a status with a letter", [(":status", "2x0")], ":status is not a status code"),
      ("a status of four digits", [(":status", "1200")], ":status is not a status code"),
      ("a status below 100", [(":status", "099")], ":status is not a status code"),
      ("101", [(":status", "101"), ("upgrade", "x")], "upgrade is a field of HTTP/1.1"),
      ("101 alone", [(":status", "101")], "switches protocols"),
      ("Connection", ok + [("connection", "close")], "connection is a field of HTTP/1.1"),
      (
        "Transfer-Encoding", ok + [("transfer-encoding", "chunked")],
        "transfer-encoding is a field of HTTP/1.1"
      ),
      ("Keep-Alive", ok + [("keep-alive", "timeout=3")], "keep-alive is a field of HTTP/1.1"),
      ("an upper-case name", ok + [("X-A", "1")], "uppercase letter"),
      ("a name with a space", ok + [("x a", "1")], "not a token"),
      ("CR and LF in a value", ok + [("x-a", "1\r\nX-B: 2")], "characters that are invalid"),
      ("NUL in a value", ok + [("x-a", "1\u{0}2")], "characters that are invalid"),
      (
        "two lengths", ok + [("content-length", "1"), ("content-length", "1")], "more than one Content-Length"
      ),
      ("a length with a sign", ok + [("content-length", "+1")], "not a length"),
    ].map { name, fields, reason in
      Malformed(testDescription: name, send: { try await $0.send(fields, endsStream: true) }, reason: reason)
    } + [
      Malformed(
        testDescription: "content shorter than its length",
        send: {
          try await $0.send(ok + [("content-length", "3")])
          try await $0.send([1], endsStream: true)
        }, start: "HTTP/1.1 200", reason: "shorter than Content-Length"),
      Malformed(
        testDescription: "no content where a length is",
        send: { try await $0.send(ok + [("content-length", "3")], endsStream: true) },
        reason: "shorter than Content-Length"),
      Malformed(
        testDescription: "content longer than its length",
        send: { try await $0.send(ok + [("content-length", "1")], content: [1, 2]) },
        reason: "longer than Content-Length"),
      Malformed(
        testDescription: "content of a status that has none",
        send: { try await $0.send([(":status", "204"), ("content-length", "2")], content: [1, 2]) },
        reason: "longer than Content-Length"),
      Malformed(
        testDescription: "many interim responses",
        send: {
          for _ in 0..<100 { try await $0.send([(":status", "102")]) }
          try await $0.send(ok, endsStream: true)
        }, start: "HTTP/1.1 102", reason: "too many interim responses"),
      Malformed(
        testDescription: "trailers that do not end the stream",
        send: {
          try await $0.send(ok)
          try await $0.send([("x-a", "1")])
        }, start: "HTTP/1.1", reason: "stream"),
      Malformed(
        testDescription: "an early end", send: { try await $0.reset(.internalError) },
        reason: "reset the stream"),
      Malformed(
        testDescription: "a wish for HTTP/1.1", send: { try await $0.reset(.http11Required) },
        reason: "requires HTTP/1.1"),
    ]

  @Test("A malformed response is a failure, and the connection serves other requests", arguments: failures)
  func malformed(_ malformed: Malformed) async throws {
    var log = InMemoryLogHandler()
    log.logLevel = .debug
    let logger = Logger(label: "test") { [log] _ in log }
    try await OriginFixture.run(logger: logger) { stream in
      if stream.path == "/good" { return try await stream.answer("good") }
      try await malformed.send(stream)
    } _: { (fixture: OriginFixture) in
      expect(try await fixture.get("/good"), endsWith: "good")
      let bad = try await fixture.get("/bad")
      expect(bad, startsWith: malformed.start)
      #expect(!bad.contains("HTTP/1.1 200 OK") || !Self.isWhole(bad), "\(bad)")
      let messages = log.entries.map { "\($0.message) \($0.metadata)" }
      #expect(messages.contains { $0.contains(malformed.reason) }, "\(messages)")
      expect(try await fixture.get("/good"), endsWith: "good")
      #expect(fixture.connections.all.count == 1)
    }
  }

  /// Whether the content that came is as long as the head says.
  private static func isWhole(_ text: String) -> Bool {
    let parts = text.split(separator: "\r\n\r\n", maxSplits: 1, omittingEmptySubsequences: false)
    return parts[0].contains("Content-Length: \(parts.last?.utf8.count ?? 0)\r\n")
  }

  // MARK: - Requests

  /// A request of a client, and what the origin gets.
  struct Question: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var text: String
    var expected: [(String, String?)]
    var content = ""
  }

  static let questions = [
    Question(
      testDescription: "GET", text: "GET /a?b=c%20d HTTP/1.1\r\nHost: a.example:81\r\nUser-Agent: x\r\n\r\n",
      expected: [
        (":method", "GET"), (":path", "/a?b=c%20d"), (":scheme", "http"), (":authority", "a.example:81"),
        ("host", nil), ("user-agent", "x"), ("via", "1.1 NAME"), ("content-length", nil),
      ]),
    Question(
      testDescription: "fields of the client's connection",
      text:
        "GET / HTTP/1.1\r\nHost: a.example\r\nConnection: keep-alive, X-Hop\r\nX-Hop: 1\r\n"
        + "Keep-Alive: x\r\nTE: trailers, deflate\r\nProxy-Authorization: x\r\nX-Kept: a\r\n\r\n",
      expected: [
        ("connection", nil), ("keep-alive", nil), ("x-hop", nil), ("te", "trailers"),
        ("proxy-authorization", nil),
        ("x-kept", "a"),
      ]),
    Question(
      testDescription: "secrets and repeated fields",
      text:
        "GET / HTTP/1.1\r\nHost: a.example\r\nCookie: a=1; b=2\r\nAuthorization: Basic eDp5\r\nX-A: 1\r\nX-A: 2\r\n\r\n",
      expected: [("cookie", "a=1; b=2"), ("authorization", "Basic eDp5"), ("x-a", "1,2")]),
    Question(
      testDescription: "content with its length",
      text: "POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 5\r\n\r\nhello",
      expected: [(":method", "POST"), ("content-length", "5")], content: "hello"),
    Question(
      testDescription: "content in chunks",
      text:
        "PUT / HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\nX-T: 1\r\n\r\n",
      expected: [(":method", "PUT"), ("content-length", nil), ("transfer-encoding", nil)], content: "hello"),
    Question(
      testDescription: "no content where some is usual",
      text: "POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 0\r\n\r\n",
      expected: [("content-length", "0")]),
    Question(
      testDescription: "OPTIONS *", text: "OPTIONS * HTTP/1.1\r\nHost: a.example\r\n\r\n",
      expected: [(":method", "OPTIONS"), (":path", "*")]),
  ]

  @Test("The origin gets requests with the fields of HTTP/2, and their content", arguments: questions)
  func question(_ question: Question) async throws {
    let content = Recorder<String>()
    try await OriginFixture.run { stream in
      content.add(String(decoding: try await stream.content(), as: UTF8.self))
      try await stream.answer("ok", [("cache-control", "no-store")])
    } _: { (fixture: OriginFixture) in
      _ = try await RawClient.connect(to: fixture.proxy.port).talk { conversation in
        try await conversation.send(question.text)
        _ = await conversation.read(until: "ok")
      }
      let request = try #require(fixture.requests.all.first)
      for (name, value) in question.expected {
        let value = value?.replacing("NAME", with: fixture.proxy.proxy.pseudonym)
        let found = request[name]
        #expect(found.isEmpty ? value == nil : found.joined(separator: ",") == value, "\(name): \(found)")
      }
      #expect(content.all == [question.content])
    }
  }

  @Test("Large content passes an origin that takes little at a time", arguments: [true, false])
  func narrow(isChunked: Bool) async throws {
    let content = String(repeating: "0123456789", count: 30_000)
    let received = Recorder<Int>()
    try await OriginFixture.run(settings: [HTTP2Setting(parameter: .initialWindowSize, value: 1000)]) {
      stream in
      received.add(try await stream.content().count)
      try await stream.answer("ok")
    } _: { (fixture: OriginFixture) in
      let framing =
        isChunked
        ? "Transfer-Encoding: chunked\r\n\r\n\(String(content.count, radix: 16))\r\n\(content)\r\n0\r\n\r\n"
        : "Content-Length: \(content.count)\r\n\r\n\(content)"
      let answer = try await fixture.proxy.exchange(
        "POST / HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\(framing)")
      expect(answer, endsWith: "ok")
      #expect(received.all == [content.count])
    }
  }

  // MARK: - Streams and connections

  /// Sends requests at once, each on a connection of its own.
  private static func ask(_ count: Int, _ fixture: OriginFixture, _ path: String = "/") async throws
    -> [String]
  {
    try await withThrowingTaskGroup(of: (Int, String).self) { group in
      for number in 0..<count {
        group.addTask { (number, try await fixture.get("\(path)\(number)")) }
      }
      var answers = Array(repeating: "", count: count)
      for try await (number, answer) in group { answers[number] = answer }
      return answers
    }
  }

  /// How many requests the origin, or the operator, allows at once.
  struct Bounds: Sendable {
    var allowed: Int?
    var places: Int?
    /// Maximum requests at once, and connections.
    var most: Int
    var connections: Int
  }

  @Test(
    "Requests share a connection, within the limits of the origin and of the operator",
    arguments: [
      Bounds(most: 60, connections: 1), Bounds(places: 7, most: 7, connections: 1),
      Bounds(allowed: 20, most: 60, connections: 3), Bounds(allowed: 5, places: 9, most: 9, connections: 2),
      Bounds(allowed: 1, places: 1, most: 1, connections: 1),
    ])
  func sharing(_ bounds: Bounds) async throws {
    let open = Mutex((now: 0, most: 0))
    let (arrived, gate) = (Recorder<Int>(), Gate())
    let settings = bounds.allowed.map { [HTTP2Setting(parameter: .maxConcurrentStreams, value: $0)] } ?? []
    try await OriginFixture.run(
      { $0.origin.limits.connections = bounds.places }, settings: settings
    ) { stream in
      arrived.add(stream.number)
      open.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
      await gate.pass()
      open.withLock { $0.now -= 1 }
      try await stream.answer(stream.path, [("cache-control", "no-store")])
    } _: { (fixture: OriginFixture) in
      async let answers = Self.ask(60, fixture)
      try await arrived.reach(bounds.most)
      let figures = (
        try await fixture.metric("httpcache_origin_connections"),
        try await fixture.metric("httpcache_origin_streams")
      )
      #expect(figures == (bounds.connections, bounds.most))
      gate.open()
      for (number, answer) in try await answers.enumerated() { expect(answer, endsWith: "/\(number)") }
      #expect(open.withLock { $0.most } == bounds.most)
      #expect(fixture.requests.all.count == 60)
      #expect(fixture.connections.all.count == bounds.connections)
    }
  }

  /// How an origin gives up a request.
  enum Refusal: String, CaseIterable, Sendable {
    case refusedStream, goAway, closing

    func give(_ stream: OriginSide) async throws {
      switch self {
      case .refusedStream: try await stream.reset(.refusedStream)
      case .goAway: try await stream.goAway(last: 0)
      case .closing: try await stream.closeConnection()
      }
    }
  }

  /// A request that is given up, and what becomes of it.
  struct GivenUp: Sendable, CustomTestStringConvertible {
    var refusal: Refusal
    var method = "GET"
    /// Number of bytes of its content, and whether they are sent in chunks.
    var content = 0
    var isChunked = false
    /// Whether the connection has served another request before.
    var isReused = true
    /// Number of times that it is given up, and that the origin gets it.
    var refusals = 1
    var sent = 2
    var isAnswered = true

    var testDescription: String {
      "\(refusal), \(method), \(content) bytes\(isChunked ? " in chunks" : ""), reused: \(isReused), \(refusals) times"
    }
  }

  static let givenUp = refused(.refusedStream) + refused(.goAway) + closed

  private static func refused(_ refusal: Refusal) -> [GivenUp] {
    [
      GivenUp(refusal: refusal), GivenUp(refusal: refusal, isReused: false),
      GivenUp(refusal: refusal, method: "POST"), GivenUp(refusal: refusal, method: "POST", isReused: false),
      GivenUp(refusal: refusal, refusals: 2, sent: 3),
      GivenUp(refusal: refusal, refusals: 9, sent: 3, isAnswered: false),
      // The origin has got more than the proxy keeps.
      GivenUp(refusal: refusal, method: "PUT", content: 200_000, sent: 1, isAnswered: false),
    ]
      + [1, 100, 20_000, 65_535].flatMap { content in
        [
          GivenUp(refusal: refusal, method: "POST", content: content),
          GivenUp(refusal: refusal, method: "POST", content: content, isChunked: true, refusals: 2, sent: 3),
        ]
      }
  }

  private static let closed = [
    GivenUp(refusal: .closing), GivenUp(refusal: .closing, refusals: 2, sent: 2, isAnswered: false),
    GivenUp(refusal: .closing, isReused: false, sent: 1, isAnswered: false),
    GivenUp(refusal: .closing, method: "POST", sent: 1, isAnswered: false),
    GivenUp(refusal: .closing, method: "POST", content: 100, sent: 1, isAnswered: false),
    GivenUp(refusal: .closing, method: "PUT", content: 100, isChunked: true, sent: 1, isAnswered: false),
  ]

  @Test("A request that the origin has given up is sent again where that is safe (§8.7)", arguments: givenUp)
  func again(_ given: GivenUp) async throws {
    let refusals = Mutex(0)
    let text = String((0..<given.content).map { Character(UnicodeScalar(UInt8(97 + $0 % 26))) })
    try await OriginFixture.run { stream in
      guard stream.path == "/" else {
        return try await stream.answer("first", [("cache-control", "no-store")])
      }
      // Each attempt has all of the content.
      if given.content > 0 { #expect(try await stream.content() == Array(text.utf8)) }
      if refusals.withLock({
        $0 += 1
        return $0
      }) <= given.refusals {
        return try await given.refusal.give(stream)
      }
      try await stream.answer("done", [("cache-control", "no-store")])
    } _: { (fixture: OriginFixture) in
      if given.isReused { expect(try await fixture.get("/first"), endsWith: "first") }
      let content =
        given.content == 0
        ? "\r\n"
        : given.isChunked
          ? "Transfer-Encoding: chunked\r\n\r\n\(String(text.count, radix: 16))\r\n\(text)\r\n0\r\n\r\n"
          : "Content-Length: \(text.count)\r\n\r\n\(text)"
      let answer = try await fixture.proxy.exchange(
        "\(given.method) / HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\(content)")
      expect(answer, startsWith: given.isAnswered ? "HTTP/1.1 200" : "HTTP/1.1 502")
      #expect(fixture.requests.all.count { $0.first(name: ":path") == "/" } == given.sent)
      // Others are answered.
      expect(try await fixture.get("/other"), endsWith: "first")
    }
  }

  @Test("Content that still arrives when the origin refuses the request reaches the next attempt whole")
  func slowContent() async throws {
    let (arrived, contents) = (Recorder<Int>(), Recorder<String>())
    try await OriginFixture.run { stream in
      guard arrived.all.isEmpty else {
        contents.add(String(decoding: try await stream.content(), as: UTF8.self))
        return try await stream.answer("done", [("cache-control", "no-store")])
      }
      arrived.add(stream.number)
      try await stream.reset(.refusedStream)
    } _: { (fixture: OriginFixture) in
      let answer = try await RawClient.connect(to: fixture.proxy.port).talk { conversation in
        try await conversation.send("POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 6\r\n\r\nabc")
        try await eventually { fixture.requests.all.count == 2 }
        try await conversation.send("def")
        return await conversation.read(until: "done")
      }
      expect(answer, startsWith: "HTTP/1.1 200")
      #expect(contents.all == ["abcdef"])
      #expect(fixture.proxy.proxy.cache.transit.used == 0)
    }
  }

  @Test(
    "From an origin that ends each connection after a few requests, none is lost, and none is processed twice",
    arguments: [1, 7], [0, 100, 1000])
  func shortConnections(requests: Int, content: Int) async throws {
    let processed = Recorder<String>()
    let counts = Mutex<[Int: Int]>([:])
    // The last stream of a connection that the origin processes.
    let last = 2 * requests - 1
    try await OriginFixture.run { stream in
      guard try await stream.id <= last else { return }
      processed.add(stream.path)
      #expect(try await stream.content().count == content)
      let connection = stream.connection
      let count = counts.withLock { counts in
        counts[connection, default: 0] += 1
        return counts[connection]
      }
      if count == requests { try await stream.goAway(last: last) }
      try await stream.answer("done", [("cache-control", "no-store")])
    } _: { (fixture: OriginFixture) in
      try await withThrowingTaskGroup { group in
        for number in 0..<50 {
          group.addTask {
            try await fixture.proxy.exchange(
              "POST /\(number) HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\nContent-Length: \(content)\r\n\r\n"
                + String(repeating: "x", count: content))
          }
        }
        for try await answer in group { expect(answer, startsWith: "HTTP/1.1 200") }
      }
      #expect(processed.all.sorted() == (0..<50).map { "/\($0)" }.sorted())
    }
  }

  @Test("After GOAWAY, requests in flight are answered, and further ones get another connection (§6.8)")
  func goAway() async throws {
    let gate = Gate()
    let arrived = Recorder<Int>()
    try await OriginFixture.run { stream in
      arrived.add(stream.connection)
      if stream.path == "/slow" {
        try await stream.goAway(last: 1 << 20 | 1)
        await gate.pass()
      }
      try await stream.answer("\(stream.connection)", [("cache-control", "no-store")])
    } _: { (fixture: OriginFixture) in
      async let slow = fixture.get("/slow")
      try await arrived.reach(1)
      // The proxy knows of GOAWAY at the latest when a request has come on another connection.
      var other = ""
      while !other.hasSuffix("2") { other = try await fixture.get("/other") }
      gate.open()
      expect(try await slow, endsWith: "1")
      expect(try await fixture.get("/other"), endsWith: "2")
    }
  }

  @Test("A client that leaves ends its stream, and not the connection of the others")
  func leaving() async throws {
    let (arrived, left) = (Recorder<Int>(), Recorder<Int>())
    try await OriginFixture.run { stream in
      arrived.add(stream.number)
      guard stream.path == "/left" else {
        return try await stream.answer("\(stream.connection)", [("cache-control", "no-store")])
      }
      await stream.ended()
      left.add(stream.number)
    } _: { (fixture: OriginFixture) in
      expect(try await fixture.get("/"), endsWith: "1")
      _ = try await RawClient.connect(to: fixture.proxy.port).talk { conversation in
        try await conversation.send("POST /left HTTP/1.1\r\nHost: a.example\r\nContent-Length: 0\r\n\r\n")
        try await arrived.reach(2)
        try await conversation.resetsWhenClosed()
      }
      try await left.reach(1)
      expect(try await fixture.get("/"), endsWith: "1")
      #expect(fixture.connections.all.count == 1)
    }
  }

  /// SwiftNIO ends a connection that resets more than 200 streams in 30 seconds, and so does the origin here.
  @Test("Many clients that leave do not end the requests of others")
  func leavingOften() async throws {
    let (arrived, left, gate) = (Recorder<String>(), Recorder<Int>(), Gate())
    try await OriginFixture.run { stream in
      arrived.add(stream.path)
      if stream.path == "/left" {
        await stream.ended()
        left.add(stream.number)
        return
      }
      if stream.path == "/slow" { await gate.pass() }
      try await stream.answer("\(stream.connection)", [("cache-control", "no-store")])
    } _: { (fixture: OriginFixture) in
      async let slow = fixture.get("/slow")
      try await arrived.reach(1)
      for number in 1...210 {
        _ = try await RawClient.connect(to: fixture.proxy.port).talk { conversation in
          try await conversation.send("POST /left HTTP/1.1\r\nHost: a.example\r\nContent-Length: 0\r\n\r\n")
          try await arrived.reach(1 + number)
          try await conversation.resetsWhenClosed()
        }
        try await left.reach(number)
      }
      expect(try await fixture.get("/other"), endsWith: "3")
      gate.open()
      expect(try await slow, endsWith: "1")
      #expect(fixture.connections.all.count == 3)
    }
  }

  @Test(
    "A response before the end of the request's content reaches the client whole (RFC 9113 §8.1)",
    arguments: [0, 5, 100_000], [true, false])
  func early(size: Int, hasLength: Bool) async throws {
    let content = String(repeating: "x", count: size)
    try await OriginFixture.run { stream in
      let length = hasLength ? [("content-length", "\(size)")] : []
      try await stream.send([(":status", "413")] + length, endsStream: size == 0)
      if size > 0 { try await stream.send(Array(content.utf8), endsStream: true) }
    } _: { (fixture: OriginFixture) in
      try await RawClient.connect(to: fixture.proxy.port).talk { conversation in
        try await conversation.send(
          "POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 1000000\r\n\r\n"
            + String(repeating: "y", count: 100_000))
        let answer = await conversation.read(until: size == 0 ? "\r\n\r\n" : content)
        expect(answer, startsWith: "HTTP/1.1 413")
      }
      // The place of the request is free.
      try await eventually { try await fixture.metric("httpcache_origin_streams") == 0 }
    }
  }

  @Test("A final response right behind an interim one reaches the client, who still sends")
  func earlyAfterInterim() async throws {
    try await OriginFixture.run { stream in
      try await stream.send([(":status", "103")])
      try await stream.send([(":status", "413")], endsStream: true)
      try await stream.reset(.noError)
    } _: { (fixture: OriginFixture) in
      try await RawClient.connect(to: fixture.proxy.port).talk { conversation in
        try await conversation.send(
          "POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 1000000\r\n\r\n"
            + String(repeating: "y", count: 100_000))
        #expect(await conversation.read(until: "HTTP/1.1 413").contains("HTTP/1.1 413"))
      }
    }
  }

  @Test("A head that comes after an interim response does not wait for its content")
  func afterInterim() async throws {
    let gate = Gate()
    try await OriginFixture.run { stream in
      try await stream.send([(":status", "103")])
      try await stream.send([(":status", "200"), ("content-length", "4")])
      await gate.pass()
      try await stream.send(Array("late".utf8), endsStream: true)
    } _: { (fixture: OriginFixture) in
      try await RawClient.connect(to: fixture.proxy.port).talk { conversation in
        try await conversation.send("POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 0\r\n\r\n")
        _ = await conversation.read(until: "HTTP/1.1 200")
        gate.open()
        #expect(await conversation.read(until: "late").hasSuffix("late"))
      }
    }
  }

  @Test("An origin that closes the connection after each response gets all requests")
  func closing() async throws {
    try await OriginFixture.run { stream in
      try await stream.answer(stream.path, [("cache-control", "no-store")])
      try await stream.closeConnection()
    } _: { (fixture: OriginFixture) in
      for number in 0..<50 { expect(try await fixture.get("/\(number)"), endsWith: "/\(number)") }
    }
  }

  @Test("A client that leaves while the connection is being made leaves neither a request nor the connection")
  func leavingEarly() async throws {
    let (began, gate) = (Gate(), Gate())
    let server = try await LoopbackServer.startHTTP2 { channel, ready in
      try channel.syncOptions?.setOption(.autoRead, value: false)
      let bound = NIOLoopBound(ready, eventLoop: channel.eventLoop)
      began.open()
      Task {
        await gate.pass()
        channel.eventLoop.execute {
          try? bound.value()
          try? channel.syncOptions?.setOption(.autoRead, value: true)
          channel.read()
        }
      }
    } serve: { (frames: LoopbackServer.Frames, _: LoopbackServer.FrameWriter, _) in
      for try await _ in frames {}
    }
    try await OriginFixture.run {
      $0.origin.servers = [.init(host: "127.0.0.1", port: server.port)]
      $0.origin.timeouts.idle = .milliseconds(20)
    } origin: { _ in
    } _: { (fixture: OriginFixture) in
      try await RawClient.connect(to: fixture.proxy.port).talk { conversation in
        try await conversation.send("POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 0\r\n\r\n")
        await began.pass()
        try await conversation.resetsWhenClosed()
      }
      try await eventually { try await fixture.metric("httpcache_connections") == 0 }
      gate.open()
      try await eventually { try await fixture.metric("httpcache_origin_connections") == 0 }
    }
    await server.stop()
  }

  @Test("A reader that takes nothing holds back its stream, and no other (§5.2)")
  func slowReader() async throws {
    let sent = Mutex(0)
    let piece = [UInt8](repeating: 0x61, count: 16_384)
    try await OriginFixture.run { stream in
      guard stream.path == "/large" else {
        return try await stream.answer("small", [("cache-control", "no-store")])
      }
      try await stream.send([(":status", "200"), ("cache-control", "no-store")])
      for _ in 0..<4000 {
        try await stream.send(piece)
        sent.withLock { $0 += piece.count }
      }
    } _: { (fixture: OriginFixture) in
      _ = try await RawClient.connect(to: fixture.proxy.port).talk { conversation in
        try await conversation.send("GET /large HTTP/1.1\r\nHost: a.example\r\n\r\n")
        _ = await conversation.read(until: "\r\n\r\n")
        // Meanwhile, many others are answered.
        for _ in 0..<50 { expect(try await fixture.get("/small"), endsWith: "small") }
        // What the sockets on the way to the client, the feed and the window hold, of 64 MB.
        #expect(sent.withLock { $0 } < 32 << 20)
      }
    }
  }

  // MARK: - Time

  @Test("An origin that sends no response is given up in time", arguments: ["head", "content"])
  func silence(_ phase: String) async throws {
    try await OriginFixture.run {
      $0.origin.timeouts.firstByte = .milliseconds(phase == "head" ? 50 : 60_000)
      $0.origin.timeouts.betweenBytes = .milliseconds(phase == "content" ? 50 : 60_000)
    } origin: { stream in
      if phase == "content" { try await stream.send([(":status", "200"), ("content-length", "70000")]) }
    } _: { (fixture: OriginFixture) in
      let answer = try await fixture.get("/")
      expect(answer, startsWith: phase == "content" ? "HTTP/1.1 200" : "HTTP/1.1 504")
    }
  }

  @Test("An origin that accepts a connection, and has no HTTP/2, is given up in time")
  func noSettings() async throws {
    let silent = try await LoopbackServer.start {
      _ in
    } serve: {
      (inbound: NIOAsyncChannelInboundStream<ByteBuffer>, _: NIOAsyncChannelOutboundWriter<ByteBuffer>, _) in
      for try await _ in inbound {}
    }
    try await OriginFixture.run {
      $0.origin.timeouts.connect = .milliseconds(50)
      $0.origin.servers = [.init(host: "127.0.0.1", port: silent.port)]
    } origin: { _ in
    } _: { (fixture: OriginFixture) in
      expect(try await fixture.get("/"), startsWith: "HTTP/1.1 504")
    }
    await silent.stop()
  }

  @Test("An idle connection is closed in time, and the next request has another")
  func idle() async throws {
    try await OriginFixture.run {
      $0.origin.timeouts.idle = .milliseconds(20)
    } origin: { stream in
      try await stream.answer("\(stream.connection)", [("cache-control", "no-store")])
    } _: { (fixture: OriginFixture) in
      expect(try await fixture.get("/"), endsWith: "1")
      try await eventually { try await fixture.metric("httpcache_origin_connections") == 0 }
      expect(try await fixture.get("/"), endsWith: "2")
    }
  }

  // MARK: - The choice of the version

  @Test(
    "With TLS the origin chooses the version, and a web socket gets HTTP/1.1 (RFC 7301)",
    .enabled("needs the command openssl, to make certificates") { await Certificate.canBeMade() },
    arguments: [[.http2, .http1], [.http1], [.http1, .http2]] as [[SecureOrigin.Version]],
    ProxyConfiguration.HTTP2.allCases)
  func choice(_ offered: [SecureOrigin.Version], _ allowed: ProxyConfiguration.HTTP2) async throws {
    try await withTemporaryFolder { folder in
      let certificate = try await Certificate.shared(in: folder)
      try await SecureOrigin.with(certificate, offering: offered) { _ in
        LoopbackOrigin.Response(fields: [.cacheControl: "no-store"], body: "ok")
      } test: { origin in
        let port = try #require(URLComponents(string: try origin.url("/"))?.port)
        try await ProxyFixture.run(
          {
            var tls = ProxyConfiguration.Origin.TLS()
            tls.issuersFile = certificate.file.path
            ($0.origin.tls, $0.origin.http2) = (tls, allowed)
            $0.origin.servers = [.init(host: "127.0.0.1", port: port)]
          }, origin: { _, _ in false }
        ) { proxy in
          expect(try await proxy.get("/"), endsWith: "ok")
          _ = try await proxy.get("/", "Upgrade: websocket\r\nConnection: Upgrade\r\n")
        }
        let expected = offered.first == .http2 && allowed != .never ? SecureOrigin.Version.http2 : .http1
        #expect(origin.versions.first == expected && origin.versions.last == .http1)
      }
    }
  }
}
