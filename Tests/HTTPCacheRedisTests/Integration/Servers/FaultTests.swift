// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheRedis
import Loopback
import TestSupport
import Testing

@Suite("Servers that are slow, stopped or gone", .needsRedis, .timeLimit(.minutes(5)))
struct FaultTests {
  @Test("A server that does not listen makes commands fail at once")
  func unreachable() async throws {
    let endpoint = RedisEndpoint([.tcp(host: "127.0.0.1", port: try RedisServer.freePort())])
    try await withClient(endpoint) { (client: RedisClient) async throws in
      for _ in 0..<20 {
        #expect(try await code { _ = try await client.send(words("PING")) } == .unreachable)
      }
      #expect(client.statistics.waiting == 0)
    }
  }

  @Test("A socket that does not exist, or whose path is too long, makes commands fail", arguments: [10, 500])
  func missingSocket(length: Int) async throws {
    let endpoint = RedisEndpoint([.unix(path: "/tmp/" + String(repeating: "x", count: length))])
    try await withClient(endpoint) { (client: RedisClient) async throws in
      #expect(try await code { _ = try await client.send(words("PING")) } == .unreachable)
    }
  }

  @Test("After a kill and a restart, the client connects again by itself")
  func restart() async throws {
    try await RedisServer.inTurn.with { (server: RedisServer) async throws in
      try await withClient(server.endpoint) { (client: RedisClient) async throws in
        for _ in 0..<3 {
          _ = try await sendUntilAnswered(client, "PING")
          await server.kill()
          try await eventually { client.statistics.connections == 0 }
          let failure = try await code { _ = try await client.send(words("PING")) }
          #expect(failure == .unreachable || failure == .connectionLost)
          try await server.start()
          #expect(try await sendUntilAnswered(client, "ECHO back").text == "back")
        }
        #expect(client.statistics.connections <= 2)
      }
    }
  }

  @Test("A kill ends all requests without a reply")
  func killWithRequests() async throws {
    try await RedisServer.inTurn.with { (server: RedisServer) async throws in
      try await withClient(server.endpoint) { (client: RedisClient) async throws in
        _ = try await client.send(words("PING"))
        try await withThrowingTaskGroup(of: RedisError.Code?.self) { group in
          for number in 0..<200 {
            group.addTask { try await code { _ = try await client.send(words("BLPOP list\(number) 0")) } }
          }
          try await eventually { client.statistics.commands >= 200 }
          await server.kill()
          for try await failure in group { #expect(failure == .connectionLost || failure == .unreachable) }
        }
        #expect(client.statistics.waiting == 0)
      }
    }
  }

  @Test(
    "A stopped server costs a caller no more than its time limit, and later replies reach their own requests")
  func stopped() async throws {
    try await RedisServer.inTurn.with { (server: RedisServer) async throws in
      try await withClient(server.endpoint, { $0.connections = 1 }) { (client: RedisClient) async throws in
        _ = try await client.send(words("PING"))
        server.stop()
        try await withThrowingTaskGroup(of: Void.self) { group in
          for number in 0..<50 {
            group.addTask {
              let failure = try await code {
                _ = try await client.send(words("ECHO early.\(number)"), timeout: .milliseconds(20))
              }
              #expect(failure == .timedOut)
            }
          }
          try await group.waitForAll()
        }
        #expect(client.statistics.timeouts == 50)
        try await withThrowingTaskGroup(of: Void.self) { group in
          for number in 0..<50 {
            group.addTask {
              let reply = try await client.send(words("ECHO late.\(number)"))
              #expect(reply.text == "late.\(number)")
            }
          }
          try await eventually { client.statistics.waiting == 50 }
          server.resume()
          try await group.waitForAll()
        }
        #expect(client.statistics.connectionsOpened == 1)
      }
    }
  }

  @Test("A connection that is silent for too long is closed, and another one is made")
  func silent() async throws {
    try await RedisServer.inTurn.with { (server: RedisServer) async throws in
      try await withClient(
        server.endpoint,
        {
          $0.connections = 1
          $0.silenceTimeout = .milliseconds(50)
        }
      ) { (client: RedisClient) async throws in
        _ = try await client.send(words("PING"))
        server.stop()
        let timeout = Duration.milliseconds(20)
        #expect(try await code { _ = try await client.send(words("PING"), timeout: timeout) } == .timedOut)
        try await eventually { client.statistics.connectionsOpened > 1 }
        // The kernel accepts the next connection, but nothing greets: nothing may wait for it.
        #expect(try await code { _ = try await client.send(words("PING")) } == .connectionLost)
        server.resume()
        #expect(try await sendUntilAnswered(client, "ECHO back").text == "back")
      }
    }
  }

  @Test("A command that blocks for longer than the silence keeps its connection")
  func blocking() async throws {
    try await withDatabase { (endpoint: RedisEndpoint) async throws in
      try await withClient(
        endpoint,
        {
          $0.connections = 1
          $0.silenceTimeout = .milliseconds(1)
        }
      ) { (client: RedisClient) async throws in
        #expect(try await client.send(words("BLPOP list 0.2")) == .null)
        #expect(client.statistics.connectionsOpened == 1)
      }
    }
  }

  @Test("A server that is full, or loads its data, is unreachable and says why")
  func notReady() async throws {
    try await RedisServer.inTurn.with { (server: RedisServer) async throws in
      try await withClient(server.endpoint, { $0.connections = 1 }) { (first: RedisClient) async throws in
        let limit = try #require(try await first.send(words("CONFIG GET maxclients")).elements?.last?.text)
        // The connection that reset the server may not be closed yet.
        try await eventually {
          let clients = try await first.send(words("CLIENT LIST")).text?.split(separator: "\n") ?? []
          return clients.count == 1
        }
        #expect(try await first.send(words("CONFIG SET maxclients 1")).text == "OK")
        try await withClient(server.endpoint, { $0.connections = 1 }) { (second: RedisClient) async throws in
          let error = await #expect(throws: RedisError.self) { _ = try await second.send(words("PING")) }
          #expect(error?.code == .unreachable)
          #expect(error?.message.contains("max number of clients") == true)
        }
        #expect(try await first.send(words("CONFIG SET maxclients \(limit)")).text == "OK")
      }
    }
  }

  @Test("When too much is waiting, further commands fail at once")
  func overload() async throws {
    try await RedisServer.inTurn.with { (server: RedisServer) async throws in
      try await withClient(
        server.endpoint,
        {
          $0.connections = 1
          $0.maximumWaitingCommands = 10
          $0.maximumWaitingBytes = 10_000
        }
      ) { (client: RedisClient) async throws in
        _ = try await client.send(words("PING"))
        server.stop()
        for _ in 0..<9 {
          #expect(
            try await code { _ = try await client.send(words("PING"), timeout: .milliseconds(1)) }
              == .timedOut)
        }
        let large = [UInt8](repeating: 0, count: 10_000)
        #expect(try await code { _ = try await client.send([Array("ECHO".utf8), large]) } == .overloaded)
        #expect(
          try await code { _ = try await client.pipeline([words("PING"), words("PING")]) } == .overloaded)
        #expect(
          try await code { _ = try await client.send(words("PING"), timeout: .milliseconds(1)) } == .timedOut)
        #expect(try await code { _ = try await client.send(words("PING")) } == .overloaded)
        server.resume()
        #expect(try await sendUntilAnswered(client, "PING").text == "PONG")
        // A single command may be larger than the limit.
        #expect(try await client.send([Array("ECHO".utf8), large]).bytes == large)
      }
    }
  }

  @Test("A cancelled caller returns at once, and the others get their replies")
  func cancellation() async throws {
    try await RedisServer.inTurn.with { (server: RedisServer) async throws in
      try await withClient(server.endpoint, { $0.connections = 1 }) { (client: RedisClient) async throws in
        _ = try await client.send(words("PING"))
        server.stop()
        let cancelled = Task { try await client.send(words("ECHO cancelled")) }
        try await eventually { client.statistics.commands == 2 }
        let other = Task { try await client.send(words("ECHO other")) }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { _ = try await cancelled.value }
        server.resume()
        #expect(try await other.value.text == "other")
        #expect(client.statistics.waiting == 0)

        // A task that was cancelled before.
        let late = Task {
          withUnsafeCurrentTask { $0?.cancel() }
          return try await client.send(words("PING"))
        }
        await #expect(throws: CancellationError.self) { _ = try await late.value }
      }
    }
  }
}
