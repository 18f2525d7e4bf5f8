// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes
import NIOCore
import NIOEmbedded
import TestSupport
import Testing

@testable import HTTPCacheProxy
@testable import HTTPCacheStore
@testable import HTTPCaching

@Suite("Content that a connection sends in pieces", .timeLimit(.minutes(10)))
struct OutgoingContentTests {
  private static let block = 64 << 10

  @Test("Content counts as in flight while its connection alone has it", arguments: [true, false])
  func held(isHeld: Bool) {
    let transit = TransitBudget(capacity: 1 << 20)
    var content: OutgoingContent? = OutgoingContent(
      MessageBody([UInt8](repeating: 1, count: 5000)), isHeld: isHeld, transit: transit,
      on: EmbeddedEventLoop())
    #expect(transit.used == (isHeld ? 5000 : 0))
    var buffer = ByteBuffer()
    #expect(content?.moveNext(4000, to: &buffer) == 4000)
    #expect(content?.isEmpty == false)
    #expect(content?.moveNext(4000, to: &buffer) == 1000)
    #expect(content?.isEmpty == true)
    #expect(buffer.readableBytes == 5000)
    content = nil
    #expect(transit.used == 0)
  }

  /// How a client takes content.
  struct Client: CustomTestStringConvertible {
    /// The bytes that it takes at a time.
    var piece: Int
    /// The time between two pieces, in milliseconds.
    var pause: Int64
    var testDescription: String { "\(piece) bytes every \(pause) ms" }
  }

  private static let clients = [
    Client(piece: 1 << 20, pause: 0), Client(piece: 100_000, pause: 10), Client(piece: block, pause: 2000),
    Client(piece: 16_384, pause: 10),
    Client(piece: 29_000, pause: 145), Client(piece: 40_000, pause: 999), Client(piece: 20_000, pause: 1000),
    Client(piece: 5000, pause: 1001), Client(piece: 3001, pause: 300), Client(piece: 1000, pause: 0),
  ]

  @Test(
    "Bytes that are read again are at most those sent, and a block for each second of waiting",
    // 1 MiB of content in flight has room for three blocks.
    arguments: clients.flatMap { client in [64 << 20, 1 << 20, 0].map { (client, $0) } }, [0, 12_345])
  func reading(asked: (client: Client, transit: Int), start: Int) async throws {
    let (client, count) = (asked.client, 5 * Self.block + 777)
    try await HTTPCache.withContents(["/": count], inFiles: true, transit: asked.transit) {
      cache, files in
      try inOneThread {
        let loop = EmbeddedEventLoop()
        let body = try #require(cache.storedBody("/", from: start))
        let content = OutgoingContent(body, isHeld: false, transit: cache.transit, on: loop)
        var (sent, waited, waits, time) = (ByteBuffer(), false, 0, Int64(0))
        while !content.isEmpty {
          var left = client.piece
          // As a connection does: it writes as long as the client has room.
          take: while left > 0, !content.isEmpty {
            switch content.load({ waited = false }) {
            case .take: left -= content.moveNext(left, to: &sent)
            case .wait:
              waited = true
              waits += 1
              break take
            case .fail(let error): throw error
            }
          }
          content.waitForClient()
          #expect(cache.transit.used == (content.hasBlock ? Self.block : 0))
          #expect(cache.transit.used <= asked.transit * 3 / 16)
          let pause = waited ? 1000 : client.pause
          time += pause
          loop.advanceTime(by: .milliseconds(pause))
          #expect(!waited, "the connection is called when it no longer has to wait")
          if pause >= 1000 { #expect(cache.transit.used == 0) }
        }
        let bytes = [UInt8](sent.readableBytesView)
        #expect(bytes == contentBytes(count - start, from: start))
        // The bytes before the start, the table of checksums, and the blocks for seconds of waiting.
        let allowed = 2 * sent.readableBytes + Self.block + 8 * 6 + (Int(time / 1000) + 1) * Self.block
        #expect(files.bytesRead <= allowed, "\(files.bytesRead) bytes were read of \(sent.readableBytes)")
        // A client that takes more than a block at a time is not kept waiting.
        #expect(client.piece < Self.block || waits == 0)
        // With room for its block, a client that goes on taking costs one read of each.
        if asked.transit > 0, client.pause < 1000 {
          #expect(files.bytesRead <= sent.readableBytes + Self.block + 8 * 6)
        }
      }
      #expect(cache.transit.used == 0)
    }
  }

  @Test("A client that was slow, and takes more now, does not wait for what was read before")
  func faster() async throws {
    try await HTTPCache.withContents(["/": 5 * Self.block], inFiles: true, transit: 0) { cache, files in
      try inOneThread {
        let loop = EmbeddedEventLoop()
        let body = try #require(cache.storedBody("/"))
        let content = OutgoingContent(body, isHeld: false, transit: cache.transit, on: loop)
        var sent = ByteBuffer()
        for _ in 0..<20 {
          guard case .take = content.load({}) else { break }
          _ = content.moveNext(10, to: &sent)
          content.waitForClient()
          #expect(!content.hasBlock)
          loop.advanceTime(by: .seconds(2))
        }
        #expect(sent.readableBytes == 200 && files.bytesRead >= 20 * Self.block)
        // It drops a block each time, and takes more than is read again.
        while !content.isEmpty {
          var left = 100_000
          while left > 0, case .take = content.load({}), !content.isEmpty {
            left -= content.moveNext(left, to: &sent)
          }
          try #require(left == 0 || content.isEmpty, "the content waits")
          content.waitForClient()
        }
        #expect([UInt8](sent.readableBytesView) == contentBytes(5 * Self.block))
      }
    }
  }

  @Test("The block that was read before the head was sent is the content's")
  func firstBlock() async throws {
    try await HTTPCache.withContents(["/": 5 * Self.block], inFiles: true) { cache, files in
      try inOneThread {
        let body = try #require(cache.storedBody("/"))
        let stored = try #require(body.storedBodies.first)
        guard case .file(let reader as BodyFileReader) = stored.storage else {
          Issue.record("the content is not in a file")
          return
        }
        #expect(reader.hasPrepared)
        let content = OutgoingContent(body, isHeld: false, transit: cache.transit, on: EmbeddedEventLoop())
        #expect(!reader.hasPrepared && content.hasBlock)
        let read = files.bytesRead
        guard case .take = content.load({}) else {
          Issue.record("the content waits")
          return
        }
        #expect(files.bytesRead == read)
      }
    }
  }

  @Test("Pieces of many blocks are sent without a pause")
  func ranges() async throws {
    try await HTTPCache.withContents(["/": 10 * Self.block], inFiles: true, transit: 0) {
      cache, files in
      try inOneThread {
        let loop = EmbeddedEventLoop()
        let ranges = (0..<10).map { "\($0 * Self.block + 100)-\($0 * Self.block + 199)" }.joined(
          separator: ",")
        let body = try #require(cache.storedBody("/", range: ranges))
        let content = OutgoingContent(body, isHeld: false, transit: cache.transit, on: loop)
        var sent = ByteBuffer()
        while !content.isEmpty {
          guard case .take = content.load({}) else {
            Issue.record("the content waits")
            break
          }
          _ = content.moveNext(.max, to: &sent)
        }
        #expect(sent.readableBytes == body.length && cache.transit.used == 0)
        for number in 0..<10 {
          let part = contentBytes(100, from: number * Self.block + 100)
          #expect([UInt8](sent.readableBytesView).firstRange(of: part) != nil)
        }
        #expect(files.bytesRead <= 10 * Self.block + 8 * 10)
      }
    }
  }
}

extension MessageBody {
  /// The contents of the store that it is made of.
  fileprivate var storedBodies: [StoredBody] {
    guard case .pieces(let pieces) = storage else { return [] }
    return pieces.compactMap { if case .stored(let body, _) = $0 { body } else { nil } }
  }
}

extension HTTPCache {
  /// The content of a stored response, from a byte on, or in ranges.
  func storedBody(_ path: String, from start: Int = 0, range: String? = nil) -> MessageBody? {
    var request = HTTPRequest(method: .get, scheme: "http", authority: "a", path: path)
    if let range = range ?? (start > 0 ? "\(start)-" : nil) {
      request.headerFields[.range] = "bytes=\(range)"
    }
    guard case .answer(let response) = begin(request) else { return nil }
    return response.body
  }
}
