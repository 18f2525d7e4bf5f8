// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCaching
import Synchronization

extension ResponseFolder {
  /// A transport that writes what another brings into this folder, once its content is whole.
  ///
  /// Responses that cannot answer by themselves are not written: 304, 206, and interim ones; nor are those whose content is
  /// longer than the folder's limit, or breaks off. A folder that cannot be written to is no reason for a request to fail:
  /// `onError` is told.
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

/// Content on its way, kept as it passes.
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
    /// `nil` once it is too much, or written.
    var kept: [UInt8]? = []

    mutating func next() async throws -> ArraySlice<UInt8>? {
      try await next(isolation: nil)
    }

    mutating func next(isolation actor: isolated (any Actor)?) async throws -> ArraySlice<UInt8>? {
      guard let chunk = try await content.next(isolation: actor) else {
        // A stream that is cancelled may just end.
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
