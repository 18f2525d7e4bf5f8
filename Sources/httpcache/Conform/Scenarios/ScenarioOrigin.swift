// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheEngine
import HTTPCaching
import HTTPTypes

/// The origin of one scenario, in memory: answers according to the steps and records its requests.
final class ScenarioOrigin: Sendable {
  struct Record: Sendable {
    var step: Int
    var request: HTTPRequest
    var content: String
    var responseFields: HTTPFields
    /// Names and values that must reach the client.
    var checked: [(name: String, value: String)]
    var time: Timestamp
  }

  struct Disconnected: Error {}

  private let scenario: Scenario
  private let clock: any ScenarioClock
  private let records = Mutex<[Record]>([])

  init(_ scenario: Scenario, clock: any ScenarioClock) {
    self.scenario = scenario
    self.clock = clock
  }

  var requests: [Record] { records.withLock { $0 } }

  /// Answers with the interim responses of the step first, if it has any.
  func answer(_ request: HTTPRequest, content: String) async throws -> TransportResponse {
    let step = step(of: request)?.step
    let interim = step?.list("interim_responses").compactMap(Self.interimHead) ?? []
    return try await answer(
      request, content, behind: interim[...], pause: step?["response_pause"]?.integer ?? 0)
  }

  private func answer(
    _ request: HTTPRequest, _ content: String, behind interim: ArraySlice<HTTPResponse>, pause: Int64
  ) async throws -> TransportResponse {
    guard let first = interim.first else {
      await clock.pass(seconds: pause)
      return try final(request, content)
    }
    return TransportResponse(interim: first) {
      try await self.answer(request, content, behind: interim.dropFirst(), pause: pause)
    }
  }

  private static func interimHead(_ value: JSONValue) -> HTTPResponse? {
    guard let parts = value.list, let code = parts.first?.integer, (100...199).contains(code) else {
      return nil
    }
    var head = HTTPResponse(status: .init(code: Int(code)))
    for field in (parts.dropFirst().first?.list ?? []).compactMap(FieldSpecification.init) {
      head.headerFields.append(named: field.name, field.value.text ?? "")
    }
    return head
  }

  private func step(of request: HTTPRequest) -> (number: Int, step: Step)? {
    guard let number = request.headerFields[named: "Req-Num"].flatMap({ Int($0) }),
      scenario.steps.indices.contains(number - 1)
    else { return nil }
    return (number, scenario.steps[number - 1])
  }

  private func final(_ request: HTTPRequest, _ content: String) throws -> TransportResponse {
    guard let (number, step) = step(of: request) else { throw Disconnected() }
    let now = clock.now
    let previous = records.withLock { $0.last }
    var fields = HTTPFields()
    var checked: [(String, String)] = []
    let baseURL = request.path ?? "/"
    for specification in step.fields("response_headers") {
      let value = Self.value(of: specification, step: step, now: now, baseURL: baseURL)
      fields.append(named: specification.name, value)
      if specification.isChecked { checked.append((specification.name, value)) }
    }
    var status = status(of: step, request, previous, fields)
    let record = Record(
      step: number, request: request, content: content, responseFields: fields, checked: checked, time: now)
    let all = records.withLock { records in
      records.append(record)
      return records
    }
    if step.flag("disconnect") { throw Disconnected() }
    fields.append(named: "Server-Base-Url", baseURL)
    fields.append(named: "Server-Request-Count", String(all.count))
    fields.append(named: "Client-Request-Count", String(number))
    fields.append(named: "Server-Now", String(now.milliseconds))
    fields.append(named: "Request-Numbers", all.map { String($0.step) }.joined(separator: " "))
    if fields[.contentType] == nil { fields[.contentType] = "text/plain" }
    let hasContent = status != 204 && status != 304 && request.method != .head
    let body = hasContent ? (step.text("response_body") ?? Self.defaultBody(scenario)) : ""
    // On a connection, Content-Length determines the end of the content (RFC 9112 §6.3).
    let length = fields[.contentLength].flatMap { Int($0) } ?? .max
    var bytes = Array(body.utf8.prefix(max(length, 0)))[...]
    let heedsIfRange = step.text("ranges") != "always"
    if step.flag("ranges") || !heedsIfRange, status == 200,
      let selection = OriginRange(
        request.headerFields, of: bytes.count, validators: heedsIfRange ? fields : nil)
    {
      status = selection.status
      fields[.contentRange] = selection.contentRange
      bytes = bytes[selection.range]
      if fields[.contentLength] != nil { fields[.contentLength] = String(bytes.count) }
    }
    return TransportResponse(
      head: HTTPResponse(status: .init(code: status), headerFields: fields),
      body: step["truncate_after"]?.integer.map { Self.broken(bytes.prefix(Int($0))) } ?? MessageBody(bytes))
  }

  /// Returns content that ends early, after these bytes.
  private static func broken(_ bytes: ArraySlice<UInt8>) -> MessageBody {
    MessageBody(
      AsyncThrowingStream<ArraySlice<UInt8>, any Error> { continuation in
        continuation.yield(bytes)
        continuation.finish(throwing: Disconnected())
      })
  }

  /// Returns a text unique to the scenario, of 36 bytes: some scenarios contain the length of the suite's own, a UUID.
  static func defaultBody(_ scenario: Scenario) -> String {
    let hash = scenario.id.utf8.reduce(into: UInt64(0xcbf2_9ce4_8422_2325)) {
      $0 = ($0 ^ UInt64($1)) &* 0x100_0000_01b3
    }
    let text = "\(String(hash, radix: 16)) \(scenario.id)"
    return text.prefix(36) + String(repeating: ".", count: max(0, 36 - text.count))
  }

  private func status(
    of step: Step, _ request: HTTPRequest, _ previous: Record?, _ fields: HTTPFields
  ) -> Int {
    let chosen = step.list("response_status").first?.integer.map { Int($0) } ?? 200
    if step.flag("validates") {
      return Self.isCurrent(request, fields) ? 304 : chosen
    }
    guard step.text("expected_type")?.hasSuffix("validated") == true else { return chosen }
    if let since = request.headerFields[.ifModifiedSince],
      since == previous?.responseFields[.lastModified]
    {
      return 304
    }
    if let tags = request.headerFields[.ifNoneMatch], tags == previous?.responseFields[.eTag] { return 304 }
    return 999
  }

  /// Whether the request's precondition names the origin's current representation (RFC 9110 §13.2.2).
  private static func isCurrent(_ request: HTTPRequest, _ fields: HTTPFields) -> Bool {
    if let condition = request.headerFields[.ifNoneMatch] {
      let tags = condition.split(separator: ",").map { $0.drop { $0 == " " } }
      return tags.contains { fields[.eTag] == String($0) } || condition == "*"
    }
    return request.headerFields[.ifModifiedSince].map { $0 == fields[.lastModified] } ?? false
  }

  static func value(
    of specification: FieldSpecification, step: Step, now: Timestamp, baseURL: String
  ) -> String {
    let name = specification.name.lowercased()
    if let offset = specification.value.integer {
      guard dateFields.contains(name) else { return String(offset) }
      let date = HTTPDate(now.advanced(bySeconds: offset))
      let isRFC850 = step.list("rfc850date").contains { $0.text?.lowercased() == name }
      return isRFC850 ? date.rfc850 : date.fieldValue
    }
    let text = specification.value.text ?? ""
    if step.flag("magic_locations"), name == "location" || name == "content-location" {
      return text.isEmpty ? baseURL : "\(baseURL)/\(text)"
    }
    return text
  }

  static let dateFields: Set<String> = [
    "date", "expires", "last-modified", "if-modified-since", "if-unmodified-since",
  ]
}

/// A clock that an origin can use to delay its response.
protocol ScenarioClock: CacheClock {
  func pass(seconds: Int64) async
}

/// A clock that moves only when the runner moves it.
final class VirtualClock: ScenarioClock {
  private let time: Mutex<Timestamp>

  init(_ time: Timestamp) {
    self.time = Mutex(time)
  }

  var now: Timestamp { time.withLock { $0 } }

  func pass(seconds: Int64) async { advance(seconds: seconds) }

  func advance(seconds: Int64) {
    time.withLock { $0 = $0.advanced(bySeconds: seconds) }
  }
}

extension HTTPFields {
  subscript(named name: String) -> String? { HTTPField.Name(name).flatMap { self[$0] } }

  mutating func append(named name: String, _ value: String) {
    if let name = HTTPField.Name(name) { append(HTTPField(name: name, value: value)) }
  }
}

extension HTTPDate {
  /// `Sunday, 06-Nov-94 08:49:37 GMT`: the obsolete format of RFC 850, which caches must still read.
  var rfc850: String {
    let days = [
      "Sun": "Sunday", "Mon": "Monday", "Tue": "Tuesday", "Wed": "Wednesday", "Thu": "Thursday",
      "Fri": "Friday", "Sat": "Saturday",
    ]
    let parts = fieldValue.split(separator: " ")
    let weekday = String(parts[0].dropLast())
    return "\(days[weekday] ?? weekday), \(parts[1])-\(parts[2])-\(parts[3].suffix(2)) \(parts[4]) GMT"
  }
}

/// The response of an origin that supports ranges to a range request (RFC 9110 §14).
///
/// It does not use the engine's own parser of ranges, because it tests that.
struct OriginRange {
  var status: Int
  var range: Range<Int>
  var contentRange: String

  /// Makes the range of the response; `nil` if the complete content is the response. That is so if there is no range or
  /// several, or if If-Range names another representation.
  ///
  /// - Parameter validators: the validators to compare with If-Range; `nil` if the origin ignores If-Range.
  init?(_ request: HTTPFields, of length: Int, validators: HTTPFields?) {
    guard let field = request[.range], field.hasPrefix("bytes="), !field.contains(",") else { return nil }
    if let validators, let condition = request[.ifRange], condition != validators[.eTag],
      condition != validators[.lastModified]
    {
      return nil
    }
    let ends = field.dropFirst("bytes=".count).split(separator: "-", omittingEmptySubsequences: false)
    guard ends.count == 2 else { return nil }
    switch (Int(ends[0]), Int(ends[1])) {
    case (let first?, let last?) where first <= last:
      range = Swift.min(first, length)..<Swift.min(last + 1, length)
    case (let first?, nil) where ends[1].isEmpty: range = Swift.min(first, length)..<length
    case (nil, let count?) where ends[0].isEmpty: range = Swift.max(0, length - count)..<length
    default: return nil
    }
    status = range.isEmpty ? 416 : 206
    contentRange =
      range.isEmpty ? "bytes */\(length)" : "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(length)"
  }
}
