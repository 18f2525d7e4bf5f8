// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching
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

  @Test("A proxy that stops loads nothing more, and says so")
  func stopping() throws {
    let loop = EmbeddedEventLoop()
    let context = try ProxyContext.embedded(on: loop)
    context.warmer.stop()
    for query in ["url=http://a.example/", "url=http://a.example/&list=1"] {
      let answer = WarmRequest(query: query, content: [], wantsJSON: false, context: context).answer()
      #expect(answer.status == 503 && answer.text == "stopping\n")
    }
    let purge = Purge(selections: [.all], description: "all", warmingRate: 10)
    let reloading = purge.load(HTTPCache.StoredRequests(room: (10, 1000)), context)
    #expect(reloading == Purge.Reloading(count: 0, left: 0, isPart: true))
  }
}
