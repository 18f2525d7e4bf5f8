// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Dispatch
import HTTPCaching
import HTTPTypes
import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import HTTPCacheProxy

@Suite("Connections to the origin", .timeLimit(.minutes(10)))
struct OriginConnectionSocketTests {
  #if os(Linux)
    @Test("A request is not sent on a connection that the origin has just closed")
    func ending() async throws {
      let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
      let (accepted, peers) = AsyncStream.makeStream(of: (any Channel).self)
      // The peer has another event loop.
      let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .childChannelInitializer { channel in
          peers.yield(channel)
          return channel.eventLoop.makeSucceededVoidFuture()
        }
        .bind(host: "127.0.0.1", port: 0).get()
      let (returned, handles) = AsyncStream.makeStream(of: OriginConnection.Handle.self)
      let first = try await ClientBootstrap(group: group).channelOption(.autoRead, value: false)
        .connect(host: "127.0.0.1", port: server.localAddress?.port ?? 0) { channel in
          channel.eventLoop.makeCompletedFuture {
            let connection = OriginConnection(
              channel: channel, limits: ProxyConfiguration.HeadLimits(), timeouts: .patient,
              transit: TransitBudget(capacity: 1 << 20), onIdle: { handles.yield($0) }, onEnd: { _ in })
            try channel.pipeline.syncOperations.addHandler(connection)
            return connection.handle()
          }
        }
      var peerIterator = accepted.makeAsyncIterator()
      let peer = try #require(await peerIterator.next())
      func request(_ method: HTTPRequest.Method) -> OriginRequest {
        OriginRequest(
          request: HTTPRequest(method: method, scheme: nil, authority: "a.example", path: "/"),
          via: "1.1 test")
      }
      let (get, post) = (request(.get), request(.post))
      let answered = first.channel.eventLoop.flatSubmit { first.reference.start(get) }
      try await peer.writeAndFlush(ByteBuffer(string: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
      _ = try await answered.get()
      var handleIterator = returned.makeAsyncIterator()
      let second = try #require(await handleIterator.next())
      let reply = try await first.channel.eventLoop.submit {
        // The event loop is busy here until the origin has closed.
        let closed = DispatchSemaphore(value: 0)
        peer.close().whenComplete { _ in closed.signal() }
        closed.wait()
        return second.reference.start(post)
      }.get()
      await #expect { try await reply.get() } throws: { ($0 as? OriginError)?.reach == .unsent }
      try await server.close()
      try await group.shutdownGracefully()
    }
  #endif
}
