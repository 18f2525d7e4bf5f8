// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheAsyncHTTPClient
import Loopback
import NIOCore
import NIOHTTP1
import TestSupport
import Testing

/// Set by `make test-large`; 64 MiB otherwise.
private let length = ProcessInfo.processInfo.environment["HTTPCACHE_LARGE_BYTES"].flatMap { Int($0) }

@Suite("Content larger than memory, with AsyncHTTPClient", .timeLimit(.minutes(60)))
struct LargeClientTests {
  private static let piece = ByteBuffer(
    bytes: (0..<65_536).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) })

  /// Starts an origin that sends so many bytes, as fast as its client takes them.
  private static func origin(_ total: Int) async throws -> LoopbackServer {
    try await LoopbackServer.start { channel in
      try channel.pipeline.syncOperations.configureHTTPServerPipeline()
    } serve: {
      (
        inbound: NIOAsyncChannelInboundStream<HTTPServerRequestPart>,
        outbound: NIOAsyncChannelOutboundWriter<HTTPServerResponsePart>, _
      ) in
      for try await part in inbound {
        guard case .end = part else { continue }
        let fields: HTTPHeaders = ["Cache-Control": "max-age=86400", "Content-Length": "\(total)"]
        try await outbound.write(.head(.init(version: .http1_1, status: .ok, headers: fields)))
        for _ in 0..<total / piece.readableBytes { try await outbound.write(.body(.byteBuffer(piece))) }
        try await outbound.write(.end(nil))
      }
    }
  }

  @Test("Large content passes from the origin to the caller and to the disk, and back, in little memory")
  func passesThrough() async throws {
    try await withTemporaryFolder { folder in
      let total = length ?? 64 << 20
      let origin = try await Self.origin(total)
      let cache = try HTTPCache(
        .init(memoryCapacity: 1 << 20, diskCapacity: total * 3, directory: FilePath(folder.path)))
      let client = CachingHTTPClient(configuration: .init(), redirects: nil, cache: cache)
      let before = PeakMemory.begin()
      for source in [CachedResponse.Source.network, .hit] {
        let response = try await client.execute(
          HTTPClientRequest(url: "http://127.0.0.1:\(origin.port)/"), deadline: .distantFuture)
        #expect(response.cacheStatus?.source == source)
        var (received, isRight) = (0, true)
        for try await buffer in response.body {
          isRight =
            isRight
            && buffer.readableBytesView.first == Self.piece.getInteger(at: received % 65_536, as: UInt8.self)
          received += buffer.readableBytes
        }
        #expect(received == total && isRight)
      }
      // Only where no other test runs at the same time.
      if length != nil, let before, let after = PeakMemory.now {
        print("\(total >> 20) MiB passed through with \((after - before) >> 20) MiB of added memory")
        #expect(after - before < 64 << 20)
      }
      try await client.shutdown()
      await origin.stop()
      cache.close()
    }
  }
}
