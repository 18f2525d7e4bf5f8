// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CachingClient
import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes
import TestSupport
import Testing

@Suite("The client of Examples/CachingClient")
struct CachingClientTests {
  /// A request after a time, what the origin sends if it is asked, and what the client gets.
  struct Step: Sendable {
    var method = HTTPRequest.Method.get
    var path = "/"
    var fields = HTTPFields()
    var policy = RequestCachePolicy.useProtocolCachePolicy
    var seconds: Int64 = 0
    /// The origin's response; `nil` for an origin that is not asked.
    var origin: (status: Int, fields: HTTPFields, content: String)?
    /// Whether the origin is unreachable.
    var isDown = false
    /// The status and the content; `nil` for the error of the transport.
    var expected: (status: Int, content: String)?
    /// Fields that the origin gets, or the client.
    var sent = HTTPFields()
    var received = HTTPFields()
  }

  private static let kept: HTTPFields = [.cacheControl: "max-age=60", .eTag: "\"a\""]
  private static let first = Step(origin: (200, kept, "0123456789"), expected: (200, "0123456789"))

  static let scenarios: [(name: String, steps: [Step])] = [
    (
      "A fresh response is reused",
      [first, Step(seconds: 59, expected: (200, "0123456789"), received: [.age: "59"])]
    ),
    (
      "A stale response is validated, and its lifetime begins again",
      [
        first,
        Step(
          seconds: 61, origin: (304, kept, ""), expected: (200, "0123456789"), sent: [.ifNoneMatch: "\"a\""]),
        Step(seconds: 59, expected: (200, "0123456789")),
      ]
    ),
    (
      "A stale response is replaced",
      [
        first, Step(seconds: 61, origin: (200, kept, "new"), expected: (200, "new")),
        Step(expected: (200, "new")),
      ]
    ),
    (
      "A range is cut from the stored content, and several are multipart",
      [
        first,
        Step(
          fields: [.range: "bytes=2-4"], expected: (206, "234"), received: [.contentRange: "bytes 2-4/10"]),
        Step(fields: [.range: "bytes=-1"], expected: (206, "9")),
        Step(fields: [.range: "bytes=50-"], expected: (416, "")),
        Step(fields: [.ifNoneMatch: "\"a\""], expected: (304, "")), Step(method: .head, expected: (200, "")),
      ]
    ),
    (
      "Parts are combined",
      [
        Step(
          fields: [.range: "bytes=0-3"],
          origin: (
            206, [.contentRange: "bytes 0-3/10", .eTag: "\"a\"", .cacheControl: "max-age=60"], "0123"
          ),
          expected: (206, "0123")),
        Step(
          origin: (
            206, [.contentRange: "bytes 4-9/10", .eTag: "\"a\"", .cacheControl: "max-age=60"], "456789"
          ),
          expected: (200, "0123456789"), sent: [.range: "bytes=4-", .ifRange: "\"a\""]),
        Step(expected: (200, "0123456789")),
      ]
    ),
    (
      "Variants are kept apart",
      [
        Step(
          fields: [.acceptLanguage: "de"],
          origin: (200, [.cacheControl: "max-age=60", .vary: "Accept-Language"], "Tag"),
          expected: (200, "Tag")),
        Step(
          fields: [.acceptLanguage: "en"],
          origin: (200, [.cacheControl: "max-age=60", .vary: "Accept-Language"], "day"),
          expected: (200, "day")),
        Step(fields: [.acceptLanguage: "de"], expected: (200, "Tag")),
        Step(fields: [.acceptLanguage: "en"], expected: (200, "day")),
      ]
    ),
    (
      "A POST invalidates its target",
      [
        first, Step(method: .post, origin: (204, [:], ""), expected: (204, "")),
        Step(origin: (200, kept, "new"), expected: (200, "new")),
      ]
    ),
    (
      "A POST invalidates the groups that its response names",
      [
        Step(origin: (200, kept + [("Cache-Groups", "\"g\"")], "one"), expected: (200, "one")),
        Step(
          method: .post, path: "/b", origin: (204, [:] + [("Cache-Group-Invalidation", "\"g\"")], ""),
          expected: (204, "")),
        Step(origin: (200, kept, "new"), expected: (200, "new")),
      ]
    ),
    (
      "An unreachable origin is the error of the transport, or a stale response where that is allowed",
      [
        Step(isDown: true, expected: nil),
        Step(
          origin: (200, [.cacheControl: "max-age=60, stale-if-error=600"], "kept"), expected: (200, "kept")),
        Step(seconds: 61, isDown: true, expected: (200, "kept")),
      ]
    ),
    (
      "What must not be stored is not, and only-if-cached sends nothing",
      [
        Step(origin: (200, [.cacheControl: "no-store"], "secret"), expected: (200, "secret")),
        Step(policy: .returnCacheDataDontLoad, expected: (504, "504: ")),
        Step(fields: [.cacheControl: "only-if-cached"], expected: (504, "504: ")),
      ]
    ),
    (
      "A stale response that may be used meanwhile is revalidated first",
      [
        Step(
          origin: (200, [.cacheControl: "max-age=60, stale-while-revalidate=600", .eTag: "\"a\""], "one"),
          expected: (200, "one")),
        Step(seconds: 61, origin: (200, kept, "two"), expected: (200, "two"), sent: [.ifNoneMatch: "\"a\""]),
      ]
    ),
  ]

  private struct Unreachable: Error {}

  @Test("A scenario is answered as the RFC requires", arguments: scenarios.map(\.name))
  func scenario(name: String) async throws {
    let steps = try #require(Self.scenarios.first { $0.name == name }).steps
    let clock = ManualClock(Timestamp(secondsSince1970: 1_800_000_000))
    let (asked, current) = (Recorder<HTTPRequest>(), Recorder<Step>())
    let client = CachingClient(store: try CacheStore(.init(memoryCapacity: 1 << 20)), now: { clock.now }) {
      request in
      asked.add(request)
      guard let step = current.all.last, let origin = step.origin, !step.isDown else { throw Unreachable() }
      return CachingClient.Response(
        head: HTTPResponse(status: .init(code: origin.status), headerFields: origin.fields),
        content: Array(origin.content.utf8))
    }
    for (index, step) in steps.enumerated() {
      clock.advance(seconds: step.seconds)
      current.add(step)
      let before = asked.all.count
      let request = HTTPRequest(
        method: step.method, scheme: "http", authority: "a.example", path: step.path,
        headerFields: step.fields)
      let response = try? await client.response(to: request, policy: step.policy)
      let text = response.map { String(decoding: $0.content, as: UTF8.self) }
      #expect(response?.head.status.code == step.expected?.status, "step \(index + 1)")
      #expect(
        text?.hasPrefix(step.expected?.content ?? "") ?? (step.expected == nil),
        "step \(index + 1): \(text ?? "")")
      if step.expected?.content == "" { #expect(text == "", "step \(index + 1)") }
      #expect(asked.all.count - before == (step.origin == nil && !step.isDown ? 0 : 1), "step \(index + 1)")
      for field in step.received {
        #expect(response?.head.headerFields[field.name] == field.value, "step \(index + 1)")
      }
      for field in step.sent {
        #expect(asked.all.last?.headerFields[field.name] == field.value, "step \(index + 1)")
      }
    }
  }

  @Test("Several ranges are one multipart content with the announced length (RFC 9110 §15.3.7.2)")
  func ranges() async throws {
    let client = CachingClient(
      store: try CacheStore(.init(memoryCapacity: 1 << 20)),
      now: { Timestamp(secondsSince1970: 1_800_000_000) }
    ) { _ in
      .init(head: HTTPResponse(status: .ok, headerFields: Self.kept), content: Array("0123456789".utf8))
    }
    var request = HTTPRequest(method: .get, scheme: "http", authority: "a.example", path: "/")
    _ = try await client.response(to: request)
    request.headerFields[.range] = "bytes=0-1,8-9"
    let response = try await client.response(to: request)
    let text = String(decoding: response.content, as: UTF8.self)
    #expect(response.head.status == .partialContent)
    #expect(response.head.headerFields[.contentLength] == "\(response.content.count)")
    #expect(
      text.contains("Content-Range: bytes 0-1/10\r\n\r\n01\r\n")
        && text.contains("bytes 8-9/10\r\n\r\n89\r\n"))
  }
}

/// Adds fields whose names HTTPTypes has no constants for.
private func + (fields: HTTPFields, others: [(String, String)]) -> HTTPFields {
  var fields = fields
  for (name, value) in others {
    if let name = HTTPField.Name(name) { fields.append(HTTPField(name: name, value: value)) }
  }
  return fields
}
