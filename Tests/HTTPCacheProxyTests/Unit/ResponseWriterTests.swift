// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching
import HTTPTypes
import NIOCore
import TestSupport
import Testing

@testable import HTTPCacheProxy

/// A head is written from its stored form in the bytes in which it is written from its fields.
struct ResponseWriterTests {
  @Test(
    "A text is written once, whatever the buffer has room for",
    arguments: [0, 1, 1023, 1024, 1025, 4096, 4097, 20_000], [0, 1024, 4096, 32 << 10])
  func isWrittenOnce(_ count: Int, _ free: Int) {
    var bytes = ByteBuffer(string: "before")
    bytes.reserveCapacity(minimumWritableBytes: free)
    bytes.writeText { text in for _ in 0..<count { text.append(literal: "a") } }
    #expect(String(buffer: bytes) == "before" + String(repeating: "a", count: count))
  }

  /// Lines that an origin sends, as bytes: a value need not be UTF-8.
  private static let lines: [[(name: String, value: [UInt8])]] = {
    func lines(_ lines: [(String, String)]) -> [(name: String, value: [UInt8])] {
      lines.map { ($0, Array($1.utf8)) }
    }
    return [
      lines([]),
      lines([
        ("Content-Type", "text/html"), ("ETag", "\"1\""), ("SERVER", "s"), ("Content-Language", "de"),
        ("Date", "Mon, 12 Jan 1970 13:46:40 GMT"),
      ]),
      // In the spelling of HTTP/2, and in one that has no number in the stored form.
      lines([("content-type", "text/html"), ("CONTENT-LENGTH", "5"), ("x-cache", "a"), ("X-caChe", "b")]),
      lines([("Content-Length", "5"), ("Content-Length", "5"), ("X-Own", "1"), ("X-Own", "2")]),
      lines([("Age", "7"), ("Vary", ""), ("Server", "x"), ("etag", "W/\"long-enough\""), ("LINK", "<a>")]),
      lines([("AGE", "7"), ("X-A", ""), ("Server", "a\tb"), ("X-B", "1234567\t")]),
      lines([("Link", "</é>; rel=next"), ("X-A", "0123456789\u{7F}")]),
      [("X-Latin", [0x61, 0xE9]), ("Cache-Status", Array("ORIGIN; hit".utf8))],
      // More than a first attempt has room for.
      lines([("X-Long", String(repeating: "a", count: 5000)), ("X-After", "b")]),
      lines((0..<70).map { ("X-\($0)", String(repeating: "v", count: $0)) }),
    ]
  }()

  private static var dates: DateCache { DateCache(clock: ManualClock(Timestamp(seconds: 1_000_000))) }

  /// Calls `body` with the hits of a stored response: for GET and HEAD, and of a condition that matches.
  private static func withHits(
    _ index: Int, _ code: Int,
    _ body: (HTTPRequest.Method, CachedResponse, _ isNotModified: Bool) throws -> Void
  ) async throws {
    let cache = try HTTPCache.embedded()
    var fields: HTTPFields = [.cacheControl: "max-age=3600"]
    let content = code == 204 ? [] : Array("hello".utf8)
    for (name, value) in Self.lines[index] {
      let name = try #require(HTTPField.Name(name))
      fields.append(
        HTTPField(name: name, value: name == .contentLength ? Array("\(content.count)".utf8) : value))
    }
    let head = HTTPResponse(status: .init(code: code, reasonPhrase: "As It Is"), headerFields: fields)
    let request = HTTPRequest(method: .get, scheme: "http", authority: "a", path: "/")
    let first = try await cache.respond(to: request) { _, _ in
      TransportResponse(head: head, body: MessageBody(content))
    }
    for try await _ in first.body {}
    let condition = fields[.eTag].map { [$0] } ?? []
    for (method, conditions) in [
      (HTTPRequest.Method.get, []), (.head, []), (.get, condition), (.head, condition),
    ] {
      var asked = request
      asked.method = method
      asked.headerFields[values: .ifNoneMatch] = conditions
      if code == 404, !conditions.isEmpty { continue }
      guard case .answer(let hit) = cache.begin(asked), case .stored = hit.heading else {
        Issue.record("no hit from memory")
        return
      }
      try body(method, hit, !conditions.isEmpty && code < 300)
    }
  }

  @Test(
    "A hit's head has the same bytes from its stored form as from its fields",
    arguments: lines.indices, [200, 203, 204, 404])
  func isWrittenFromStoredForm(_ index: Int, _ code: Int) async throws {
    let writer = ResponseWriter(name: "cache", dates: Self.dates)
    try await Self.withHits(index, code) { method, hit, isNotModified in
      for (version, closes) in [(HTTPVersion.http11, false), (.http10, true)] {
        let stored = ResponseHead(hit, to: method, in: version)
        let made = ResponseHead(
          hit.head, to: method, in: version, isStored: true, length: hit.body.length)
        #expect(stored.framing == made.framing && stored.statusCode == (isNotModified ? 304 : code))
        // After what is already there, with and without room for more.
        for free in [0, 4096, 32 << 10] {
          let written = [stored, made].map { head in
            var bytes = ByteBuffer(string: "before")
            bytes.reserveCapacity(minimumWritableBytes: free)
            writer.write(head, closes: closes, to: &bytes)
            return bytes
          }
          #expect(written[0] == written[1], "\(written.map { String(buffer: $0) })")
        }
      }
    }
  }

  @Test(
    "A head has the fields that it has in HTTP/1.1, without those of a connection",
    arguments: lines.indices, [200, 204, 404])
  func fieldsOfHTTP2(_ index: Int, _ code: Int) async throws {
    let writer = ResponseWriter(name: "cache", dates: Self.dates)
    let fields = HTTP2ResponseFields(name: "cache", dates: Self.dates)
    try await Self.withHits(index, code) { method, hit, isNotModified in
      let head = ResponseHead(hit, to: method, in: .http2)
      var bytes = ByteBuffer()
      writer.write(head, closes: false, to: &bytes)
      let reader = HeadReader(limits: .init(), isResponse: true)
      var expected = ["\(isNotModified ? 304 : code)"]
      var isStatus = true
      try reader.readLines(bytes) { line throws(MessageFault) in
        if !isStatus {
          let (field, _) = try reader.field(line)
          expected.append("\(field.name.canonicalName): \(field.value)")
        }
        isStatus = false
      }
      let made = ResponseHead(hit.head, to: method, in: .http2, isStored: true, length: hit.body.length)
      for head in [head, made] {
        let written = fields.fields(of: head).map {
          $0.name == ":status" ? $0.value : "\($0.name): \($0.value)"
        }
        #expect(written == expected)
      }
    }
  }

  @Test("Fields of the origin's connection do not reach a client with HTTP/2")
  func hopByHop() {
    let fields = HTTP2ResponseFields(name: "cache", dates: Self.dates)
    let response = HTTPResponse(
      status: .init(code: 426),
      headerFields: [
        .connection: "upgrade, x-hop", .transferEncoding: "chunked", .upgrade: "websocket", .server: "s",
      ])
    let head = ResponseHead(response, to: .get, in: .http2, isStored: false, length: nil)
    #expect(head.framing == .chunked)
    #expect(fields.fields(of: head).map(\.name) == [":status", "server", "date", "via"])
    #expect(fields.fields(ofInterim: response).map(\.name) == [":status", "server"])
  }
}
