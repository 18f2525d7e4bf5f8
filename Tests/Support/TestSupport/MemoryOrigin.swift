// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheEngine
import HTTPCaching
import HTTPTypes

/// An origin in memory. A closure answers, or a ``ResponseShape`` in versions, or ranges of a text in versions. All
/// requests are recorded, and gates can hold the responses back.
package final class MemoryOrigin: Sendable {
  /// Answers a request. The number is its position among all requests, from 1.
  package typealias Handler =
    @Sendable (_ request: HTTPRequest, _ number: Int) async throws -> TransportResponse

  private typealias Answer =
    @Sendable (MemoryOrigin, HTTPRequest, MessageBody, _ number: Int) async throws -> TransportResponse

  private struct State {
    /// The text of each version, the first first.
    var contents: [String]
    /// After how many bytes the next answers end.
    var breaks: [Int] = []
  }

  private let log = Recorder<HTTPRequest>()
  private let received = Recorder<String>()
  private let state: Mutex<State>
  private let answer: Answer
  package let shape: ResponseShape
  /// The responses wait here: the first `count` ones at the first gate, and so on, and all others at the last gate.
  package let gates: [Gate]
  private let count: Int

  private init(
    _ gates: [Gate] = [], each count: Int = .max, _ shape: ResponseShape = ResponseShape(), text: String = "",
    answer: @escaping Answer
  ) {
    (self.gates, self.count, self.shape, self.answer) = (gates, count, shape, answer)
    state = Mutex(State(contents: [text]))
  }

  /// Makes an origin whose answers a closure decides when the requests arrive.
  package convenience init(
    holding gates: [Gate] = [], each count: Int = .max, _ handler: @escaping Handler
  ) {
    self.init(gates, each: count) { _, request, _, number in try await handler(request, number) }
  }

  /// Makes an origin whose answers depend on the content of the requests.
  package convenience init(
    reading handler: @escaping @Sendable (_ content: String, HTTPRequest, _ number: Int) -> TransportResponse
  ) {
    self.init { origin, request, body, number in
      let content = String(decoding: try await body.collect(upTo: .max), as: UTF8.self)
      origin.received.add(content)
      return handler(content, request, number)
    }
  }

  /// Makes an origin that answers with its current version in a shape, and a POST with an empty response.
  package convenience init(_ shape: ResponseShape, holding gates: [Gate] = []) {
    self.init(gates, shape) { origin, request, _, _ in
      // Only a successful response invalidates.
      request.method == .post ? .ok("", [:]) : shape.response(origin.contents.count, to: request)
    }
  }

  /// Makes an origin of one text that understands ranges and preconditions. Each version has its number as entity tag.
  package convenience init(text: String) {
    self.init(text: text) { origin, request, _, _ in origin.range(request) }
  }

  /// Makes an origin that answers with the requested language, and varies on it.
  package static func varyingOnLanguage() -> MemoryOrigin {
    MemoryOrigin { request, _ in
      .ok(
        request.headerFields[.acceptLanguage] ?? "none",
        [.cacheControl: "max-age=60", .vary: "Accept-Language"])
    }
  }

  /// All requests so far.
  package var requests: [HTTPRequest] { log.all }

  /// The contents of all requests so far, if the origin reads them.
  package var requestContents: [String] { received.all }

  /// Returns when the origin has got this many requests.
  package func reach(_ count: Int) async throws { try await log.reach(count) }

  package var transport: Transport {
    { [self] request, body in
      let number = log.add(request)
      let response: Result<TransportResponse, any Error>
      do {
        response = .success(try await answer(self, request, body, number))
      } catch {
        response = .failure(error)
      }
      if !gates.isEmpty { await gates[min((number - 1) / count, gates.count - 1)].wait() }
      return try response.get()
    }
  }

  // MARK: - Versions

  /// The text of each version, the first first.
  package var contents: [String] { state.withLock { $0.contents } }

  /// Begins a new version.
  package func change(to text: String = "") { state.withLock { $0.contents.append(text) } }

  /// The next answers of a text end after this many bytes each.
  package func breakOff(after counts: [Int]) { state.withLock { $0.breaks = counts } }

  private func range(_ request: HTTPRequest) -> TransportResponse {
    let (contents, breaking) = state.withLock { ($0.contents, $0.breaks.first) }
    let tag = "\"\(contents.count)\""
    var fields: HTTPFields = [.cacheControl: "max-age=60", .eTag: tag]
    if request.headerFields[.ifNoneMatch]?.contains(tag) == true {
      return .ok("", fields, status: .notModified)
    }
    let content = Array((contents.last ?? "").utf8)
    var status = HTTPResponse.Status.ok
    var part = content[...]
    if let range = request.headerFields[.range].flatMap({ RangeField(parsing: $0) }),
      request.headerFields[.ifRange].map({ $0 == tag }) ?? true
    {
      // Only the first of several: a server may send less than was asked for.
      guard let first = range.resolved(length: Int64(content.count)).first else {
        return .ok("", [.contentRange: "bytes */\(content.count)"], status: .rangeNotSatisfiable)
      }
      status = .partialContent
      part = content[Int(first.lowerBound)..<Int(first.upperBound)]
      fields[.contentRange] = "bytes \(first.lowerBound)-\(first.upperBound - 1)/\(content.count)"
    }
    fields[.contentLength] = String(part.count)
    let breaksOff = breaking.map { $0 < part.count } ?? false
    if breaksOff {
      part = part.prefix(breaking ?? 0)
      state.withLock { _ = $0.breaks.removeFirst() }
    }
    return TransportResponse(
      head: HTTPResponse(status: status, headerFields: fields),
      body: MessageBody(inPieces: part, breaksOff: breaksOff))
  }
}
