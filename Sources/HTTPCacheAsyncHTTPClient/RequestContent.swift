// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import AsyncHTTPClient
import HTTPCaching
import NIOCore

/// The content of a request: for the cache, which only a QUERY's is part of the key for, and for the client.
enum RequestContent {
  /// Returns the content for the cache and the content to send.
  ///
  /// The client gets its own value back, because that knows its length and whether it can be sent twice.
  ///
  /// - Parameter limit: maximum bytes of the content of a QUERY request that can be part of a key.
  static func split(
    _ body: HTTPClientRequest.Body?, of request: HTTPRequest, upTo limit: Int
  ) async throws -> (MessageBody, HTTPClientRequest.Body?) {
    guard let body else { return (.empty, nil) }
    guard request.method.rawValue == "QUERY" else { return (MessageBody(Chunks(body)), body) }
    var (bytes, iterator) = ([UInt8](), body.makeAsyncIterator())
    while bytes.count <= limit {
      guard let next = try await iterator.next() else {
        return (MessageBody(bytes), .bytes(ByteBuffer(bytes: bytes)))
      }
      bytes += next.readableBytesView
    }
    let rest = Rest(beginning: ByteBuffer(bytes: bytes), iterator)
    return (MessageBody(Chunks(rest)), .stream(rest, length: .unknown))
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
