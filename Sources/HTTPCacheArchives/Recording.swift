// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCaching

extension ResponseFolder {
  /// Returns a transport that writes the responses of another into this folder, once their content is complete.
  ///
  /// Responses that cannot answer by themselves are not written: 304, 206, and interim ones. Neither are responses
  /// whose content is longer than the folder's limit, or ends early. If the folder is not writable, the request does
  /// not fail: `onError` is called.
  public func recording(
    _ transport: @escaping Transport, onError: @escaping @Sendable (any Error) -> Void = { _ in }
  ) -> Transport {
    { request, body in record(try await transport(request, body), request, onError) }
  }

  private func record(
    _ response: TransportResponse, _ request: HTTPRequest, _ onError: @escaping @Sendable (any Error) -> Void
  ) -> TransportResponse {
    var response = response
    if let next = response.next, response.head.status.kind == .informational {
      response.next = { record(try await next(), request, onError) }
      return response
    }
    guard ![304, 206].contains(response.head.status.code) else { return response }
    let head = response.head
    let write: @Sendable ([UInt8]) -> Void = { bytes in
      do {
        try add(ArchivedResponse(name: "", request: request, head: head, body: bytes))
      } catch {
        onError(error)
      }
    }
    if let bytes = response.body.bytes {
      if bytes.count <= limits.body { write(Array(bytes)) }
    } else {
      response.body = MessageBody(
        RecordedContent(content: response.body, limit: limits.body, write: write),
        length: response.body.length)
    }
    return response
  }
}

/// Content in flight, recorded as it passes.
private struct RecordedContent: AsyncSequence, Sendable {
  typealias Element = ArraySlice<UInt8>
  typealias Failure = any Error

  let content: MessageBody
  let limit: Int
  let write: @Sendable ([UInt8]) -> Void

  func makeAsyncIterator() -> Iterator {
    Iterator(content: content.makeAsyncIterator(), limit: limit, write: write)
  }

  struct Iterator: AsyncIteratorProtocol {
    var content: MessageBody.Iterator
    let limit: Int
    let write: @Sendable ([UInt8]) -> Void
    /// The recorded bytes; `nil` once they are too many, or written.
    var kept: [UInt8]? = []

    mutating func next() async throws -> ArraySlice<UInt8>? {
      try await next(isolation: nil)
    }

    mutating func next(isolation actor: isolated (any Actor)?) async throws -> ArraySlice<UInt8>? {
      guard let chunk = try await content.next(isolation: actor) else {
        // A cancelled stream may end without an error.
        if let kept, !Task.isCancelled { write(kept) }
        kept = nil
        return nil
      }
      if let count = kept?.count, count + chunk.count <= limit {
        kept?.append(contentsOf: chunk)
      } else {
        kept = nil
      }
      return chunk
    }
  }
}
