// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing

@testable import HTTPCacheProxy

@Suite("Connections to the admin port without sockets", .timeLimit(.minutes(10)))
struct AdminConnectionTests {
  @Test("The admin port closes a connection without a request after the stall timeout, even if bytes move")
  func time() throws {
    let loop = EmbeddedEventLoop()
    let channel = EmbeddedChannel(loop: loop)
    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
    try channel.pipeline.syncOperations.addHandler(AdminConnection(.embedded(on: loop)))
    channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
    try channel.writeInbound(ByteBuffer(string: "GET /"))
    for _ in 1...59 {
      try channel.writeInbound(ByteBuffer(string: "a"))
      loop.advanceTime(by: .seconds(1))
    }
    loop.advanceTime(by: .milliseconds(999))
    #expect(channel.isActive)
    loop.advanceTime(by: .milliseconds(1))
    #expect(!channel.isActive)
    _ = try? channel.finish()
  }
}
