// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import HTTPCaching
import HTTPTypes
import NIOHPACK
import TestSupport
import Testing

@testable import HTTPCacheProxy

@Suite("Fields of HTTP/2 to and from the origin", .timeLimit(.minutes(10)))
struct HTTP2OriginTests {
  private static func fields(_ request: HTTPRequest, _ body: MessageBody = .empty) -> HPACKHeaders {
    HTTP2RequestFields.fields(of: OriginRequest(request: request, body: body, via: "1.1 x"), scheme: "https")
  }

  @Test("Other requests refer to fields with few values, and never to secrets (RFC 7541 §7.1)")
  func indexing() throws {
    var request = HTTPRequest(method: .get, scheme: nil, authority: "a.example", path: "/private?token=1")
    request.headerFields = [
      .authorization: "Basic eDp5", .cookie: "a=1", .userAgent: "x", .accept: "*/*", .ifNoneMatch: "\"v1\"",
    ]
    let indexing = Dictionary(
      Self.fields(request).map { ($0.name, $0.indexable) }, uniquingKeysWith: { $1 })
    #expect(indexing["authorization"] == .neverIndexed && indexing["cookie"] == .neverIndexed)
    #expect(indexing[":path"] == .nonIndexable && indexing["if-none-match"] == .nonIndexable)
    for name in [":authority", "user-agent", "accept", "via"] {
      #expect(indexing[name] == .indexable, "\(name)")
    }
  }

  @Test("A request without a host, or a path, has the pseudo-fields that it needs (RFC 9113 §8.3.1)")
  func pseudoFields() {
    let fields = Self.fields(HTTPRequest(method: .get, scheme: nil, authority: "", path: nil))
    #expect(fields.first(name: ":path") == "/" && fields.first(name: ":scheme") == "https")
    #expect(!fields.contains(name: ":authority"))
  }

  @Test("A head within the limits is read, and one byte or field more is refused")
  func limits() throws {
    let limits = ProxyConfiguration.HeadLimits(lineBytes: 20, headBytes: 40, fields: 3)
    func read(_ fields: [(String, String)]) throws -> HTTPResponse {
      try HTTPResponse.reading(HPACKHeaders([(":status", "200")] + fields), limits).head
    }
    let line = ("x-a", String(repeating: "b", count: 17))
    #expect(try read([line]).headerFields.count == 1)
    #expect(throws: MessageFault.self) { try read([("x-ab", line.1)]) }
    #expect(throws: MessageFault.self) { try read([line, ("y", String(repeating: "c", count: 10))]) }
    #expect(try read([("a", "1"), ("b", "2"), ("c", "3")]).headerFields.count == 3)
    #expect(throws: MessageFault.self) { try read([("a", "1"), ("b", "2"), ("c", "3"), ("d", "4")]) }
  }

  @Test("Trailers have the limits of a head")
  func trailers() throws {
    let limits = ProxyConfiguration.HeadLimits(lineBytes: 20, headBytes: 40, fields: 3)
    func read(_ count: Int, _ size: Int) throws -> Int {
      let fields = (0..<count).map { ("x-\($0)", String(repeating: "a", count: size)) }
      return try HTTPFields.reading(trailers: HPACKHeaders(fields), limits).count
    }
    #expect(try read(3, 10) == 3)
    #expect(throws: MessageFault.self) { try read(3, 11) }
    #expect(throws: MessageFault.self) { try read(4, 1) }
    #expect(throws: MessageFault.self) {
      try HTTPFields.reading(trailers: HPACKHeaders([(":status", "200")]), limits)
    }
  }

  @Test("Whatever head is accepted goes to a client of HTTP/1.1 as one head", arguments: 0..<10)
  func conversion(seed: Int) throws {
    var random = SplitMix64(seed: UInt64(seed))
    let odd = ["", " ", "\r\n", "\n", "\0", "\t", ":", "ä", "\u{FFFD}", "a", "200", "x-a", "X"]
    func text(_ usual: [String]) -> String { random.text(usual, odd: odd, every: 10) }
    var accepted = 0
    for round in 0..<1000 {
      var fields = [(":status", text(["200", "404", "103", "599", "304"]))]
      for _ in 0..<Int.random(in: 0...5, using: &random) {
        fields.append(
          (
            text([
              "content-type", "etag", "cache-control", "x-a", "content-length", "connection", ":status",
              "set-cookie",
            ]),
            text(["1", "max-age=5", "\"v1\"", " x ", "text/html"])
          ))
      }
      guard let (head, count) = try? HTTPResponse.reading(HPACKHeaders(fields), .init()) else { continue }
      accepted += 1
      #expect(count == fields.reduce(0) { $0 + $1.0.utf8.count + $1.1.utf8.count }, "\(round)")
      #expect("\(head.status.code)" == fields[0].1)
      #expect(head.headerFields.count == fields.count - 1)
      for (field, (name, value)) in zip(head.headerFields, fields.dropFirst()) {
        #expect(field.name.rawName == name && field.value == value.trimmingOptionalWhitespace, "\(fields)")
        // Nothing in it ends a line of HTTP/1.1, or its head.
        #expect(!field.value.utf8.contains { $0 == 0x0D || $0 == 0x0A || $0 == 0 }, "\(fields)")
        #expect(!name.isEmpty && !name.utf8.contains { $0 <= 0x20 || $0 == 0x3A }, "\(fields)")
      }
    }
    #expect(accepted > 100)
  }
}
