// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheRedis
import LoopbackRedis
import Testing

@Suite("A client and a server", .enabled(if: RedisServer.isInstalled, .init(rawValue: RedisServer.howToInstall)))
struct ClientTests {
  @Test("A value comes back as it was sent")
  func roundTrip() async throws {
    try await RedisServer.with { server in
      let client = try RedisClient(.init(server.endpoint))
      #expect(try await client.send(words("SET key value")) == .string(Array("OK".utf8)))
      #expect(try await client.send(words("GET key")).text == "value")
      #expect(try await client.pipeline([words("GET key"), words("GET other"), words("INCR key"), words("LRANGE l 0 1")])
        .map(\.errorCode) == [nil, nil, "ERR", nil])
      await client.close()
    }
  }
}

func words(_ command: String) -> [[UInt8]] { command.split(separator: " ").map { Array($0.utf8) } }
