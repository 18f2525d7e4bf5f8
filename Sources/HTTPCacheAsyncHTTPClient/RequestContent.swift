// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import AsyncHTTPClient
import HTTPCaching
import NIOCore

/// Content of a request that is read before it is sent, because it is part of the key (QUERY) or may be sent again.
struct RequestContent: Sendable {
  /// The content to send.
  let body: HTTPClientRequest.Body
  /// All of it; `nil` if it is longer than the limit.
  let bytes: ByteBuffer?

  /// Reads content into memory.
  ///
  /// AsyncHTTPClient does not publish whether content can be read twice. What it has in memory is a single buffer.
  ///
  /// - Parameter limit: maximum bytes that are read, unless they are a single buffer.
  init(reading body: HTTPClientRequest.Body, upTo limit: Int) async throws {
    var (bytes, iterator) = (ByteBuffer(), body.makeAsyncIterator())
    while var next = try await iterator.next() {
      let isLonger = bytes.readableBytes > 0 && bytes.readableBytes + next.readableBytes > limit
      if bytes.readableBytes == 0 { bytes = next } else { bytes.writeBuffer(&next) }
      if isLonger {
        (self.body, self.bytes) = (.stream(Rest(beginning: bytes, iterator), length: .unknown), nil)
        return
      }
    }
    (self.body, self.bytes) = (.bytes(bytes), bytes)
  }

  /// Content of which the beginning has been read.
  private struct Rest: AsyncSequence, Sendable {
    private let beginning: ByteBuffer
    // The client alone reads it, and only once: it cannot send this content twice.
    private nonisolated(unsafe) let rest: HTTPClientRequest.Body.AsyncIterator

    init(beginning: ByteBuffer, _ rest: HTTPClientRequest.Body.AsyncIterator) {
      self.beginning = beginning
      self.rest = rest
    }

    func makeAsyncIterator() -> Iterator { Iterator(beginning: beginning, rest: rest) }

    struct Iterator: AsyncIteratorProtocol {
      fileprivate var beginning: ByteBuffer?
      fileprivate var rest: HTTPClientRequest.Body.AsyncIterator

      mutating func next() async throws -> ByteBuffer? {
        if let beginning {
          self.beginning = nil
          return beginning
        }
        return try await rest.next()
      }
    }
  }
}

/// The buffers of a body, as chunks for the cache.
struct Chunks<Buffers: AsyncSequence & Sendable>: AsyncSequence, Sendable
where Buffers.Element == ByteBuffer {
  typealias Element = ArraySlice<UInt8>
  typealias Failure = any Error

  private let buffers: Buffers

  init(_ buffers: Buffers) { self.buffers = buffers }

  func makeAsyncIterator() -> Iterator { Iterator(buffers: buffers.makeAsyncIterator()) }

  struct Iterator: AsyncIteratorProtocol {
    fileprivate var buffers: Buffers.AsyncIterator

    mutating func next() async throws -> ArraySlice<UInt8>? {
      while let buffer = try await buffers.next() {
        if buffer.readableBytes > 0 { return ArraySlice(buffer.readableBytesView) }
      }
      return nil
    }
  }
}
