// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import HTTPCaching
import HTTPTypes
import NIOCore
import NIOHPACK
import Testing

@testable import HTTPCacheProxy

@Suite("Requests of HTTP/2", .timeLimit(.minutes(10)))
struct HTTP2RequestTests {
  private static let get = [
    (":method", "GET"), (":scheme", "https"), (":authority", "a.example"), (":path", "/x?y"),
  ]

  private static func read(
    _ fields: [(String, String)], hasContent: Bool = false, scheme: String = "https", isEncrypted: Bool = true
  ) throws(MessageFault) -> ClientRequest {
    try ClientRequest(
      HPACKHeaders(fields), hasContent: hasContent, .init(), scheme: scheme, isEncrypted: isEncrypted)
  }

  private static func get(_ fields: (String, String)...) -> [(String, String)] { get + fields }

  /// The fields of a request, in which one pseudo-field has another value, or none.
  private static func with(_ name: String, _ value: String?) -> [(String, String)] {
    get.compactMap { field in field.0 == name ? value.map { (name, $0) } : field }
  }

  // MARK: - What is refused

  static let refused: [(String, [(String, String)], Bool, Int)] = [
    ("no method", with(":method", nil), false, 400),
    ("no path", with(":path", nil), false, 400),
    ("no scheme", with(":scheme", nil), false, 400),
    ("no authority and no host", with(":authority", nil), false, 400),
    ("an empty path", with(":path", ""), false, 400),
    ("an invalid path", with(":path", "x"), false, 400),
    ("a URL as path", with(":path", "http://b.example/"), false, 400),
    ("a path with a blank", with(":path", "/a HTTP/1.1"), false, 400),
    ("a path with CR", with(":path", "/a\rb"), false, 400),
    ("a path with LF", with(":path", "/a\nHost: b"), false, 400),
    ("a path with NUL", with(":path", "/a\0"), false, 400),
    ("a path with a tab", with(":path", "/a\tb"), false, 400),
    ("a path with other than ASCII", with(":path", "/ä"), false, 400),
    ("a path with a fragment", with(":path", "/a#b"), false, 400),
    ("an asterisk without OPTIONS", with(":path", "*"), false, 400),
    ("a method with a blank", with(":method", "GET /x"), false, 400),
    ("a method with CR and LF", with(":method", "GET\r\nX"), false, 400),
    ("a method with a parenthesis", with(":method", "G(T"), false, 400),
    ("an empty method", with(":method", ""), false, 400),
    ("an authority with a blank", with(":authority", "a b"), false, 400),
    ("an authority with CR and LF", with(":authority", "a\r\nX: 1"), false, 400),
    ("an authority with user information", with(":authority", "u@a.example"), false, 400),
    ("an authority with a path", with(":authority", "a.example/x"), false, 400),
    ("an empty authority", with(":authority", ""), false, 400),
    ("a scheme with a path", with(":scheme", "https://b.example/"), false, 400),
    ("another scheme", with(":scheme", "ftp"), false, 400),
    ("a scheme that is not served", with(":scheme", "http"), false, 421),
    ("a pseudo-field twice", get((":path", "/other")), false, 400),
    ("a pseudo-field behind a field", [("x", "1")] + get, false, 400),
    ("an unknown pseudo-field with line breaks", [(":a\r\nb", "1")] + get, false, 400),
    ("a pseudo-field with line breaks behind a field", get(("x", "1"), (":a\r\nb", "1")), false, 400),
    ("a long pseudo-field", [(":" + String(repeating: "\n", count: 20_000), "1")] + get, false, 414),
    ("a long field", get((String(repeating: "\n", count: 20_000), "1")), false, 431),
    ("an unknown pseudo-field", [(":other", "1")] + get, false, 400),
    ("a pseudo-field of responses", [(":status", "200")] + get, false, 400),
    ("a protocol without CONNECT", [(":protocol", "websocket")] + get, false, 400),
    ("connection", get(("connection", "close")), false, 400),
    ("keep-alive", get(("keep-alive", "timeout=5")), false, 400),
    ("proxy-connection", get(("proxy-connection", "keep-alive")), false, 400),
    ("transfer-encoding", get(("transfer-encoding", "chunked")), true, 400),
    ("upgrade", get(("upgrade", "websocket")), false, 400),
    ("http2-settings", get(("http2-settings", "AAMAAABkAAQCAAAAAAIAAAAA")), false, 400),
    ("TE with another value", get(("te", "gzip")), false, 400),
    ("TE with two values", get(("te", "trailers, gzip")), false, 400),
    ("another host", get(("host", "b.example")), false, 400),
    ("two hosts", get(("host", "a.example"), ("host", "a.example")), false, 400),
    ("an uppercase name", get(("X-One", "1")), false, 400),
    ("a name with a colon", get(("x:y", "1")), false, 400),
    ("a name with a blank", get(("x ", "1")), false, 400),
    ("a name with CR and LF", get(("x\r\ny", "1")), false, 400),
    ("an empty name", get(("", "1")), false, 400),
    ("a value with CR", get(("x", "1\r2")), false, 400),
    ("a value with LF", get(("x", "1\n2")), false, 400),
    ("a value with NUL", get(("x", "1\0")), false, 400),
    ("a value with DEL", get(("x", "1\u{7F}")), false, 400),
    ("a value with blanks in front", get(("x", " 1")), false, 400),
    ("a value with a tab at its end", get(("x", "1\t")), false, 400),
    ("a value that is not UTF-8", get(("x", "1\u{FFFD}2")), false, 400),
    ("a cookie with LF", get(("cookie", "a=1\nX: 2")), false, 400),
    ("two lengths", get(("content-length", "1"), ("content-length", "1")), true, 400),
    ("an invalid length", get(("content-length", "+1")), true, 400),
    ("a list as length", get(("content-length", "1, 1")), true, 400),
    ("a negative length", get(("content-length", "-1")), true, 400),
    ("a length without content", get(("content-length", "1")), false, 400),
    ("another expectation", get(("expect", "200-ok")), true, 417),
    (
      "CONNECT", [(":method", "CONNECT"), (":authority", "a.example:443")], false, 400
    ),
    (
      "an extended CONNECT for another protocol",
      [(":protocol", "connect-udp")] + with(":method", "CONNECT"), true, 501
    ),
    (
      "an extended CONNECT whose stream has ended", [(":protocol", "websocket")] + with(":method", "CONNECT"),
      false, 400
    ),
    (
      "an extended CONNECT with a length",
      [(":protocol", "websocket")] + with(":method", "CONNECT") + [("content-length", "5")], true, 400
    ),
  ]

  @Test("What HTTP/1.1 would understand otherwise, or not at all, is refused", arguments: refused.indices)
  func refuse(index: Int) throws {
    let (name, fields, hasContent, status) = Self.refused[index]
    let fault = #expect(throws: MessageFault.self, "\(name)") {
      try Self.read(fields, hasContent: hasContent)
    }
    #expect(fault?.status == status, "\(name): \(fault?.reason ?? "")")
    // The client and the log get the reason, and must get nothing of the client's that was not checked.
    let reason = fault?.reason ?? ""
    #expect(
      reason.utf8.count < 200 && !reason.utf8.contains { $0 < 0x20 || $0 == 0x7F }, "\(name): \(reason)")
  }

  // MARK: - What is understood

  @Test("A request has the method, the target and the host of its pseudo-fields")
  func pseudoFields() throws {
    let request = try Self.read(
      Self.get(("x-one", "1"), ("host", "A.example:443"), ("accept", "a"), ("accept", "b")))
    #expect(request.request.method == .get && request.request.path == "/x?y")
    #expect(request.request.scheme == "https" && request.request.authority == "a.example")
    #expect(request.version == .http2 && request.framing == .none && !request.closes)
    #expect(
      request.request.headerFields.map { "\($0.name): \($0.value)" } == [
        "x-one: 1", "accept: a", "accept: b",
      ])
    #expect(
      try Self.read(Self.with(":authority", nil) + [("host", "b.example")]).request.authority == "b.example")
  }

  @Test(
    "The scheme is the one that is served, whatever a proxy in front sends without TLS",
    arguments: [
      ("https", "https", true), ("http", "https", true), ("http", "http", true), ("http", "http", false),
      ("http", "https", false), ("https", "http", false), ("https", "HTTPS", false),
    ])
  func schemes(served: String, named: String, isEncrypted: Bool) throws {
    let request = try Self.read(Self.with(":scheme", named), scheme: served, isEncrypted: isEncrypted)
    #expect(request.request.scheme == served)
  }

  @Test("The parts of Cookie become one field, at the end (RFC 9113 §8.2.3)")
  func cookies() throws {
    let request = try Self.read(Self.get(("cookie", "a=1"), ("x", "1"), ("cookie", "b=2; c=3")))
    #expect(request.request.headerFields.map(\.value) == ["1", "a=1; b=2; c=3"])
  }

  @Test("Content has the announced length, or ends with the stream")
  func framing() throws {
    #expect(try Self.read(Self.get, hasContent: true).framing == .chunked)
    #expect(try Self.read(Self.get(("content-length", "5")), hasContent: true).framing == .length(5))
    #expect(try Self.read(Self.get(("content-length", "0"))).framing == .none)
    #expect(try Self.read(Self.get(("content-length", "0")), hasContent: true).framing == .length(0))
    let waiting = try Self.read(Self.get(("expect", "100-Continue")), hasContent: true)
    #expect(waiting.expectsContinue)
    #expect(try !Self.read(Self.get(("expect", "100-continue"))).expectsContinue)
  }

  @Test("An extended CONNECT for a web socket is a request to upgrade (RFC 8441)")
  func webSocket() throws {
    let fields =
      [(":protocol", "WebSocket")] + Self.with(":method", "CONNECT") + [("sec-websocket-version", "13")]
    let (first, second) = (try Self.read(fields, hasContent: true), try Self.read(fields, hasContent: true))
    #expect(first.upgrade == "websocket" && first.request.method == .get && first.framing == .none)
    let name = try #require(HTTPField.Name("Sec-WebSocket-Key"))
    let keys = [first, second].compactMap { $0.request.headerFields[name] }
    #expect(keys.count == 2 && keys[0] != keys[1])
    #expect(keys.allSatisfy { $0.wholeMatch(of: /[A-Za-z0-9+\/]{21}[AQgw]==/) != nil })
  }

  @Test("Fields that a proxy sets are removed, as in HTTP/1.1")
  func removed() throws {
    let request = try Self.read(
      Self.get(
        ("x-forwarded-for", "1.2.3.4"), ("x_forwarded_for", "1.2.3.4"), ("forwarded", "for=1.2.3.4"),
        ("content_length", "5"), ("transfer_encoding", "chunked"), ("proxy-authorization", "x"), ("x_y", "1"),
        ("te", "trailers")))
    #expect(request.request.headerFields.map(\.name.canonicalName) == ["x_y", "te"])
    #expect(request.forwarding?.count == 3)
  }

  @Test(
    "Fields that name another method are removed from what the cache may answer or store, and from nothing else",
    arguments: [("GET", true), ("HEAD", true), ("QUERY", true), ("POST", false), ("DELETE", false)])
  func methodOverride(method: String, isRemoved: Bool) throws {
    let names = ["x-http-method-override", "x-http-method", "x-method-override"]
    let fields = Self.with(":method", method) + names.map { ($0, "DELETE") } + [("x-one", "1")]
    let request = try Self.read(fields)
    #expect(request.request.headerFields.map(\.name.rawName) == (isRemoved ? [] : names) + ["x-one"])
    #expect(request.methodOverrides?.map(\.name.rawName) == (isRemoved ? names : nil))
  }

  @Test("A web socket is a GET, from which fields that name another method are removed")
  func methodOfWebSocket() throws {
    let fields = [(":protocol", "websocket")] + Self.with(":method", "CONNECT")
    let request = try Self.read(fields + [("x-http-method-override", "POST")], hasContent: true)
    #expect(request.upgrade == "websocket" && request.methodOverrides?.count == 1)
    #expect(request.request.headerFields.map(\.name.canonicalName) == ["sec-websocket-key"])
  }

  // MARK: - Conversion

  /// A request of random parts, many of which are malformed.
  private static func random(_ random: inout SplitMix64) -> [(String, String)] {
    let odd = [
      "", " ", "\r\n", "\n", "\0", "\t", "#", ":", "ä", "\u{FFFD}", "@", "/", "?", "a", "GET", ",", "\"", "x",
    ]
    func text(_ usual: [String]) -> String { random.text(usual, odd: odd, every: 12) }
    var fields = [
      (":method", text(["GET", "POST", "OPTIONS", "purge", "M-SEARCH"])), (":scheme", text(["https"])),
      (":authority", text(["a.example", "A.example:443", "[::1]:8080", "127.0.0.1"])),
      (":path", text(["/", "/a?b=c", "*", "//x", "/%0d%0a", "/a;b,c"])),
    ]
    if random.next(upperBound: UInt64(8)) == 0 { fields.shuffle(using: &random) }
    if random.next(upperBound: UInt64(8)) == 0 { fields.removeLast() }
    let names = [
      "accept", "x-one", "cookie", "content-length", "te", "host", "cache-control", "if-none-match", "expect",
      "x-forwarded-for", "content_length", "range", "connection", "transfer-encoding", "max-forwards",
    ]
    for _ in 0..<Int.random(in: 0...5, using: &random) {
      fields.append(
        (text(names), text(["1", "trailers", "a.example", "100-continue", "a=b", "\"x\", \"y\"", "5"])))
    }
    return fields
  }

  @Test("Whatever is accepted is understood by both versions as the same request", arguments: 0..<10)
  func conversion(seed: Int) throws {
    var random = SplitMix64(seed: UInt64(seed))
    var accepted = 0
    for round in 0..<1000 {
      let fields = Self.random(&random)
      let hasContent = random.next(upperBound: UInt64(3)) == 0
      guard let request = try? Self.read(fields, hasContent: hasContent) else { continue }
      accepted += 1
      // As it goes to an origin.
      var bytes = ByteBuffer()
      let length = request.framing.length
      let body =
        request.framing == .none
        ? MessageBody.empty
        : MessageBody(AsyncThrowingStream<ArraySlice<UInt8>, any Error> { $0.finish() }, length: length)
      let sent = OriginRequest(request: request.request, body: body, via: "2.0 x")
      RequestWriter.write(sent, to: &bytes)
      var reader = HeadReader(limits: .init(), isResponse: false)
      let end = try reader.findEnd(in: bytes)
      #expect(end == bytes.readableBytes, "\(round): \(fields)")
      let read = try ClientRequest(bytes, reader, scheme: "https")
      #expect(read.request.method == request.request.method, "\(fields)")
      #expect(
        read.request.path == request.request.path && read.request.authority == request.request.authority)
      #expect(read.framing == (length == 0 ? .none : request.framing), "\(fields)")
      func others(_ request: ClientRequest) -> [String] {
        request.request.headerFields.filter {
          !["via", "content-length", "max-forwards"].contains($0.name.canonicalName)
        }
        .map { "\($0.name.canonicalName): \($0.value)" }.sorted()
      }
      #expect(others(read) == others(request), "\(fields)")
      // And to one of HTTP/2.
      let again = HTTP2RequestFields.fields(of: sent, scheme: "https").map { ($0.name, $0.value) }
      let repeated = try Self.read(again, hasContent: !sent.isWhole)
      #expect(
        repeated.request.method == request.request.method && repeated.framing == request.framing, "\(fields)")
      #expect(
        repeated.request.path == request.request.path
          && repeated.request.authority == request.request.authority)
      #expect(others(repeated) == others(request), "\(fields)")
    }
    #expect(accepted > 50)
  }
}
