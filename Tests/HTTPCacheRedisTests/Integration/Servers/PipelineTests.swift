// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import HTTPCacheRedis
import Loopback
import TestSupport
import Testing

@Suite("Commands on shared connections", .needsRedis, .timeLimit(.minutes(5)))
struct PipelineTests {
  enum Transport: CaseIterable { case port, socket }

  @Test("Values come back as they were sent, over TCP and over a Unix socket", arguments: Transport.allCases)
  func roundTrip(transport: Transport) async throws {
    try await withDatabase(usesSocket: transport == .socket) { (endpoint: RedisEndpoint) async throws in
      try await withClient(endpoint) { (client: RedisClient) async throws in
        var generator = SplitMix64(seed: 3)
        for size in [0, 1, 2, 100, 16_384, 65_537, 1 << 20] {
          let value = (0..<size).map { _ in UInt8.random(in: 0...255, using: &generator) }
          let key = Array("key\r\n\0\(size)".utf8)
          #expect(try await client.send([Array("SET".utf8), key, value]).text == "OK")
          #expect(try await client.send([Array("GET".utf8), key]).bytes == value)
        }
      }
    }
  }

  @Test("A pipeline is one round trip, and returns a reply for each command in their order")
  func pipeline() async throws {
    try await withDatabase { (endpoint: RedisEndpoint) async throws in
      try await withClient(endpoint) { (client: RedisClient) async throws in
        let replies = try await client.pipeline(
          [words("SET a 1"), words("INCR a"), words("LPUSH a x"), words("GET none"), words("MGET a none")])
        #expect(replies[0].text == "OK")
        #expect(replies[1] == .integer(2))
        #expect(replies[2].errorCode == "WRONGTYPE")
        #expect(replies[3] == .null)
        #expect(replies[4] == .array([.string(Array("2".utf8)), .null]))
        #expect(client.statistics.roundTrips == 1)
        #expect(client.statistics.commands == 5)
        #expect(try await client.pipeline([]).isEmpty)
      }
    }
  }

  @Test("Each of 1,000 concurrent requests gets its own reply", arguments: [1, 2, 5])
  func concurrent(connections: Int) async throws {
    try await withDatabase { (endpoint: RedisEndpoint) async throws in
      try await withClient(endpoint, { $0.connections = connections }) {
        (client: RedisClient) async throws in
        try await withThrowingTaskGroup(of: Void.self) { group in
          for number in 0..<1000 {
            group.addTask {
              let commands = (0...(number % 4)).map { words("ECHO \(number).\($0)") }
              let replies = try await client.pipeline(commands)
              #expect(replies.map(\.text) == (0...(number % 4)).map { "\(number).\($0)" })
            }
          }
          try await group.waitForAll()
        }
        let statistics = client.statistics
        #expect(statistics.waiting == 0)
        #expect(statistics.roundTrips == 1000)
        #expect(statistics.connectionsOpened <= connections)
      }
    }
  }

  @Test("A database other than 0 is selected on every connection")
  func database() async throws {
    try await withDatabase { (endpoint: RedisEndpoint) async throws in
      try await withClient(endpoint) { (client: RedisClient) async throws in
        for _ in 0..<4 { _ = try await client.send(words("INCR count")) }
      }
      let other = try await RedisServer.ownDatabase()
      try await withClient(other) { (client: RedisClient) async throws in
        #expect(try await client.send(words("EXISTS count")) == .integer(0))
        #expect(
          try await client.pipeline([words("SELECT \(endpoint.database)"), words("GET count")])[1].integer
            == 4)
      }
    }
  }

  @Test("A command without words is an error and not sent")
  func emptyCommand() async throws {
    try await withDatabase { (endpoint: RedisEndpoint) async throws in
      try await withClient(endpoint) { (client: RedisClient) async throws in
        #expect(try await code { _ = try await client.send([]) } == .invalidCommand)
        #expect(try await code { _ = try await client.pipeline([words("PING"), []]) } == .invalidCommand)
        #expect(client.statistics.commands == 0)
      }
    }
  }

  @Test("A closed client refuses commands and has no connection left")
  func close() async throws {
    try await withDatabase { (endpoint: RedisEndpoint) async throws in
      try await withClient(endpoint) { (client: RedisClient) async throws in
        for _ in 0..<4 { _ = try await client.send(words("PING")) }
        #expect(client.statistics.connections == 2)
        await client.close()
        #expect(client.statistics.connections == 0)
        #expect(try await code { _ = try await client.send(words("PING")) } == .closed)
        #expect(try await code { try await client.withConnection { _ in } } == .closed)
      }
    }
  }

  @Test("A client that nothing uses any more closes its connections")
  func release() async throws {
    try await withDatabase { (endpoint: RedisEndpoint) async throws in
      do {
        let client = try RedisClient(.patient(endpoint))
        _ = try await client.send(words("PING"), timeout: .seconds(3600))
      }
      try await withClient(endpoint, { $0.connections = 1 }) { (observer: RedisClient) async throws in
        try await eventually {
          let clients = try await observer.send(words("CLIENT LIST")).text?.split(separator: "\n") ?? []
          return clients.count { $0.contains(" db=\(endpoint.database) ") } == 1
        }
      }
    }
  }
}
