// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheRedis
import TestSupport
import Testing

@Suite("Servers that break the protocol", .timeLimit(.minutes(5)))
struct HostileServerTests {
  @Test(
    "Garbage and too large replies end the connection with an error",
    arguments: [
      "garbage\r\n", "$99999999999\r\n" + String(repeating: "x", count: 100), "*99999999\r\n",
      "*2147483647\r\n",
      String(repeating: "*1\r\n", count: 1000), "+" + String(repeating: "x", count: 100_000), ",1.5\r\n",
      ":1\r\n:2\r\n",
      "$5000\r\n" + String(repeating: "x", count: 5000) + "\r\n", "\0\0\0\0", "*2\r\n:1\r\ngarbage\r\n",
    ].map(Bytes.init))
  func garbage(example: Bytes) async throws {
    let reply = example.text
    try await FakeServer.with({ .send(Array(reply.utf8)) }) { (server: FakeServer) async throws in
      try await withClient(
        server.endpoint,
        {
          $0.connections = 1
          $0.maximumReplyBytes = 4000
        }
      ) { (client: RedisClient) async throws in
        // The first of two integers is a valid reply; the second answers no command.
        let isPair = reply.hasPrefix(":1")
        let failure = try await code { _ = try await client.send(words("GET a")) }
        #expect(failure == (isPair ? nil : .protocolViolation))
        try await eventually { client.statistics.protocolViolations == 1 }
        try await eventually { server.connections <= 1 && client.statistics.connectionsOpened == 2 }
      }
    }
  }

  @Test(
    "A server that closes before, within and after a reply ends the request",
    arguments: ["", "$10\r\nabc", "*2\r\n:1\r\n"].map(Bytes.init))
  func half(example: Bytes) async throws {
    try await FakeServer.with({ .sendAndClose(Array(example.text.utf8)) }) {
      (server: FakeServer) async throws in
      try await withClient(server.endpoint, { $0.connections = 1 }) { (client: RedisClient) async throws in
        #expect(try await code { _ = try await client.send(words("GET a")) } == .connectionLost)
        #expect(client.statistics.waiting == 0)
      }
    }
  }

  @Test(
    "A server that is not Redis is reported",
    arguments: ["HTTP/1.1 400 Bad Request\r\n\r\n", "220 mail ESMTP\r\n", "\u{15}\u{3}\u{3}"].map(Bytes.init))
  func otherProtocol(example: Bytes) async throws {
    try await FakeServer.with(greeting: example.text) { (server: FakeServer) async throws in
      try await withClient(server.endpoint) { (client: RedisClient) async throws in
        #expect(try await code { _ = try await client.send(words("GET a")) } == .protocolViolation)
      }
    }
  }

  @Test("A server that never greets makes commands fail within the connect timeout")
  func noGreeting() async throws {
    try await FakeServer.with(greeting: "") { (server: FakeServer) async throws in
      try await withClient(server.endpoint, { $0.connectTimeout = .milliseconds(50) }) {
        (client: RedisClient) async throws in
        #expect(try await code { _ = try await client.send(words("GET a")) } == .unreachable)
        // A caller may allow less.
        #expect(
          try await code { _ = try await client.send(words("GET a"), timeout: .milliseconds(1)) } != nil)
      }
    }
  }

  @Test("The reply to a request whose time was over does not reach the next request")
  func lateReply() async throws {
    try await FakeServer.with { (server: FakeServer) async throws in
      try await withClient(server.endpoint, { $0.connections = 1 }) { (client: RedisClient) async throws in
        // The connection is made before a short time limit begins.
        let first = Task { try await client.send(words("FIRST")) }
        try await server.wait { $0.received == 1 }
        server.send("+first\r\n")
        #expect(try await first.value.text == "first")
        let timeout = Duration.milliseconds(10)
        #expect(
          try await code { _ = try await client.pipeline([words("A"), words("B")], timeout: timeout) }
            == .timedOut)
        let next = Task { try await client.send(words("C")) }
        try await server.wait { $0.received == 4 }
        server.send("+a\r\n")
        server.send("+b\r\n+")
        server.send("c\r\n")
        #expect(try await next.value.text == "c")
      }
    }
  }

  @Test("Requests whose callers stop waiting before they are sent are not sent")
  func unsent() async throws {
    try await FakeServer.with(greeting: "") { (server: FakeServer) async throws in
      try await withClient(server.endpoint, { $0.connections = 1 }) { (client: RedisClient) async throws in
        #expect(
          try await code { _ = try await client.send(words("A"), timeout: .milliseconds(5)) } == .timedOut)
        try await server.wait { $0.connections == 1 }
        let next = Task { try await client.send(words("B")) }
        try await server.wait { $0.greetings == 1 }
        server.send("+PONG\r\n")
        try await server.wait { $0.received == 1 }
        server.send("+b\r\n")
        #expect(try await next.value.text == "b")
        #expect(client.statistics.commands == 1)
      }
    }
  }

  @Test("A server that answers AUTH with the words of the command does not bring the password into the error")
  func echoedPassword() async throws {
    let greeting = "-ERR unknown command 'AUTH', with args beginning with: 'user' 'hunter2'\r\n+PONG\r\n"
    try await FakeServer.with(greeting: greeting) { (server: FakeServer) async throws in
      var endpoint = server.endpoint
      endpoint.credentials = RedisCredentials(user: "user", password: "hunter2")
      try await withClient(endpoint) { (client: RedisClient) async throws in
        let error = await #expect(throws: RedisError.self) { _ = try await client.send(words("GET a")) }
        #expect(error?.code == .refused)
        #expect(error.map { "\($0)".contains("hunter2") } == false)
      }
    }
  }
}
