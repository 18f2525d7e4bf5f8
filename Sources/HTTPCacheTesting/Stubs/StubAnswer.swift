// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCaching

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The answer of a stub: a response, or a failure.
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
  /// The delay of the answer.
  public var delay: Duration = .zero
  var content: Content
  /// The error that replaces the response.
  var failure: (any Error)?
  /// The number of bytes of the content before the connection breaks.
  var cut: Int?

  init(status: Int, fields: HTTPFields, content: Content) {
    self.status = status
    self.fields = fields
    self.content = content
  }

  // MARK: - Responses

  /// Makes an answer with these bytes as its content.
  public static func bytes(
    _ bytes: some Sequence<UInt8>, contentType: String = "application/octet-stream", status: Int = 200,
    fields: HTTPFields = [:]
  ) -> StubAnswer {
    var fields = fields
    if fields[.contentType] == nil { fields[.contentType] = contentType }
    return StubAnswer(status: status, fields: fields, content: .bytes(Array(bytes)))
  }

  /// Makes an answer with this text as its content, in UTF-8.
  public static func text(
    _ text: String, contentType: String = "text/plain; charset=utf-8", status: Int = 200,
    fields: HTTPFields = [:]
  ) -> StubAnswer {
    bytes(text.utf8, contentType: contentType, status: status, fields: fields)
  }

  /// - Throws: `EncodingError` for values that JSON cannot represent.
  public static func json(
    _ value: some Encodable, status: Int = 200, fields: HTTPFields = [:]
  ) throws -> StubAnswer {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return bytes(
      try encoder.encode(value), contentType: "application/json", status: status, fields: fields)
  }

  /// Makes an answer with the content of a file, which is read at each request.
  public static func file(
    _ path: String, contentType: String = "application/octet-stream", status: Int = 200,
    fields: HTTPFields = [:]
  ) -> StubAnswer {
    var answer = bytes([], contentType: contentType, status: status, fields: fields)
    answer.content = .file(path)
    return answer
  }

  /// Makes a response without content.
  public static func status(_ status: Int, fields: HTTPFields = [:]) -> StubAnswer {
    StubAnswer(status: status, fields: fields, content: .bytes([]))
  }

  // MARK: - Failures

  /// Makes a failure without a response: the request fails with this error, such as `URLError(.cannotConnectToHost)`.
  public static func failure(_ error: any Error) -> StubAnswer {
    var answer = status(200)
    answer.failure = error
    return answer
  }

  /// Returns the same answer with a delay.
  public func delayed(by delay: Duration) -> StubAnswer {
    var answer = self
    answer.delay = delay
    return answer
  }

  /// Returns the same answer, but the connection breaks after this number of bytes:
  /// `URLError(.networkConnectionLost)`.
  public func cut(afterBytes count: Int) -> StubAnswer {
    var answer = self
    answer.cut = Swift.max(0, count)
    return answer
  }
}

extension StubAnswer {
  /// Returns the head, and the bytes of the content.
  ///
  /// - Throws: ``StubError/Code/unreadableFile``, or the error of a failing answer.
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

  static let timedOut = URLError(.timedOut)
}
