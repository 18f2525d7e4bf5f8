// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching

/// How the content of a response is framed for the client (RFC 9112 §6, RFC 9113 §8.1).
enum ResponseFraming: Hashable, Sendable {
  /// No content, whatever Content-Length says: HEAD, 1xx, 204, 304.
  case none
  case length(Int)
  /// In HTTP/2, by its frames.
  case chunked
  case untilClose
}

/// A final response to a client, before its content.
struct ResponseHead: Sendable {
  let heading: CachedResponse.Heading
  let statusCode: Int
  let framing: ResponseFraming
  /// Where the response comes from, for the log and the counters.
  let provenance: Provenance
  /// Whether the response comes from the store, which keeps no fields that concern a connection, or from the proxy.
  let isStored: Bool

  /// - Parameter length: the length of the content, if known.
  init(
    _ response: HTTPResponse, to method: HTTPRequest.Method, in version: HTTPVersion, isStored: Bool,
    length: Int?, _ provenance: Provenance = Provenance(.generated)
  ) {
    let length = length ?? response.headerFields[.contentLength].flatMap { Int($0) }
    self.init(
      .made(response, adding: nil), response.status.code, to: method, in: version, isStored: isStored,
      length: length, provenance)
  }

  /// A response that the proxy makes, with the fields that rules remove and set.
  ///
  /// - Parameters:
  ///   - length: the length of the content.
  ///   - client: the request; `nil` if it could not be read as one, so that no rule matches it.
  init(
    generated response: HTTPResponse, length: Int, for client: ClientRequest?,
    to method: HTTPRequest.Method, in version: HTTPVersion,
    _ provenance: Provenance = Provenance(.generated), by cache: HTTPCache
  ) {
    let response = client.map { cache.generated(response, length: length, for: $0.request) } ?? response
    self.init(response, to: method, in: version, isStored: true, length: length, provenance)
  }

  init(_ response: CachedResponse, to method: HTTPRequest.Method, in version: HTTPVersion) {
    var length = response.body.length
    let statusCode: Int
    switch response.heading {
    case .made(let response, _):
      statusCode = response.status.code
      length = length ?? response.headerFields[.contentLength].flatMap { Int($0) }
    case .stored(let heading): statusCode = heading.statusCode
    }
    self.init(
      response.heading, statusCode, to: method, in: version, isStored: response.source != .network,
      length: length, Provenance(response))
  }

  private init(
    _ heading: CachedResponse.Heading, _ code: Int, to method: HTTPRequest.Method, in version: HTTPVersion,
    isStored: Bool, length: Int?, _ provenance: Provenance
  ) {
    (self.heading, statusCode, self.provenance, self.isStored) = (heading, code, provenance, isStored)
    if method == .head || code < 200 || code == 204 || code == 304 {
      framing = .none
    } else if let length {
      framing = .length(length)
    } else {
      framing = version == .http10 ? .untilClose : .chunked
    }
  }
}

/// What is known of the fields of a head while they are written.
struct FramedFields {
  /// What is written in the place of a field.
  enum Replacement {
    /// The field itself.
    case none
    case nothing
    /// `Content-Length`, in bytes.
    case length(Int)
  }

  let framing: ResponseFraming
  let statusCode: Int
  private(set) var (hasLength, hasDate) = (false, false)

  init(framing: ResponseFraming, statusCode: Int) {
    (self.framing, self.statusCode) = (framing, statusCode)
  }

  /// Returns what is written instead of the next field.
  mutating func replacement(of kind: FieldKind) -> Replacement {
    switch kind {
    case .date:
      hasDate = true
      return .none
    case .contentLength:
      // RFC 9110 §8.6, RFC 9112 §6.1.
      guard case .length(let count) = framing else {
        return framing == .none && statusCode != 204 ? .none : .nothing
      }
      defer { hasLength = true }
      return hasLength ? .nothing : .length(count)
    default: return .none
    }
  }

  /// The length of the content, if it must be written after the fields.
  var missingLength: Int? {
    if case .length(let count) = framing, !hasLength { count } else { nil }
  }
}

/// `Date` for generated responses, made once a second.
final class DateCache {
  private var second = Int64.min
  private var current = (value: "", line: "")
  private let clock: any CacheClock

  init(clock: any CacheClock = SystemCacheClock.shared) {
    self.clock = clock
  }

  /// The line for the current second, with its end.
  var line: String {
    update()
    return current.line
  }

  /// The value for the current second.
  var value: String {
    update()
    return current.value
  }

  private func update() {
    let now = clock.wallTime
    guard now.milliseconds / 1000 != second else { return }
    second = now.milliseconds / 1000
    let value = HTTPDate(now).fieldValue
    current = (value, "Date: \(value)\r\n")
  }
}

/// A part of a response that a task passes to the connection, in the order of writing.
enum ResponsePart: Sendable {
  case interim(HTTPResponse)
  case head(ResponseHead)
  case chunk(ArraySlice<UInt8>)
  case end(trailers: HTTPFields?)
  /// A response whose content is not a stream.
  case whole(ResponseHead, MessageBody)
  /// The content is incomplete, and the client must notice it.
  case abort
}
