// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheRedis
import Loopback
import NIOCore
import NIOEmbedded
import TestSupport
import Testing
import TransportSecurity

@Suite("Users and passwords", .needsRedis, .timeLimit(.minutes(5)))
struct AuthenticationTests {
  private static let users = [
    "user cache on >hunter2 ~cache:* +@all -ping -flushall", "user default on >default +@all ~*",
  ]

  /// A server with the users, which only the tests of this suite use.
  private static let server = SharedServers(
    start: { try await RedisServer.started(AuthenticationTests.users) }, reset: { $0 })

  struct Login: CustomTestStringConvertible, Sendable {
    var credentials: RedisCredentials?
    var error: RedisError.Code?
    var testDescription: String {
      "\(credentials?.description ?? "no user") → \(error?.description ?? "accepted")"
    }
  }

  @Test(
    "A user is accepted or refused by user and password",
    arguments: [
      Login(credentials: RedisCredentials(user: "cache", password: "hunter2"), error: nil),
      Login(credentials: RedisCredentials(password: "default"), error: nil),
      Login(credentials: RedisCredentials(user: "cache", password: "hunter3"), error: .refused),
      Login(credentials: RedisCredentials(user: "other", password: "hunter2"), error: .refused),
      Login(credentials: RedisCredentials(password: "hunter2"), error: .refused),
      Login(credentials: nil, error: .refused),
    ])
  func login(login: Login) async throws {
    try await Self.server.with { (server: RedisServer) async throws in
      var endpoint = server.endpoint
      endpoint.credentials = login.credentials
      try await withClient(endpoint) { (client: RedisClient) async throws in
        do {
          #expect(try await client.send(words("SET cache:a 1")).text == "OK")
          #expect(login.error == nil)
        } catch let error as RedisError {
          #expect(error.code == login.error)
          #expect(!"\(error)".contains("hunter"))
        }
      }
    }
  }

  @Test("A command or key that the user may not use gives an error reply, and the connection goes on")
  func forbidden() async throws {
    try await Self.server.with { (server: RedisServer) async throws in
      var endpoint = server.endpoint
      endpoint.credentials = RedisCredentials(user: "cache", password: "hunter2")
      try await withClient(endpoint) { (client: RedisClient) async throws in
        let replies = try await client.pipeline([
          words("FLUSHALL"), words("GET other"), words("SET cache:a 1"),
        ])
        #expect(replies.map(\.errorCode) == ["NOPERM", "NOPERM", nil])
        #expect(client.statistics.connectionsOpened == 1)
      }
    }
  }

  @Test("A password that is not needed, and a database that does not exist, are refused")
  func unexpected() async throws {
    try await withDatabase { (own: RedisEndpoint) async throws in
      var endpoint = own
      endpoint.credentials = RedisCredentials(password: "hunter2")
      try await withClient(endpoint) { (client: RedisClient) async throws in
        #expect(try await code { _ = try await client.send(words("PING")) } == .refused)
      }
      endpoint = own
      endpoint.database = 100_000
      try await withClient(endpoint) { (client: RedisClient) async throws in
        #expect(try await code { _ = try await client.send(words("PING")) } == .refused)
      }
    }
  }

  @Test("When the server accepts the password again, so does the client by itself")
  func acceptedLater() async throws {
    try await withDatabase { (own: RedisEndpoint) async throws in
      try await withClient(own) { (other: RedisClient) async throws in
        var endpoint = own
        endpoint.credentials = RedisCredentials(user: "late", password: "hunter2")
        try await withClient(endpoint) { (client: RedisClient) async throws in
          #expect(try await code { _ = try await client.send(words("PING")) } == .refused)
          #expect(try await other.send(words("ACL SETUSER late on >hunter2 +@all ~*")).text == "OK")
          #expect(try await sendUntilAnswered(client, "ECHO a").text == "a")
        }
      }
    }
  }
}

/// A server that speaks TLS, if `redis-server` was built with it.
struct TLSServer: Sendable {
  let server: RedisServer
  let certificateFile: String
  let keyFile: String

  private static let loopback = make(.loopback)
  private static let other = make(.other)

  /// The server with a certificate for a name.
  static func inTurn(_ name: Certificate.Name = .loopback) -> SharedServers<TLSServer> {
    switch name {
    case .loopback: loopback
    case .other, .expired, .wildcard, .pair: other
    }
  }

  private static func make(_ name: Certificate.Name) -> SharedServers<TLSServer> {
    SharedServers {
      // The folder is the server's: it ends with the process.
      let folder = try RedisServer.makeFolder()
      let certificate = try await Certificate(in: folder, for: name)
      let listener = RedisServer.Listener.tls(certificate: certificate.file.path, key: certificate.key.path)
      return TLSServer(
        server: try await RedisServer.started(on: listener), certificateFile: certificate.file.path,
        keyFile: certificate.key.path)
    } reset: { secure in
      try await secure.server.expectOK("FLUSHALL")
      return secure
    }
  }
}

@Suite(
  "Connections over TLS", .needsRedis, .needsCertificates, .timeLimit(.minutes(5)))
struct TLSTests {
  @Test("Values come back as they were sent, with a trusted certificate")
  func trusted() async throws {
    try await TLSServer.inTurn().with { (secure: TLSServer) async throws in
      let server = secure.server
      try await withClient(server.endpoint) { (client: RedisClient) async throws in
        let value = [UInt8](repeating: 7, count: 1 << 20)
        #expect(try await client.send([Array("SET".utf8), Array("key".utf8), value]).text == "OK")
        #expect(try await client.send(words("GET key")).bytes == value)
      }
    }
  }

  struct Trust: CustomTestStringConvertible, Sendable {
    var name: Certificate.Name
    var verification: ClientTLS.Verification
    var knowsIssuer: Bool
    var isAccepted: Bool
    var testDescription: String {
      "\(name.rawValue), verify=\(verification.rawValue), issuer known: \(knowsIssuer)"
    }
  }

  @Test(
    "The certificate is checked as configured",
    arguments: [
      Trust(name: .loopback, verification: .full, knowsIssuer: true, isAccepted: true),
      Trust(name: .loopback, verification: .full, knowsIssuer: false, isAccepted: false),
      Trust(name: .other, verification: .full, knowsIssuer: true, isAccepted: false),
      Trust(name: .other, verification: .issuer, knowsIssuer: true, isAccepted: true),
      Trust(name: .other, verification: .issuer, knowsIssuer: false, isAccepted: false),
      Trust(name: .other, verification: .none, knowsIssuer: false, isAccepted: true),
    ])
  func verification(trust: Trust) async throws {
    try await TLSServer.inTurn(trust.name).with { (secure: TLSServer) async throws in
      var endpoint = secure.server.endpoint
      endpoint.tls?.verification = trust.verification
      if !trust.knowsIssuer { endpoint.tls?.issuersFile = nil }
      try await withClient(endpoint) { (client: RedisClient) async throws in
        let failure = try await code { _ = try await client.send(words("PING")) }
        #expect(failure == (trust.isAccepted ? nil : .unreachable))
      }
    }
  }

  @Test("The name in the certificate may be set apart from the host")
  func serverName() async throws {
    try await TLSServer.inTurn(.other).with { (secure: TLSServer) async throws in
      var endpoint = secure.server.endpoint
      endpoint.tls?.serverName = "other.example"
      try await withClient(endpoint) { (client: RedisClient) async throws in
        #expect(try await client.send(words("PING")).text == "PONG")
      }
    }
  }

  @Test("A server that wants a client certificate gets it")
  func clientCertificate() async throws {
    try await TLSServer.inTurn().with { (secure: TLSServer) async throws in
      let server = secure.server
      try await server.expectOK("CONFIG SET tls-auth-clients yes")
      try await withClient(server.endpoint) { (client: RedisClient) async throws in
        let failure = try await code { _ = try await client.send(words("PING")) }
        #expect(failure == .unreachable)
      }
      var endpoint = server.endpoint
      endpoint.tls?.certificateFile = secure.certificateFile
      endpoint.tls?.keyFile = secure.keyFile
      try await withClient(endpoint) { (client: RedisClient) async throws in
        #expect(try await client.send(words("CONFIG SET tls-auth-clients no")).text == "OK")
      }
    }
  }

  @Test(
    "A server whose certificate has only its address gets no byte of a client that asks for a name",
    arguments: [("localhost", ""), ("127.0.0.1", "secret")])
  func passwordOfAnotherServer(host: String, expected: String) async throws {
    try await withTemporaryFolder { folder in
      let certificate = try await Certificate.shared(in: folder)
      #expect(try received(from: host, certificate) == expected)
    }
  }

  /// Returns what a server receives that a client has written before its handshake, without sockets.
  private func received(from host: String, _ certificate: Certificate) throws -> String {
    final class Received: ChannelInboundHandler {
      typealias InboundIn = ByteBuffer
      var text = ""
      func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        text += String(buffer: unwrapInboundIn(data))
      }
      func errorCaught(context: ChannelHandlerContext, error: any Error) {}
    }
    let loop = EmbeddedEventLoop()
    let (client, server) = (EmbeddedChannel(loop: loop), EmbeddedChannel(loop: loop))
    let address = try SocketAddress(ipAddress: "127.0.0.1", port: 1)
    let received = Received()
    var tls = ClientTLS()
    tls.issuersFile = certificate.file.path
    let handshake = try ClientContext(tls).encrypt(client, to: host, by: .distantFuture)
    let own = ServerTLS([.init(file: certificate.file.path, keyFile: certificate.key.path)])
    try ServerContext(own).encrypt(server, by: .distantFuture) { _ in }
    try server.pipeline.syncOperations.addHandler(received)
    for channel in [server, client] {
      channel.remoteAddress = address
      channel.connect(to: address, promise: nil)
    }
    client.writeAndFlush(ByteBuffer(string: "secret"), promise: nil)
    while true {
      let sent = try client.readOutbound(as: ByteBuffer.self)
      let answered = try server.readOutbound(as: ByteBuffer.self)
      if sent == nil, answered == nil { break }
      // A channel that is closed takes no more.
      if let sent { _ = try? server.writeInbound(sent) }
      if let answered { _ = try? client.writeInbound(answered) }
    }
    handshake.whenComplete { _ in }
    for channel in [client, server] { _ = try? channel.finish(acceptAlreadyClosed: true) }
    return received.text
  }

  @Test("TLS to an unencrypted server, and the reverse, fail with an error")
  func mismatch() async throws {
    try await withDatabase { (own: RedisEndpoint) async throws in
      var endpoint = own
      endpoint.tls = ClientTLS()
      // The server waits for the end of a line, and the client for the connect timeout.
      try await withClient(endpoint, { $0.connectTimeout = .milliseconds(200) }) {
        (client: RedisClient) async throws in
        #expect(try await code { _ = try await client.send(words("PING")) } == .unreachable)
      }
    }
    try await TLSServer.inTurn().with { (secure: TLSServer) async throws in
      let server = secure.server
      var endpoint = server.endpoint
      endpoint.tls = nil
      try await withClient(endpoint) { (client: RedisClient) async throws in
        let failure = try await code { _ = try await client.send(words("PING")) }
        #expect(failure == .unreachable || failure == .protocolViolation)
      }
    }
  }

  @Test("Files that cannot be used make the client fail, with their names", arguments: ["ca", "cert", "key"])
  func files(option: String) async throws {
    try await withTemporaryFolder { folder in
      let certificate = try await Certificate(in: folder)
      var tls = ClientTLS()
      tls.issuersFile = option == "ca" ? "/does/not/exist.pem" : nil
      tls.certificateFile = option == "cert" ? "/does/not/exist.pem" : certificate.file.path
      tls.keyFile = option == "key" ? "/does/not/exist.pem" : certificate.key.path
      let endpoint = RedisEndpoint([.tcp(host: "h", port: 1)], tls: tls)
      let error = #expect(throws: RedisError.self) { try RedisClient(.patient(endpoint)) }
      #expect(error?.code == .invalidConfiguration)
      #expect(error?.message.contains("/does/not/exist.pem") == true)
      tls = ClientTLS()
      tls.certificateFile = certificate.file.path
      let half = RedisEndpoint([.tcp(host: "h", port: 1)], tls: tls)
      #expect(throws: RedisError.self) { try RedisClient(.init(half)) }
    }
  }
}
