// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheRedis
import Loopback
import TestSupport
import Testing

@Suite("A connection of its own", .needsRedis, .timeLimit(.minutes(5)))
struct DedicatedConnectionTests {
  @Test("A blocking read gets what is added, and ends with its task")
  func blockingRead() async throws {
    let (read, reading) = AsyncStream.makeStream(of: String.self)
    try await withDatabase { (endpoint: RedisEndpoint) async throws in
      try await withClient(endpoint, { $0.connections = 1 }) { (client: RedisClient) async throws in
        _ = try await client.send(words("PING"))
        let open = client.statistics.connections
        let reader = Task {
          try await client.withConnection { connection in
            var last = "0"
            while true {
              let reply = try await connection.send(
                words("XREAD BLOCK 60000 STREAMS log \(last)"), timeout: .seconds(3600))
              let entries = reply.elements?.first?.elements?.last?.elements ?? []
              for entry in entries {
                last = entry.elements?.first?.text ?? last
                reading.yield(entry.elements?.last?.elements?.last?.text ?? "")
              }
            }
          }
        }
        var values = read.makeAsyncIterator()
        for value in ["a", "b", "c"] {
          _ = try await client.send(words("XADD log * name \(value)"))
          #expect(await values.next() == value)
        }
        reader.cancel()
        await #expect(throws: CancellationError.self) { _ = try await reader.value }
        try await eventually { client.statistics.connections == open }
      }
    }
  }

  @Test("A server that is killed ends a blocking read")
  func kill() async throws {
    try await RedisServer.inTurn.with { (server: RedisServer) async throws in
      try await withClient(server.endpoint, { $0.connections = 1 }) { (client: RedisClient) async throws in
        let reader = Task {
          try await client.withConnection {
            try await $0.send(words("XREAD BLOCK 0 STREAMS log $"), timeout: .seconds(600))
          }
        }
        try await eventually { client.statistics.commands == 1 }
        await server.kill()
        let error = await #expect(throws: RedisError.self) { _ = try await reader.value }
        #expect(error?.code == .connectionLost)
      }
    }
  }

  @Test("A connection that is released ends")
  func release() async throws {
    try await withDatabase { (endpoint: RedisEndpoint) async throws in
      try await withClient(endpoint) { (client: RedisClient) async throws in
        do {
          let connection = try client.makeConnection()
          #expect(try await connection.send(words("PING"), timeout: .seconds(3600)).text == "PONG")
          #expect(client.statistics.connections == 1)
        }
        try await eventually { client.statistics.connections == 0 }
      }
    }
  }
}
