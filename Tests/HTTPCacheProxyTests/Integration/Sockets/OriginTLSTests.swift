// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Foundation
import HTTPCacheProxy
import HTTPCaching
import InMemoryLogging
import Logging
import Loopback
import NIOCore
import NIOSSL
import TestSupport
import Testing

@Suite(
  "TLS to the origin",
  .enabled("needs the command openssl, to make certificates") { await Certificate.canBeMade() },
  .timeLimit(.minutes(10)))
struct OriginTLSTests {
  private static let stored = "Cache-Control: max-age=3600\r\n"
  private static let notStored = "Cache-Control: no-store\r\n"

  /// Runs a proxy in front of an origin with TLS, whose certificate it trusts.
  private static func run(
    _ configure: (inout ProxyConfiguration) -> Void = { _ in }, logger: Logger? = nil,
    server: @escaping @Sendable (inout TLSConfiguration) -> Void = { _ in },
    origin: @escaping RawOrigin.Answering, _ body: (ProxyFixture) async throws -> Void
  ) async throws {
    try await withTemporaryFolder { folder in
      let certificate = try await Certificate.shared(in: folder)
      try await ProxyFixture.run(
        {
          var tls = ProxyConfiguration.Origin.TLS()
          tls.issuersFile = certificate.file.path
          $0.origin.tls = tls
          configure(&$0)
        }, logger: logger ?? Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
        encryption: { try certificate.serverContext(server) }, origin: origin, body)
    }
  }

  // MARK: - Handshakes

  /// A certificate, what the proxy expects, and the result of the connection.
  struct Trust: CustomTestStringConvertible, Sendable {
    var certificate = Certificate.Name.loopback
    var knowsIssuer = true
    var host = "127.0.0.1"
    var expects: String?
    var acceptsAny = false
    /// The kind of error, and the texts in the log.
    var failure: (kind: String, texts: [String])?

    var testDescription: String {
      "\(certificate), issuer known: \(knowsIssuer), expected: \(expects ?? host), any: \(acceptsAny)"
    }
  }

  static let trusts = [
    Trust(),
    Trust(certificate: .other, expects: "other.example"),
    Trust(certificate: .other, knowsIssuer: false, acceptsAny: true),
    Trust(certificate: .expired, acceptsAny: true),
    Trust(
      knowsIssuer: false,
      failure: (
        "tls_certificate_error", ["no trusted issuer has signed the certificate of '127.0.0.1'", " GMT"]
      )),
    Trust(
      certificate: .other,
      failure: ("tls_certificate_error", ["the certificate is not for '127.0.0.1', but for other.example"])),
    Trust(
      // An attacker who redirects a name may well have a certificate for his address.
      host: "localhost",
      failure: (
        "tls_certificate_error", ["the certificate is not for 'localhost', but for 127.0.0.1"]
      )),
    Trust(
      expects: "www.example",
      failure: ("tls_certificate_error", ["the certificate is not for 'www.example', but for 127.0.0.1"])),
    Trust(
      certificate: .expired,
      failure: (
        "tls_certificate_error",
        ["the certificate of '127.0.0.1' has expired: it was valid until Sat, 01 Feb 2020 00:00:00 GMT"]
      )),
  ]

  @Test("The origin's certificate is checked, and a failure says which check failed", arguments: trusts)
  func trust(trust: Trust) async throws {
    let log = InMemoryLogHandler()
    try await withTemporaryFolder { folder in
      let certificate = try await Certificate.shared(in: folder, for: trust.certificate)
      try await ProxyFixture.run(
        {
          var tls = ProxyConfiguration.Origin.TLS()
          tls.issuersFile = trust.knowsIssuer ? certificate.file.path : nil
          tls.serverName = trust.expects
          tls.acceptsAnyCertificate = trust.acceptsAny
          $0.origin.servers = [.init(host: trust.host, port: $0.origin.servers[0].port)]
          $0.origin.tls = tls
          $0.admin = ProxyConfiguration.Endpoint(host: "127.0.0.1", port: 0)
        }, logger: Logger(label: "test") { _ in log }, encryption: { try certificate.serverContext() }
      ) { _, connection in
        try await connection.send(ok("hello", Self.notStored))
        return true
      } _: { proxy in
        let ready = try await proxy.ask("GET /ready")
        let answer = try await proxy.get("/")
        if let failure = trust.failure {
          expect(answer, startsWith: "HTTP/1.1 502 ")
          #expect(answer.contains("\r\nProxy-Status: httpcache; error=\(failure.kind)\r\n"), "\(answer)")
          #expect(!answer.contains("certificate of"))
          expect(ready, startsWith: "HTTP/1.1 503 ")
          let said = log.entries.filter { $0.metadata["kind"] == "\(failure.kind)" }.map { "\($0.message)" }
          for text in failure.texts { #expect(said.contains { $0.contains(text) }, "\(said)") }
        } else {
          expect(answer, startsWith: "HTTP/1.1 200 ")
          expect(answer, endsWith: "\r\n\r\nhello")
          expect(ready, startsWith: "HTTP/1.1 200 ")
        }
        let warned = log.entries.contains { "\($0.message)".contains("accepts any certificate") }
        #expect(warned == trust.acceptsAny)
      }
    }
  }

  @Test(
    "An origin that requires a client certificate gets it, and its refusal is named",
    arguments: [true, false])
  func clientCertificate(isGiven: Bool) async throws {
    let log = InMemoryLogHandler()
    try await withTemporaryFolder { folder in
      let client = try await Certificate.shared(in: folder, for: .other)
      try await Self.run(
        {
          guard isGiven else { return }
          $0.origin.tls?.certificateFile = client.file.path
          $0.origin.tls?.keyFile = client.key.path
        }, logger: Logger(label: "test") { _ in log },
        server: {
          $0.certificateVerification = .noHostnameVerification
          $0.trustRoots = .file(client.file.path)
          // In TLS 1.3 the alert comes after the handshake, and may meet the request on its way: the error of the write
          // is then the first.
          $0.maximumTLSVersion = .tlsv12
        }
      ) { _, connection in
        try await connection.send(ok("hello", Self.notStored))
        return true
      } _: { proxy in
        let answer = try await proxy.get("/")
        expect(answer, startsWith: isGiven ? "HTTP/1.1 200 " : "HTTP/1.1 502 ")
        guard !isGiven else { return }
        #expect(answer.contains("error=tls_alert_received\r\n"), "\(answer)")
        let said = log.entries.map { "\($0.message)" }
        #expect(
          said.contains { $0.contains("the peer refused the connection with the alert handshake_failure") },
          "\(said)"
        )
      }
    }
  }

  /// What a peer without TLS does with the beginning of a handshake.
  enum Stranger: CaseIterable {
    case answers
    case closes
    case resets
    case waits

    var expected: (status: Int, error: String) {
      switch self {
      case .answers, .closes, .resets: (502, "tls_protocol_error")
      case .waits: (504, "connection_timeout")
      }
    }
  }

  @Test("A peer that does not speak TLS is named", arguments: Stranger.allCases)
  func stranger(peer: Stranger) async throws {
    let server = try await LoopbackServer.start { _ in
    } serve: {
      (
        inbound: NIOAsyncChannelInboundStream<ByteBuffer>,
        outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>, channel
      ) in
      var iterator = inbound.makeAsyncIterator()
      _ = try await iterator.next()
      switch peer {
      case .answers: try await outbound.write(ByteBuffer(string: "HTTP/1.1 400 Bad Request\r\n\r\n"))
      case .closes: break
      case .resets:
        try await (channel as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0)).get()
      case .waits: while try await iterator.next() != nil {}
      }
    }
    try await Self.run {
      $0.origin.servers = [.init(host: "127.0.0.1", port: server.port)]
      if peer == .waits { $0.origin.timeouts.connect = .milliseconds(50) }
    } origin: { _, _ in
      false
    } _: { proxy in
      let answer = try await proxy.get("/")
      expect(answer, startsWith: "HTTP/1.1 \(peer.expected.status) ")
      #expect(answer.contains("error=\(peer.expected.error)\r\n"), "\(answer)")
    }
    await server.stop()
  }

  @Test(
    "Files that cannot be read end the start, and say which", arguments: ["issuers", "certificate", "key"])
  func files(part: String) async throws {
    try await withTemporaryFolder { folder in
      let certificate = try await Certificate.shared(in: folder)
      var tls = ProxyConfiguration.Origin.TLS()
      tls.issuersFile = part == "issuers" ? "/does/not/exist.pem" : nil
      tls.certificateFile = part == "certificate" ? "/does/not/exist.pem" : certificate.file.path
      tls.keyFile = part == "key" ? "/does/not/exist.pem" : certificate.key.path
      var configuration = ProxyConfiguration(
        listen: .init(host: "127.0.0.1", port: 0), origin: .init(host: "127.0.0.1", port: 1))
      configuration.origin.tls = tls
      let proxy = CachingProxy(configuration, cache: try HTTPCache(HTTPCache.Configuration(kind: .shared)))
      await #expect {
        try await proxy.run()
      } throws: {
        "\($0)".hasPrefix("origin.tls: cannot read") && "\($0)".contains("/does/not/exist.pem")
      }
    }
  }

  // MARK: - Messages

  @Test("Requests share a connection, and content of every framing and size arrives whole")
  func framings() async throws {
    let large = String(repeating: "0123456789abcdef", count: 1 << 16)
    let requests = Mutex(0)
    try await Self.run { request, connection in
      requests.withLock { $0 += 1 }
      switch request.split(separator: " ")[1] {
      case "/length": try await connection.send(ok(large, Self.stored))
      case "/chunked":
        try await connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\(Self.stored)\r\n")
        for _ in 1...4 {
          try await connection.send(
            "\(String(large.utf8.count / 4, radix: 16))\r\n\(large.prefix(large.count / 4))\r\n")
        }
        try await connection.send("0\r\n\r\n")
      case "/none": try await connection.send("HTTP/1.1 204 No Content\r\n\r\n")
      case "/early":
        try await connection.send("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + ok("early", Self.stored))
      default:
        try await connection.send("HTTP/1.1 200 OK\r\n\(Self.stored)\r\n\(large)")
        return false
      }
      return true
    } _: { proxy in
      for path in ["/length", "/chunked", "/none", "/early", "/close"] {
        let first = try await proxy.get(path)
        switch path {
        case "/none": expect(first, startsWith: "HTTP/1.1 204 ")
        case "/early":
          expect(first, startsWith: "HTTP/1.1 103 ")
          expect(first, endsWith: "\r\n\r\nearly")
        default: #expect(first.utf8.count > large.utf8.count)
        }
        if path != "/none" { #expect(try await proxy.get(path).contains("test; hit")) }
      }
      #expect(proxy.origin.connectionCount == 1)
      #expect(requests.withLock { $0 } == 5)
    }
  }

  @Test("Content of a request arrives at the origin", arguments: [false, true])
  func upload(isChunked: Bool) async throws {
    let content = String(repeating: "x", count: 300_000)
    try await Self.run { _, connection in
      let text = await connection.read(until: "end")
      let count = text.utf8.count { $0 == UInt8(ascii: "x") }
      try await connection.send(ok("\(count)"))
      return false
    } _: { proxy in
      let size = content.utf8.count + 3
      let framing = isChunked ? "Transfer-Encoding: chunked" : "Content-Length: \(size)"
      let body = isChunked ? "\(String(size, radix: 16))\r\n\(content)end\r\n0\r\n\r\n" : content + "end"
      let answer = try await proxy.exchange(
        "POST / HTTP/1.1\r\nHost: a\r\n\(framing)\r\nConnection: close\r\n\r\n\(body)")
      expect(answer, endsWith: "300000")
    }
  }

  @Test("Content that ends with a connection that was cut off is incomplete, and not stored")
  func truncated() async throws {
    try await Self.run { _, connection in
      try await connection.send("HTTP/1.1 200 OK\r\n\(Self.stored)\r\nhalf")
      try await connection.cutOff()
      return false
    } _: { proxy in
      for _ in 1...2 {
        let answer = try await RawClient.connect(to: proxy.port).exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(!answer.hasSuffix("0\r\n\r\n") && !answer.contains("test; hit"), "\(answer)")
      }
      #expect(proxy.origin.connectionCount == 2)
    }
  }

  @Test(
    "After an idle connection has ended, with or without a word, a request takes another",
    arguments: [true, false])
  func idle(isCutOff: Bool) async throws {
    let (ended, go) = (Gate(), Gate())
    try await Self.run { request, connection in
      try await connection.send(ok("hello", Self.notStored))
      guard request.hasPrefix("GET /first ") else { return true }
      await go.pass()
      if isCutOff { try await connection.cutOff() }
      ended.open()
      return false
    } _: { proxy in
      expect(try await proxy.get("/first"), startsWith: "HTTP/1.1 200 ")
      go.open()
      await ended.pass()
      expect(try await proxy.get("/second"), startsWith: "HTTP/1.1 200 ")
      #expect(proxy.origin.connectionCount == 2)
    }
  }

  @Test("A connection whose client has left gives its place free, whatever the origin does")
  func abandoned() async throws {
    let large = String(repeating: "x", count: 8 << 20)
    try await Self.run {
      $0.origin.limits.connections = 1
    } origin: { request, connection in
      if request.hasPrefix("GET /small ") {
        try await connection.send(ok("hello", Self.notStored))
        return true
      }
      // It never reads that the proxy has ended the connection.
      try? await connection.send(
        "HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\(Self.notStored)\r\n\(large)")
      return false
    } _: { proxy in
      try await RawClient.connect(to: proxy.port).talk { conversation in
        try await conversation.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n")
        await conversation.read(until: "xxx")
      }
      expect(try await proxy.get("/small"), startsWith: "HTTP/1.1 200 ")
    }
  }

  @Test("Bytes pass through an upgraded connection, and each direction ends by itself")
  func upgrade() async throws {
    try await Self.run(origin: EchoProtocol.origin) { proxy in
      try await EchoProtocol.check(RawClient.connect(to: proxy.port))
    }
  }

  // MARK: - While it runs

  @Test("After an update, a connection from before serves no further request", arguments: [true, false])
  func updateWithConnections(isIdle: Bool) async throws {
    let gate = Gate()
    try await Self.run { request, connection in
      if !isIdle, request.hasPrefix("GET /first ") { await gate.pass() }
      try await connection.send(ok("hello", Self.notStored))
      return true
    } _: { proxy in
      async let first = proxy.get("/first")
      await proxy.origin.arrived(1)
      if isIdle { expect(try await first, startsWith: "HTTP/1.1 200 ") }
      try proxy.proxy.update(proxy.proxy.configuration)
      gate.open()
      expect(try await first, startsWith: "HTTP/1.1 200 ")
      expect(try await proxy.get("/second"), startsWith: "HTTP/1.1 200 ")
      #expect(proxy.origin.connectionCount == 2)
    }
  }

  @Test("An update reads the files again for new connections, and changes nothing if one is unreadable")
  func update() async throws {
    try await withTemporaryFolder { folder in
      let issuers = folder.appendingPathComponent("issuers.pem")
      let other = try await Certificate.shared(in: folder, for: .other)
      try FileManager.default.copyItem(at: other.file, to: issuers)
      let own = Mutex<String?>(nil)
      try await Self.run {
        let file = $0.origin.tls?.issuersFile
        own.withLock { $0 = file }
        $0.origin.tls?.issuersFile = issuers.path
      } origin: { _, connection in
        try await connection.send(ok("hello", Self.notStored))
        return false
      } _: { proxy in
        expect(try await proxy.get("/"), startsWith: "HTTP/1.1 502 ")
        try FileManager.default.removeItem(at: issuers)
        #expect(throws: ProxyConfiguration.ValidationError.self) {
          try proxy.proxy.update(proxy.proxy.configuration)
        }
        let content = try Data(contentsOf: URL(fileURLWithPath: try #require(own.withLock { $0 })))
        try content.write(to: issuers)
        try proxy.proxy.update(proxy.proxy.configuration)
        expect(try await proxy.get("/"), startsWith: "HTTP/1.1 200 ")
      }
    }
  }
}
