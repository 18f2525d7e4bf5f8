// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheEngine
import HTTPCaching
import HTTPTypes

/// An origin of one resource that changes, understands ranges and preconditions, and ends early where it is told to.
///
/// Every version has the entity tag of its number.
final class RangeOrigin: Sendable {
  private final class State: Sendable {
    struct Values {
      var contents: [String]
      var breaks: [Int] = []
    }

    let values: Mutex<Values>
    init(_ content: String) { values = Mutex(Values(contents: [content])) }
  }

  private let state: State
  let origin: MemoryOrigin

  init(_ content: String) {
    let state = State(content)
    self.state = state
    origin = MemoryOrigin { request, _ in Self.answer(request, state) }
  }

  func change(to content: String) { state.values.withLock { $0.contents.append(content) } }

  /// The next answers end after so many bytes each.
  func breakOff(after counts: [Int]) { state.values.withLock { $0.breaks = counts } }

  /// All versions, the first first.
  var contents: [String] { state.values.withLock { $0.contents } }

  private static func answer(_ request: HTTPRequest, _ state: State) -> TransportResponse {
    let (contents, breaking) = state.values.withLock { ($0.contents, $0.breaks.first) }
    let tag = "\"\(contents.count)\""
    var fields: HTTPFields = [.cacheControl: "max-age=60", .eTag: tag]
    if request.headerFields[.ifNoneMatch]?.contains(tag) == true {
      return TransportResponse(head: HTTPResponse(status: .notModified, headerFields: fields))
    }
    let content = Array((contents.last ?? "").utf8)
    var status = HTTPResponse.Status.ok
    var part = content[...]
    if let range = request.headerFields[.range].flatMap({ RangeField(parsing: $0) }),
      request.headerFields[.ifRange].map({ $0 == tag }) ?? true
    {
      let ranges = range.resolved(length: Int64(content.count))
      guard let first = ranges.first else {
        return TransportResponse(
          head: HTTPResponse(
            status: .rangeNotSatisfiable, headerFields: [.contentRange: "bytes */\(content.count)"]))
      }
      // Only the first of several: a server may send less than was asked for.
      status = .partialContent
      part = content[Int(first.lowerBound)..<Int(first.upperBound)]
      fields[.contentRange] = "bytes \(first.lowerBound)-\(first.upperBound - 1)/\(content.count)"
    }
    fields[.contentLength] = String(part.count)
    let head = HTTPResponse(status: status, headerFields: fields)
    if let breaking, breaking < part.count {
      state.values.withLock { _ = $0.breaks.removeFirst() }
      return TransportResponse(head: head, body: streamed(part.prefix(breaking), breaksOff: true))
    }
    return TransportResponse(head: head, body: streamed(part, breaksOff: false))
  }

  static func streamed(_ text: String, breaksOff: Bool) -> MessageBody {
    streamed(Array(text.utf8)[...], breaksOff: breaksOff)
  }

  /// The bytes in two pieces, and then the end or an error.
  static func streamed(_ bytes: ArraySlice<UInt8>, breaksOff: Bool) -> MessageBody {
    let (stream, feed) = AsyncThrowingStream<ArraySlice<UInt8>, any Error>.makeStream()
    feed.yield(bytes.prefix(bytes.count / 2))
    feed.yield(bytes.dropFirst(bytes.count / 2))
    if breaksOff { feed.finish(throwing: Unreachable()) } else { feed.finish() }
    return MessageBody(stream)
  }

  static func part(_ text: String, _ range: String, _ tag: String) -> TransportResponse {
    .ok(
      text, [.cacheControl: "max-age=60", .contentRange: range, .eTag: tag], status: .partialContent)
  }
}
