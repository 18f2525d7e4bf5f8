// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching
import HTTPTypes

/// What an origin or a body throws in a test.
package struct Unreachable: Error {
  package init() {}
}

/// Content that arrives in pieces.
package typealias ByteStream = AsyncThrowingStream<ArraySlice<UInt8>, any Error>

extension HTTPRequest {
  package static func get(_ path: String = "/", fields: HTTPFields = [:]) -> HTTPRequest {
    HTTPRequest(method: .get, scheme: "https", authority: "example.test", path: path, headerFields: fields)
  }
}

extension TransportResponse {
  package static func ok(
    _ body: String, _ fields: HTTPFields = [.cacheControl: "max-age=60"], status: HTTPResponse.Status = .ok
  ) -> TransportResponse {
    TransportResponse(
      head: HTTPResponse(status: status, headerFields: fields), body: MessageBody(Array(body.utf8)))
  }

  package static func streamed(
    _ stream: ByteStream, _ fields: HTTPFields = [.cacheControl: "max-age=60"], length: Int? = nil
  ) -> TransportResponse {
    TransportResponse(
      head: HTTPResponse(status: .ok, headerFields: fields), body: MessageBody(stream, length: length))
  }

  /// Makes a 206.
  package static func part(_ text: String, _ range: String, _ tag: String) -> TransportResponse {
    .ok(text, [.cacheControl: "max-age=60", .contentRange: range, .eTag: tag], status: .partialContent)
  }

  /// Returns this response; or 304 with its fields, if a request names its entity tag.
  package func confirmed(by request: HTTPRequest) -> TransportResponse {
    guard let tag = head.headerFields[.eTag], request.headerFields[.ifNoneMatch]?.contains(tag) == true else {
      return self
    }
    return .ok("", head.headerFields, status: .notModified)
  }
}

extension MessageBody {
  /// Makes content in two pieces, and then the end or ``Unreachable``.
  package init(inPieces bytes: some Collection<UInt8>, breaksOff: Bool = false) {
    self.init(
      ByteStream { feed in
        feed.yield(Array(bytes.prefix(bytes.count / 2))[...])
        feed.yield(Array(bytes.dropFirst(bytes.count / 2))[...])
        feed.finish(throwing: breaksOff ? Unreachable() : nil)
      })
  }
}

extension CachedResponse {
  /// The whole content.
  package var text: String {
    get async throws { String(decoding: try await body.collect(upTo: .max), as: UTF8.self) }
  }
}
