// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching
import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import HTTPCacheProxy

@Suite("Blocks of files that are waited for", .timeLimit(.minutes(10)))
struct AwaitedBlockTests {
  private static let block = 64 << 10

  @Test(
    "A block that must be waited for comes from another thread, or ends the content",
    arguments: [true, false])
  func waiting(isBroken: Bool) async throws {
    try await HTTPCache.withContents(["/": 3 * Self.block], inFiles: true) { cache, files in
      let body = try #require(cache.storedBody("/", from: 0))
      files.set { ($0.isCached, $0.isBroken) = (false, isBroken) }
      let loop = MultiThreadedEventLoopGroup.singleton.next()
      let ended = loop.makePromise(of: ByteBuffer.self)
      try await loop.submit {
        let content = OutgoingContent(body, isHeld: false, transit: cache.transit, on: loop)
        Self.takeAll(content, ByteBuffer(), ended)
      }.get()
      if isBroken {
        await #expect(throws: (any Error).self) { try await ended.futureResult.get() }
      } else {
        let sent = try await ended.futureResult.get()
        #expect([UInt8](sent.readableBytesView) == contentBytes(3 * Self.block))
      }
      #expect(cache.transit.used == 0)
    }
  }

  private static func takeAll(
    _ content: OutgoingContent, _ taken: ByteBuffer, _ ended: EventLoopPromise<ByteBuffer>
  ) {
    var taken = taken
    while !content.isEmpty {
      switch content.load({ [taken] in takeAll(content, taken, ended) }) {
      case .take: _ = content.moveNext(10_000, to: &taken)
      case .wait: return
      case .fail(let error): return ended.fail(error)
      }
    }
    ended.succeed(taken)
  }
}
