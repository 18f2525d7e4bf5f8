// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheHummingbird
import HTTPCaching
import Hummingbird
import TestSupport
import Testing

@Suite("Hits and misses", .timeLimit(.minutes(10)))
struct HitTests {
  @Test("A response with a lifetime is a hit until it is stale")
  func hit() async throws {
    let (setting, runs) = (try Setting().caching(), Runs())
    setting.router.get("a") { _, _ in
      Response("\(runs.next())").caching(.public, maxAge: .seconds(60))
    }
    try await setting.run { server in
      let first = try await server.send(.get, "/a")
      #expect(first.text == "1")
      #expect(
        first.cacheStatus.hasPrefix("test; fwd=uri-miss; fwd-status=200; ttl=60; stored"),
        "\(first.cacheStatus)")
      setting.clock.advance(seconds: 10)
      let second = try await server.send(.get, "/a")
      #expect(second.text == "1")
      #expect(second.isHit)
      #expect(second["age"] == "10")
      #expect(second["content-length"] == "1")
      #expect(second["etag"] == first["etag"])
      setting.clock.advance(seconds: 60)
      #expect(try await server.send(.get, "/a").text == "2")
    }
  }

  @Test("A response that declares nothing is not stored")
  func undeclared() async throws {
    let (setting, runs) = (try Setting().caching(), Runs())
    setting.router.get("a") { _, _ in Response("\(runs.next())") }
    try await setting.run { server in
      for run in 1...2 {
        let reply = try await server.send(.get, "/a")
        #expect(reply.text == "\(run)")
        #expect(!reply.cacheStatus.contains("stored"))
      }
    }
  }

  @Test("All of a conversation over one connection is framed correctly")
  func framing() async throws {
    let setting = try Setting().caching()
    setting.router.get("a") { _, _ in Response("0123456789").caching(.public, maxAge: .seconds(60)) }
    setting.router.get("stream") { _, _ in
      Response(
        status: .ok, headers: [.cacheControl: "max-age=60", .eTag: "\"s\""],
        body: .init { writer in
          try await writer.write(ByteBuffer(string: "01234"))
          try await writer.write(ByteBuffer(string: "56789"))
          try await writer.finish(nil)
        })
    }
    try await setting.run { server in
      try await Client.connect(to: server.port).talk { client in
        for path in ["/a", "/stream"] {
          try await client.send(.head, path)
          #expect(try await client.reply().status == 200)
          for _ in 1...2 {
            try await client.send(.get, path)
            #expect(try await client.reply().text == "0123456789")
          }
          try await client.send(.head, path)
          let head = try await client.reply()
          #expect(head.status == 200)
          #expect(head.isHit)
          #expect(head.text == "")
          #expect(head["content-length"] == "10")
          try await client.send(.get, path, [("range", "bytes=2-4")])
          let part = try await client.reply()
          #expect(part.status == 206)
          #expect(part.text == "234")
          #expect(part["content-range"] == "bytes 2-4/10")
          try await client.send(.get, path, [("range", "bytes=99-")])
          #expect(try await client.reply().status == 416)
          try await client.send(.get, path, [("if-none-match", head["etag"] ?? "")])
          let notModified = try await client.reply()
          #expect(notModified.status == 304)
          #expect(notModified.text == "")
          #expect(notModified["content-length"] == nil)
        }
      }
    }
  }
}
