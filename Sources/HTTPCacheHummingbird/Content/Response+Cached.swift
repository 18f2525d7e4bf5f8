// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching
import HTTPTypes
import Hummingbird
import NIOCore

extension Response {
  /// Content in memory of more bytes than this is copied piece by piece while it is written.
  private static let wholeLimit = 256 << 10
  private static let pieceSize = 64 << 10

  /// Makes the response of a server from that of the cache.
  ///
  /// - Parameter trailers: the fields after the content, if a handler has just written it.
  init(
    _ cached: CachedResponse, to method: HTTPRequest.Method, trailers: HandlerContent.Trailers? = nil
  ) {
    var head = cached.head
    head.headerFields.removeOwnCacheControl()
    let body = cached.body
    var content: ResponseBody?
    // A fetch for HEAD has no content, and a stored one is empty, too: the length belongs to the GET.
    if method == .head || head.status == .notModified || head.status == .noContent {
      self = Response(status: head.status, headers: head.headerFields)
      if !head.headerFields.contains(.contentLength) {
        // Without a length, SwiftNIO would announce chunks in the response to a HEAD, and write the last one.
        let hasContent = head.status != .notModified && head.status != .noContent
        headers[.contentLength] = hasContent ? cached.storedLength.map { String($0) } : nil
      }
      return
    }
    if let length = body.length, length <= Self.wholeLimit, trailers?.fields == nil {
      body.withBytes { span in
        content = ResponseBody(byteBuffer: ByteBuffer(span))
      }
    }
    self = Response(
      status: head.status, headers: head.headerFields,
      body: content ?? Self.streamed(body, trailers))
  }

  private static func streamed(_ body: MessageBody, _ trailers: HandlerContent.Trailers?) -> ResponseBody {
    ResponseBody(contentLength: body.length) { writer in
      for try await chunk in body {
        var rest = chunk
        while !rest.isEmpty {
          let piece = rest.prefix(Self.pieceSize)
          rest = rest.dropFirst(piece.count)
          try await writer.write(ByteBuffer(bytes: piece))
        }
      }
      try await writer.finish(trailers?.fields)
    }
  }

  /// Returns the response without the length that Hummingbird adds to an empty content.
  func withoutLength() -> Response {
    var response = self
    response.headers[.contentLength] = nil
    return response
  }
}

extension ByteBuffer {
  /// Copies bytes.
  fileprivate init(_ span: RawSpan) {
    self = span.withUnsafeBytes { ByteBuffer(bytes: $0) }
  }
}

extension MessageBody {
  /// Makes the content of a request that the cache passes on. The cache reads only that of a QUERY, which is part of
  /// the key.
  ///
  /// GET and HEAD have content only if their fields announce it. Their handlers get no other: a response that depended
  /// on it would be stored for all clients.
  init(requestBody body: RequestBody, of head: HTTPRequest) {
    let announced = head.headerFields[.contentLength]
    if announced == nil, head.method == .get || head.method == .head,
      !head.headerFields.contains(.transferEncoding)
    {
      self = .empty
    } else {
      let length = announced.flatMap { Int($0) }
      self = length == 0 ? .empty : MessageBody(Chunks(body: body), length: length)
    }
  }

  /// The chunks of a request's content, each in the form that the cache needs.
  private struct Chunks: AsyncSequence, Sendable {
    typealias Failure = any Error
    let body: RequestBody

    func makeAsyncIterator() -> Iterator { Iterator(base: body.makeAsyncIterator()) }

    struct Iterator: AsyncIteratorProtocol {
      var base: RequestBody.AsyncIterator

      mutating func next() async throws -> ArraySlice<UInt8>? {
        try await base.next().map { ArraySlice($0.readableBytesView) }
      }
    }
  }
}

extension RequestBody {
  /// Makes the content of a request that is in memory; `nil` for any other.
  init?(_ body: MessageBody) {
    guard let bytes = body.bytes else { return nil }
    self.init(buffer: ByteBuffer(bytes: bytes))
  }
}
