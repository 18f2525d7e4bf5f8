// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPTypes
import Hummingbird
import NIOCore

/// Collects the content of a response whose length is known to be small.
final class ContentCollector: Sendable {
  /// Maximum bytes of content that are collected before the cache gets the head. Longer content, and content of unknown
  /// length, streams.
  static let limit = 64 << 10

  private struct State {
    var buffer = ByteBuffer()
    var trailers: HTTPFields?
    var isFinished = false
  }

  private let state = Mutex(State())

  /// Writes a body into memory.
  ///
  /// - Throws: the error of the body; ``HandlerContentError`` if it writes too much or does not finish.
  static func collect(_ body: ResponseBody) async throws -> (buffer: ByteBuffer, trailers: HTTPFields?) {
    let collector = ContentCollector()
    try await body.write(Writer(collector: collector))
    return try collector.state.withLock { state in
      guard state.isFinished else { throw HandlerContentError.notFinished }
      return (state.buffer, state.trailers)
    }
  }

  private struct Writer: ResponseBodyWriter {
    let collector: ContentCollector

    mutating func write(_ buffer: ByteBuffer) async throws {
      try collector.state.withLock { state in
        if state.buffer.readableBytes == 0 {
          state.buffer = buffer
        } else {
          var buffer = buffer
          state.buffer.writeBuffer(&buffer)
        }
        guard state.buffer.readableBytes <= ContentCollector.limit else {
          throw HandlerContentError.longerThanAnnounced
        }
      }
    }

    consuming func finish(_ trailingHeaders: HTTPFields?) async throws {
      collector.state.withLock { state in
        state.trailers = trailingHeaders
        state.isFinished = true
      }
    }
  }
}

/// A handler's content does not keep to its head, or has no end.
enum HandlerContentError: Error, CustomStringConvertible {
  /// The closure returned without `finish`.
  case notFinished
  /// The closure wrote more bytes than its response announced.
  case longerThanAnnounced

  var description: String {
    switch self {
    case .notFinished: "the content of the response has no end; call finish(_:) on the writer"
    case .longerThanAnnounced:
      "the content of the response is longer than its contentLength; correct the length"
    }
  }
}
