// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCaching

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What a stub answers with: a response, or what goes wrong instead.
///
/// ```swift
/// .text("hello", fields: [.cacheControl: "max-age=60"])
/// .json(["id": 7]).delayed(by: .seconds(2))
/// .file("Fixtures/feed.xml", contentType: "application/xml")
/// .status(500)
/// .failure(URLError(.cannotConnectToHost))
/// .text("half of it").cut(afterBytes: 4)
/// ```
public struct StubAnswer: Sendable {
  enum Content: Sendable {
    case bytes([UInt8])
    case file(String)
  }

  /// The status code.
  public var status: Int
  /// The fields.
  public var fields: HTTPFields
  /// How long the answer takes.
  public var delay: Duration = .zero
  var content: Content
  /// Comes in place of the response.
  var failure: (any Error)?
  /// How much of the content comes before the connection breaks.
  var cut: Int?

  init(status: Int, fields: HTTPFields, content: Content) {
    self.status = status
    self.fields = fields
    self.content = content
  }

  // MARK: - Responses

  /// An answer with these bytes as its content.
  public static func bytes(
    _ bytes: some Sequence<UInt8>, contentType: String = "application/octet-stream", status: Int = 200,
    fields: HTTPFields = [:]
  ) -> StubAnswer {
    var fields = fields
    if fields[.contentType] == nil { fields[.contentType] = contentType }
    return StubAnswer(status: status, fields: fields, content: .bytes(Array(bytes)))
  }

  /// An answer with this text as its content, in UTF-8.
  public static func text(
    _ text: String, contentType: String = "text/plain; charset=utf-8", status: Int = 200,
    fields: HTTPFields = [:]
  ) -> StubAnswer {
    bytes(text.utf8, contentType: contentType, status: status, fields: fields)
  }

  /// - Throws: `EncodingError` for what cannot be JSON.
  public static func json(
    _ value: some Encodable, status: Int = 200, fields: HTTPFields = [:]
  ) throws -> StubAnswer {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return bytes(
      try encoder.encode(value), contentType: "application/json", status: status, fields: fields)
  }

  /// The content of a file, read when it is asked for.
  public static func file(
    _ path: String, contentType: String = "application/octet-stream", status: Int = 200,
    fields: HTTPFields = [:]
  ) -> StubAnswer {
    var answer = bytes([], contentType: contentType, status: status, fields: fields)
    answer.content = .file(path)
    return answer
  }

  /// A response without content.
  public static func status(_ status: Int, fields: HTTPFields = [:]) -> StubAnswer {
    StubAnswer(status: status, fields: fields, content: .bytes([]))
  }

  // MARK: - What goes wrong

  /// No response: the request fails with this error, as `URLError(.cannotConnectToHost)`.
  public static func failure(_ error: any Error) -> StubAnswer {
    var answer = status(200)
    answer.failure = error
    return answer
  }

  /// The same answer, after some time.
  public func delayed(by delay: Duration) -> StubAnswer {
    var answer = self
    answer.delay = delay
    return answer
  }

  /// The same answer, but that the connection is lost when so many bytes of the content have come:
  /// `URLError(.networkConnectionLost)`.
  public func cut(afterBytes count: Int) -> StubAnswer {
    var answer = self
    answer.cut = Swift.max(0, count)
    return answer
  }
}

extension StubAnswer {
  /// The head, and the bytes of the content.
  ///
  /// - Throws: ``StubError/Code/unreadableFile``, and what the answer is to fail with.
  func made() throws -> (head: HTTPResponse, bytes: [UInt8]) {
    if let failure { throw failure }
    var bytes: [UInt8]
    switch content {
    case .bytes(let known): bytes = known
    case .file(let path):
      guard let data = FileManager.default.contents(atPath: path) else {
        throw StubError.unreadableFile(path)
      }
      bytes = Array(data)
    }
    guard (100...999).contains(status) else { throw StubError.invalidStatus(status) }
    var head = HTTPResponse(status: .init(code: status), headerFields: fields)
    let mayHaveContent = status >= 200 && status != 204 && status != 304
    if !mayHaveContent { bytes = [] }
    if mayHaveContent, head.headerFields[.contentLength] == nil, head.headerFields[.transferEncoding] == nil {
      head.headerFields[.contentLength] = String(bytes.count)
    }
    return (head, bytes)
  }

  var lost: URLError { URLError(.networkConnectionLost) }
}
