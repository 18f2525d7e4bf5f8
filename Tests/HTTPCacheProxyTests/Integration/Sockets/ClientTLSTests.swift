// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Foundation
import HTTPCacheProxy
import HTTPCaching
import Logging
import Loopback
import NIOCore
import NIOSSL
import TestSupport
import Testing
import TransportSecurity

@Suite(
  "TLS with clients",
  .enabled("needs the command openssl, to make certificates") { await Certificate.canBeMade() },
  .timeLimit(.minutes(10)))
struct ClientTLSTests {
  private static let stored = "Cache-Control: max-age=3600\r\n"
  private static let get = "GET /a HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n"

  /// A client of the proxy that accepts any certificate.
  private static func client(
    _ proxy: ProxyFixture, name: String? = nil, after bytes: String = "",
    _ configure: (inout TLSConfiguration) throws -> Void = { _ in }
  ) async throws -> RawClient {
    var configuration = TLSConfiguration.makeClientConfiguration()
    configuration.certificateVerification = .none
    try configure(&configuration)
    return try await RawClient.connect(
      to: proxy.port, encryption: NIOSSLContext(configuration: configuration), name: name, after: bytes)
  }

  /// Runs a proxy whose clients use TLS.
  private static func run(
    _ certificates: [Certificate.Name] = [.loopback],
    _ configure: @escaping (inout ProxyConfiguration) -> Void = { _ in },
    origin: @escaping RawOrigin.Answering = { _, connection in
      try await connection.send(ok("hello", stored))
      return true
    }, _ body: (ProxyFixture, [Certificate]) async throws -> Void
  ) async throws {
    try await withTemporaryFolder { folder in
      var made: [Certificate] = []
      for name in certificates { made.append(try await Certificate.shared(in: folder, for: name)) }
      try await ProxyFixture.run(
        {
          $0.tls = ProxyConfiguration.TLS(made.map { .init(file: $0.file.path, keyFile: $0.key.path) })
          $0.admin = ProxyConfiguration.Endpoint(host: "127.0.0.1", port: 0)
          configure(&$0)
        }, origin: origin
      ) { try await body($0, made) }
    }
  }

  private static func figure(_ proxy: ProxyFixture, _ sample: String) async throws -> Int? {
    let page = try await RawClient.connect(to: proxy.adminPort).exchange(
      "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
    return page.split(separator: "\n").first { $0.hasPrefix(sample + " ") }.flatMap {
      Int($0.dropFirst(sample.utf8.count + 1))
    }
  }

  private static func handshakes(_ result: String) -> String {
    "httpcache_tls_handshakes_total{result=\"\(result)\"}"
  }

  @Test(
    "The handshake chooses the version of HTTP, and the admin port has one",
    arguments: ProxyConfiguration.HTTP2.allCases, [["h2", "http/1.1"], ["h2"], ["http/1.1"], []])
  func protocols(allowed: ProxyConfiguration.HTTP2, offered: [String]) async throws {
    try await Self.run(
      [.loopback],
      {
        $0.http2 = allowed
        $0.adminUsesTLS = true
      }
    ) { (proxy: ProxyFixture, _: [Certificate]) async throws in
      var tls = ClientTLS()
      tls.verification = .none
      tls.protocols = offered
      if allowed != .never, offered.first == "h2" {
        let client = try await HTTP2Client.connect(port: proxy.port, encryption: ClientContext(tls))
        let answer = try await client.send(
          HTTP2Client.request("/a", scheme: "https", [("x-one", "1")]))
        #expect(answer.status == 200 && answer.body == Array("hello".utf8))
        // TLS is there: the scheme must be that of it.
        #expect(try await client.send(HTTP2Client.request("/a", scheme: "http")).status == 421)
        #expect(try #require(proxy.origin.requests.first).contains("X-Forwarded-Proto: https\r\n"))
        await client.close()
      } else if offered != ["h2"] {
        let client = try await Self.client(proxy) { $0.applicationProtocols = offered }
        expect(try await client.exchange(Self.get), endsWith: "\r\n\r\nhello")
      }
      var configuration = TLSConfiguration.makeClientConfiguration()
      configuration.certificateVerification = .none
      configuration.applicationProtocols = offered
      let admin = try await RawClient.connect(
        to: proxy.adminPort, encryption: NIOSSLContext(configuration: configuration))
      expect(
        try await admin.exchange("GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"),
        startsWith: "HTTP/1.1 200 ")
    }
  }

  // MARK: - Handshakes

  @Test(
    "A client gets the certificate with the name that it asks for, and else the first one",
    arguments: [
      (nil, 0), ("other.example", 1), ("OTHER.example", 1), ("none.example", 0),
      ("www.wild.example", 2), ("wild.example", 0), ("a.b.wild.example", 0),
    ] as [(String?, Int)])
  func names(name: String?, index: Int) async throws {
    try await Self.run([.loopback, .other, .wildcard]) {
      (proxy: ProxyFixture, certificates: [Certificate]) async throws in
      let client = try await Self.client(proxy, name: name)
      let presented = try await client.peerCertificate()
      #expect(try presented == NIOSSLCertificate.fromPEMFile(certificates[index].file.path)[0])
      let request = Self.get.replacing("a.example", with: name ?? "a.example")
      expect(try await client.exchange(request), endsWith: "\r\n\r\nhello")
    }
  }

  /// What a client asks for, and what a request of it is for.
  struct Direction: Sendable, CustomTestStringConvertible {
    var name: String?
    var host: String
    var isServed: Bool
    var testDescription: String { "\(name ?? "no name"), then \(host)" }

    init(_ name: String?, _ host: String, _ isServed: Bool) {
      (self.name, self.host, self.isServed) = (name, host, isServed)
    }
  }

  static let directions = [
    // Without a name, as of a health check or a proxy, the certificate says nothing about the client's intent.
    Direction(nil, "a.example", true), Direction(nil, "other.example", true),
    Direction("other.example", "other.example", true), Direction("other.example", "OTHER.example:8443", true),
    Direction("other.example", "other.example.", true), Direction("OTHER.example", "other.example", true),
    Direction("other.example", "one.example", false), Direction("other.example", "www.wild.example", false),
    Direction("other.example", "none.example", false), Direction("other.example", "127.0.0.1", false),
    Direction("other.example", "[::1]:443", false), Direction("other.example", "www.other.example", false),
    // One connection for all names of its certificate, as browsers use it.
    Direction("one.example", "two.example", true), Direction("two.example", "one.example:443", true),
    Direction("www.wild.example", "api.wild.example", true),
    Direction("www.wild.example", "wild.example", false),
    Direction("www.wild.example", "a.b.wild.example", false),
    // The client has accepted the first certificate for this name, and for no other.
    Direction("none.example", "none.example", true), Direction("none.example", "a.example", false),
  ]

  @Test(
    "A request for a host that the certificate of its connection is not for gets 421 (RFC 9110 §7.4)",
    arguments: directions, [false, true])
  func misdirected(_ direction: Direction, isHTTP2: Bool) async throws {
    try await Self.run([.loopback, .other, .wildcard, .pair]) {
      (proxy: ProxyFixture, _: [Certificate]) async throws in
      if isHTTP2 {
        var tls = ClientTLS()
        (tls.verification, tls.protocols, tls.serverName) = (.none, ["h2"], direction.name)
        let client = try await HTTP2Client.connect(port: proxy.port, encryption: ClientContext(tls))
        let own = direction.name ?? "a.example"
        // The connection serves requests before and after.
        for (host, isServed) in [(own, true), (direction.host, direction.isServed), (own, true)] {
          let answer = try await client.send(HTTP2Client.request("/a", scheme: "https", authority: host))
          #expect(answer.status == (isServed ? 200 : 421))
        }
        await client.close()
      } else {
        for request in [
          "/a HTTP/1.1\r\nHost: HOST", "/a HTTP/1.0\r\nHost: HOST", "https://HOST/a HTTP/1.1\r\nHost: x",
        ] {
          let text = "GET \(request.replacing("HOST", with: direction.host))\r\nConnection: close\r\n\r\n"
          let answer = try await Self.client(proxy, name: direction.name).exchange(text)
          expect(answer, startsWith: direction.isServed ? "HTTP/1.1 200 " : "HTTP/1.1 421 ")
          #expect(direction.isServed == answer.hasSuffix("\r\n\r\nhello"))
        }
        // Without a host, it is for none.
        let text = "GET / HTTP/1.0\r\n\r\n"
        expect(
          try await Self.client(proxy, name: direction.name).exchange(text), startsWith: "HTTP/1.1 200 ")
      }
      let names = Set(
        proxy.origin.requests.compactMap { $0.split(separator: "\r\n").first { $0.hasPrefix("Host: ") } })
      #expect(direction.isServed || !names.contains("Host: \(direction.host)"))
    }
  }

  @Test(
    "A trusted proxy may send requests for all hosts on one connection (RFC 9110 §7.4)",
    arguments: [false, true])
  func trustedGateway(isBehindBalancer: Bool) async throws {
    let trusted = try ProxyConfiguration.AddressRange(parsing: "127.0.0.1")
    try await Self.run(
      [.other],
      {
        $0.trustedPeers = [trusted]
        $0.expectsProxyHeader = isBehindBalancer
      }
    ) { (proxy: ProxyFixture, _: [Certificate]) async throws in
      // A balancer of TCP is trusted, but not the client behind it.
      let header = isBehindBalancer ? "PROXY TCP4 198.51.100.1 10.0.0.1 4711 443\r\n" : ""
      let client = try await Self.client(proxy, name: "other.example", after: header)
      expect(
        try await client.exchange(Self.get), startsWith: isBehindBalancer ? "HTTP/1.1 421 " : "HTTP/1.1 200 ")
    }
  }

  @Test(
    "A session is resumed for its name only (RFC 6066 §3)",
    arguments: [
      ("one.example", "one.example", true), ("one.example", "two.example", false),
      ("one.example", "other.example", false), ("one.example", nil, false), (nil, "one.example", false),
      ("one.example", "none.example", false), (nil, nil, true), ("other.example", "one.example", false),
      ("www.wild.example", "www.wild.example", true), ("www.wild.example", "other.example", false),
    ] as [(String?, String?, Bool)])
  func sessions(first: String?, second: String?, isResumed: Bool) async throws {
    try await withTemporaryFolder { folder in
      let session = folder.appendingPathComponent("session").path
      try await Self.run([.loopback, .other, .wildcard, .pair]) {
        (proxy: ProxyFixture, _: [Certificate]) async throws in
        for (option, name, isNew) in [("-sess_out", first, true), ("-sess_in", second, !isResumed)] {
          let client = try await Command(
            words: ["openssl", "s_client", "-connect", "127.0.0.1:\(proxy.port)", "-tls1_2", option, session]
              + (name.map { ["-servername", $0] } ?? ["-noservername"])
          ).run()
          #expect(client.output.contains(isNew ? "New, TLSv1.2" : "Reused, TLSv1.2"), "\(client.output)")
        }
      }
    }
  }

  @Test("A client that sends its first message in pieces gets the certificate that it asks for")
  func pieces() async throws {
    try await Self.run([.loopback, .other]) { (proxy: ProxyFixture, _: [Certificate]) async throws in
      let hello = ClientHelloTests.message(name: "other.example")
      for size in [1, 7, 100] {
        let records = ClientHelloTests.records(hello, of: size)
        try await RawClient.connect(to: proxy.port).talk { (conversation: inout Conversation) async throws in
          try await conversation.send(bytes: records)
          // TLS 1.2 does not encrypt the certificate.
          let answer = await conversation.read(until: "other.example")
          #expect(answer.contains("other.example"))
        }
      }
    }
  }

  @Test(
    "TLS 1.2 and 1.3 are spoken, and nothing before; 1.2 can be refused",
    arguments: [
      (TLSVersion.tlsv11, false, false), (.tlsv12, false, true), (.tlsv13, false, true),
      (.tlsv12, true, false),
      (.tlsv13, true, true),
    ])
  func versions(version: TLSVersion, requires13: Bool, isAccepted: Bool) async throws {
    try await Self.run([.loopback], { $0.tls?.requiresTLS13 = requires13 }) {
      (proxy: ProxyFixture, _: [Certificate]) async throws in
      let client = try await Self.client(proxy) {
        $0.minimumTLSVersion = .tlsv1
        $0.maximumTLSVersion = version
      }
      let answer = try? await client.exchange(Self.get)
      #expect((answer?.hasSuffix("hello") == true) == isAccepted)
      #expect(try await Self.figure(proxy, Self.handshakes("done")) == (isAccepted ? 1 : 0))
      #expect(try await Self.figure(proxy, Self.handshakes("negotiation")) == (isAccepted ? 0 : 1))
    }
  }

  @Test("A client that does not trust the certificate is counted")
  func untrusted() async throws {
    try await Self.run { (proxy: ProxyFixture, _: [Certificate]) async throws in
      let client = try await Self.client(proxy) {
        $0.certificateVerification = .fullVerification
        $0.maximumTLSVersion = .tlsv12
      }
      #expect((try? await client.exchange(Self.get)) != "hello")
      try await eventually { try await Self.figure(proxy, Self.handshakes("alert")) == 1 }
    }
  }

  @Test(
    "Clients must have a certificate if issuers are set, also when they resume a session",
    arguments: [true, false])
  func clientCertificates(isGiven: Bool) async throws {
    try await withTemporaryFolder { folder in
      let own = try await Certificate.shared(in: folder, for: .other)
      try await Self.run([.loopback], { $0.tls?.clientIssuersFile = own.file.path }) {
        (proxy: ProxyFixture, _: [Certificate]) async throws in
        for _ in 1...2 {
          let client = try await Self.client(proxy) {
            guard isGiven else { return }
            $0.certificateChain = try NIOSSLCertificate.fromPEMFile(own.file.path).map { .certificate($0) }
            $0.privateKey = .privateKey(try NIOSSLPrivateKey(file: own.key.path, format: .pem))
          }
          let answer = try? await client.exchange(Self.get)
          #expect((answer?.hasSuffix("hello") == true) == isGiven)
        }
      }
    }
  }

  @Test("A session is resumed with a ticket, also with a client certificate", arguments: [true, false])
  func tickets(hasCertificate: Bool) async throws {
    try await withTemporaryFolder { folder in
      let own = try await Certificate.shared(in: folder, for: .other)
      let session = folder.appendingPathComponent("session").path
      try await Self.run([.loopback], { if hasCertificate { $0.tls?.clientIssuersFile = own.file.path } }) {
        (proxy: ProxyFixture, _: [Certificate]) async throws in
        for (option, text) in [("-sess_out", "New, TLSv1.2"), ("-sess_in", "Reused, TLSv1.2")] {
          let client = try await Command(words: [
            "openssl", "s_client", "-connect", "127.0.0.1:\(proxy.port)", "-tls1_2", "-cert", own.file.path,
            "-key", own.key.path, option, session,
          ]).run()
          #expect(client.output.contains(text), "\(client.output)")
        }
      }
    }
  }

  /// What a client does instead of a handshake.
  enum Silence: CaseIterable {
    case sendsNothing
    case sendsOneByte
    case sendsHalfOfAHello
  }

  @Test("A handshake has the time of a request's head", arguments: Silence.allCases)
  func timeout(silence: Silence) async throws {
    try await Self.run([.loopback], { $0.timeouts.head = .milliseconds(50) }) {
      (proxy: ProxyFixture, _: [Certificate]) async throws in
      // On a busy machine, the time is over before the bytes have come: that client has sent nothing.
      var (attempts, count) = (0, 0)
      repeat {
        attempts += 1
        try await RawClient.connect(to: proxy.port).talk { (conversation: inout Conversation) async throws in
          switch silence {
          case .sendsNothing: break
          case .sendsOneByte: try await conversation.send(bytes: [22])
          case .sendsHalfOfAHello: try await conversation.send(bytes: [22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3])
          }
          _ = await conversation.readAll()
        }
        count = try #require(try await Self.figure(proxy, Self.handshakes("timeout")))
      } while count == 0 && silence != .sendsNothing && attempts < 100
      // Each handshake counts once.
      #expect(silence == .sendsNothing ? count == 0 : (1...attempts).contains(count))
    }
  }

  @Test("Clients that never finish a handshake lose their places to others")
  func places() async throws {
    try await Self.run([.loopback], { $0.limits.connections = 4 }) {
      (proxy: ProxyFixture, _: [Certificate]) async throws in
      try await withThrowingTaskGroup { group in
        for number in 0..<8 {
          group.addTask {
            try await RawClient.connect(to: proxy.port).talk {
              (conversation: inout Conversation) async throws in
              if number % 2 == 0 { try await conversation.send(bytes: [22, 3, 1, 2, 0]) }
              _ = await conversation.readAll()
            }
          }
        }
        for _ in 1...4 {
          let client = try await Self.client(proxy)
          expect(try await client.exchange(Self.get), endsWith: "\r\n\r\nhello")
        }
        group.cancelAll()
      }
    }
  }

  @Test("A hundred clients at once have their handshakes and responses")
  func many() async throws {
    try await Self.run { (proxy: ProxyFixture, _: [Certificate]) async throws in
      try await withThrowingTaskGroup { group in
        for _ in 1...100 {
          group.addTask { try await Self.client(proxy).exchange(Self.get).hasSuffix("hello") }
        }
        for try await isRight in group { #expect(isRight) }
      }
      #expect(try await Self.figure(proxy, Self.handshakes("done")) == 100)
    }
  }

  @Test("A proxy that stops does not wait for handshakes")
  func stopping() async throws {
    try await Self.run { (proxy: ProxyFixture, _: [Certificate]) async throws in
      try await RawClient.connect(to: proxy.port).talk { (conversation: inout Conversation) async throws in
        try await conversation.send(bytes: [22, 3, 1, 2, 0])
        try await eventually { try await Self.figure(proxy, "httpcache_connections") == 1 }
        proxy.proxy.stop()
        _ = await conversation.readAll()
      }
    }
  }

  // MARK: - Messages

  @Test("The origin learns that the client uses https, and the access log has the version")
  func scheme() async throws {
    let file = try LogFile()
    try await Self.run(
      [.loopback],
      {
        $0.accessLog = ProxyConfiguration.AccessLogOptions(.file(file.path), format: .json)
      }
    ) { (proxy: ProxyFixture, _: [Certificate]) async throws in
      for outcome in ["fwd=uri-miss", "test; hit"] {
        #expect(try await Self.client(proxy).exchange(Self.get).contains(outcome))
      }
      #expect(proxy.origin.requests.count == 1)
      #expect(proxy.origin.requests.first?.contains("\r\nX-Forwarded-Proto: https\r\n") == true)
    }
    #expect(try file.objects.map { $0["tls"] } == ["1.3", "1.3"])
  }

  @Test("Responses of every framing and size arrive whole, from the origin and from memory")
  func framings() async throws {
    let large = String(repeating: "0123456789abcdef", count: 1 << 16)
    try await Self.run(origin: { request, connection in
      switch request.split(separator: " ")[1] {
      case "/small": try await connection.send(ok("small", Self.stored))
      case "/large": try await connection.send(ok(large, Self.stored))
      case "/chunked":
        try await connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\(Self.stored)\r\n")
        try await connection.send("\(String(large.utf8.count, radix: 16))\r\n\(large)\r\n0\r\n\r\n")
      default:
        try await connection.send("HTTP/1.1 200 OK\r\n\(Self.stored)\r\n\(large)")
        return false
      }
      return true
    }) { (proxy: ProxyFixture, _: [Certificate]) async throws in
      for path in ["/small", "/large", "/chunked", "/close"] {
        let text = path == "/small" ? "small" : large
        for _ in 1...2 {
          // HTTP/1.0, so that the content has no chunks.
          let answer = try await Self.client(proxy).exchange("GET \(path) HTTP/1.0\r\nHost: a\r\n\r\n")
          #expect(answer.hasSuffix("\r\n\r\n" + text))
        }
        let head = try await Self.client(proxy).exchange(
          "HEAD \(path) HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        expect(head, startsWith: "HTTP/1.1 200 ")
        expect(head, endsWith: "\r\n\r\n")
      }
      #expect(proxy.origin.requests.count == 4)
    }
  }

  @Test("Many requests share a connection, also if they arrive together")
  func pipelined() async throws {
    try await Self.run { (proxy: ProxyFixture, _: [Certificate]) async throws in
      let request = "GET /a HTTP/1.1\r\nHost: a\r\n\r\n"
      let answer = try await Self.client(proxy).exchange(
        String(repeating: request, count: 50) + Self.get.replacing("a.example", with: "a"))
      #expect(answer.ranges(of: "\r\n\r\nhello").count == 51)
      #expect(try await Self.figure(proxy, Self.handshakes("done")) == 1)
    }
  }

  @Test("Content of a request reaches the origin", arguments: [5, 300_000])
  func upload(count: Int) async throws {
    try await Self.run(origin: { _, connection in
      let text = await connection.read(until: "end")
      try await connection.send(ok("\(text.utf8.count { $0 == UInt8(ascii: "x") })"))
      return false
    }) { (proxy: ProxyFixture, _: [Certificate]) async throws in
      let content = String(repeating: "x", count: count) + "end"
      let answer = try await Self.client(proxy).exchange(
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(content.utf8.count)\r\nConnection: close\r\n\r\n\(content)"
      )
      expect(answer, endsWith: "\r\n\r\n\(count)")
    }
  }

  @Test("A client without chunks sees that a response is incomplete")
  func incomplete() async throws {
    try await Self.run(origin: { _, connection in
      try await connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n")
      return false
    }) { (proxy: ProxyFixture, _: [Certificate]) async throws in
      try await Self.client(proxy).talk { (conversation: inout Conversation) async throws in
        try await conversation.send("GET / HTTP/1.0\r\nHost: a\r\n\r\n")
        await conversation.read(until: "half")
        // Without an error, the end of the connection would be that of the content.
        await #expect(throws: (any Error).self) { while try await conversation.input.next() != nil {} }
      }
    }
  }

  @Test("Bytes pass through an upgraded connection, and each direction ends by itself")
  func upgrade() async throws {
    try await Self.run(origin: EchoProtocol.origin) { (proxy: ProxyFixture, _: [Certificate]) async throws in
      try await EchoProtocol.check(Self.client(proxy))
    }
  }

  // MARK: - Other ports and protocols

  @Test(
    "A request without TLS gets 400, which says so",
    arguments: [
      get, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc",
      "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    ])
  func plainText(request: String) async throws {
    try await Self.run { (proxy: ProxyFixture, _: [Certificate]) async throws in
      let answer = try await RawClient.connect(to: proxy.port).exchange(request, closesHalf: true)
      expect(answer, startsWith: "HTTP/1.1 400 ")
      expect(answer, endsWith: "this port requires TLS; use https.\n")
      #expect(proxy.origin.requests.isEmpty)
    }
  }

  @Test(
    "The port for redirects sends clients to the same target with https",
    arguments: [
      ("GET /a?b=1 HTTP/1.1\r\nHost: a.example\r\n", nil, "https://a.example:PORT/a?b=1"),
      ("POST / HTTP/1.1\r\nHost: a.example:80\r\nContent-Length: 0\r\n", 443, "https://a.example/"),
      ("GET //b HTTP/1.1\r\nHost: [::1]:8080\r\n", 8443, "https://[::1]:8443//b"),
      ("GET http://b.example:81/c HTTP/1.1\r\nHost: a.example\r\n", 443, "https://b.example/c"),
    ] as [(String, Int?, String)])
  func redirect(request: String, port: Int?, location: String) async throws {
    try await Self.run(
      [.loopback],
      {
        $0.redirect = ProxyConfiguration.Endpoint(host: "127.0.0.1", port: 0)
        $0.redirectPort = port
      }
    ) { (proxy: ProxyFixture, _: [Certificate]) async throws in
      proxy.proxy.cache.cacheRules = try CacheRules([
        CacheRule { $0.setResponseFields = [.init("X-Rule", "1")] }
      ])
      let answer = try await RawClient.connect(to: proxy.redirectPort).exchange(
        request + "Connection: close\r\n\r\n")
      expect(answer, startsWith: "HTTP/1.1 308 Permanent Redirect\r\n")
      #expect(answer.contains("\r\nX-Rule: 1\r\n"))
      let expected = location.replacing("PORT", with: "\(proxy.port)")
      #expect(answer.contains("\r\nLocation: \(expected)\r\n"), "\(answer)")
      #expect(proxy.origin.requests.isEmpty)
    }
  }

  @Test("The PROXY header comes before the handshake, and names the client")
  func proxyHeader() async throws {
    let trusted = try ProxyConfiguration.AddressRange(parsing: "127.0.0.1")
    try await Self.run(
      [.loopback],
      {
        $0.expectsProxyHeader = true
        $0.trustedPeers = [trusted]
      }
    ) { (proxy: ProxyFixture, _: [Certificate]) async throws in
      let client = try await Self.client(proxy, after: "PROXY TCP4 198.51.100.1 10.0.0.1 4711 443\r\n")
      expect(try await client.exchange(Self.get), endsWith: "\r\n\r\nhello")
      #expect(proxy.origin.requests.first?.contains("\r\nX-Forwarded-For: 198.51.100.1\r\n") == true)
      let without = try await Self.client(proxy)
      #expect((try? await without.exchange(Self.get)) ?? "" == "")
    }
  }

  @Test("The admin port may have TLS")
  func admin() async throws {
    try await Self.run([.loopback], { $0.adminUsesTLS = true }) {
      (proxy: ProxyFixture, certificates: [Certificate]) async throws in
      var configuration = TLSConfiguration.makeClientConfiguration()
      configuration.trustRoots = .file(certificates[0].file.path)
      let client = try await RawClient.connect(
        to: proxy.adminPort, encryption: NIOSSLContext(configuration: configuration))
      let answer = try await client.exchange(
        "GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
      expect(answer, startsWith: "HTTP/1.1 200 ")
    }
  }

  // MARK: - While it runs

  @Test("An update presents new certificates to new connections, and open ones go on")
  func update() async throws {
    try await Self.run { (proxy: ProxyFixture, certificates: [Certificate]) async throws in
      let other = try await Certificate.shared(
        in: certificates[0].file.deletingLastPathComponent(), for: .other)
      try await Self.client(proxy).talk { (conversation: inout Conversation) async throws in
        try await conversation.send("GET /a HTTP/1.1\r\nHost: a\r\n\r\n")
        await conversation.read(until: "hello")
        for (new, old) in [(other.file, certificates[0].file), (other.key, certificates[0].key)] {
          try Data(contentsOf: new).write(to: old)
        }
        try proxy.proxy.update(proxy.proxy.configuration)
        try await conversation.send("GET /a HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(await conversation.read(until: "hello", times: 2).ranges(of: "hello").count == 2)
      }
      let client = try await Self.client(proxy)
      let presented = try await client.peerCertificate()
      expect(try await client.exchange(Self.get), endsWith: "\r\n\r\nhello")
      #expect(try presented == NIOSSLCertificate.fromPEMFile(other.file.path)[0])
      try Data("nonsense".utf8).write(to: certificates[0].key)
      #expect(throws: ProxyConfiguration.ValidationError.self) {
        try proxy.proxy.update(proxy.proxy.configuration)
      }
      expect(try await Self.client(proxy).exchange(Self.get), endsWith: "\r\n\r\nhello")
    }
  }

  @Test("Settings that need TLS are refused without it", arguments: ["redirect", "admin"])
  func refused(setting: String) throws {
    let address = ProxyConfiguration.Address(host: "127.0.0.1", port: 0)
    var configuration = ProxyConfiguration(listen: address, origin: address)
    if setting == "admin" {
      configuration.adminUsesTLS = true
    } else {
      configuration.redirect = .address(address)
    }
    #expect(throws: ProxyConfiguration.ValidationError.self) { try configuration.validate() }
  }
}
