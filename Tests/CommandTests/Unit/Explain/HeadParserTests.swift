// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes
import Testing

@testable import httpcache

@Suite(.timeLimit(.minutes(10)))
struct HeadParserTests {
  private func parse(_ text: String) throws(InputError) -> [RecordedExchange] {
    try HeadParser.exchanges(in: Array(text.utf8))
  }

  @Test("The head in curl -i output is parsed without the content, with CRLF or LF")
  func plain() throws {
    let crlf = Transcripts.nginxStaticFile
    for text in [crlf, crlf.replacing("\r\n", with: "\n"), "\u{FEFF}\n\r\n" + crlf] {
      let exchanges = try parse(text)
      #expect(exchanges.count == 1)
      #expect(exchanges.first?.request == nil)
      #expect(exchanges.first?.response.status.code == 200)
      #expect(exchanges.first?.response.status.reasonPhrase == "OK")
      #expect(exchanges.first?.response.headerFields.count == 10)
      #expect(exchanges.first?.response.headerFields[.eTag] == "\"6365a1c8-60b\"")
    }
  }

  @Test("The marked lines in curl -v output are parsed without notes, progress and content")
  func verbose() throws {
    let exchange = try #require(try parse(Transcripts.verboseOverHTTP2).first)
    let request = try #require(exchange.request)
    #expect(request.method == .get)
    #expect(request.target == "/news?page=2")
    #expect(request.host == "www.example.com")
    #expect(request.isEncrypted == true)
    #expect(request.fields[.acceptLanguage] == "de, en")
    #expect(request.fields.count == 3)
    #expect(exchange.response.status.code == 200)
    #expect(exchange.response.headerFields.count == 5)
    #expect(exchange.line == 13)
  }

  @Test("All redirects are found, and 1xx responses and proxy tunnels are skipped")
  func several() throws {
    #expect(try parse(Transcripts.redirects).map(\.response.status.code) == [301, 302, 200])
    let proxied = try parse(Transcripts.throughProxy)
    #expect(proxied.map(\.response.status.code) == [201])
    #expect(proxied.first?.request?.method == .post)
    let plain =
      "HTTP/1.1 200 Connection established\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/2 404\r\n\r\n"
    #expect(try parse(plain).map(\.response.status.code) == [404])
  }

  @Test("A plain request head before the response is parsed, with or without content")
  func plainPair() throws {
    for content in ["", "a=b&c=d\n\n"] {
      let text = "PUT /x HTTP/1.1\nHost: a.example\nX: 1\n\n\(content)HTTP/1.1 204 No Content\nY: 2\n"
      let exchange = try #require(try parse(text).first)
      #expect(exchange.request?.method == .put)
      #expect(exchange.request?.fields == HTTPFields([HTTPField(name: try #require(.init("X")), value: "1")]))
      #expect(exchange.response.headerFields.count == 1)
    }
  }

  @Test("A folded line continues the value before it, and repeated lines stay separate")
  func folded() throws {
    let text = "HTTP/1.1 200 OK\nVary: a,\n\t b\nSet-Cookie: a\nSet-Cookie: b\n"
    let fields = try #require(try parse(text).first).response.headerFields
    #expect(fields[.vary] == "a, b")
    #expect(fields[values: .setCookie] == ["a", "b"])
  }

  @Test(
    "Text that is not a head is refused with its line number",
    arguments: [
      ("", nil, "empty"), (" \r\n\n", nil, "empty"), ("<html>", 1, "Expected a request line"),
      ("\n\nhello", 3, "Expected a request line"),
      ("{\"a\": 1}\n", 1, "Expected a request line"), ("HTTP/1.1\n", 1, "status code"),
      ("HTTP/1.1 OK 200\n", 1, "status code"),
      ("HTTP/1.1 99 x\n", 1, "status code"), ("HTTP/1.1 2000 x\n", 1, "status code"),
      ("HTTP/1.1 200 OK\nA: 1\nno colon\n", 3, "Expected a field line"),
      ("HTTP/1.1 200 OK\nA : 1\n", 2, "Expected a field line"),
      ("HTTP/1.1 200 OK\n: 1\n", 2, "Expected a field line"),
      ("HTTP/1.1 200 OK\n\tA: 1\n", 2, "control|Expected a field line"),
      ("HTTP/1.1 200 OK\nA: \u{1}\n", 2, "control"),
      ("GET / HTTP/1.1\nHost: a\n\n", nil, "no final response"),
      ("HTTP/1.1 103 Early Hints\n\n", nil, "no final response"),
      ("> GET / HTTP/1.1\n> \n", nil, "no final response"),
      ("< HTTP/1.1 200 OK\n< broken\n", 2, "Expected a field line"),
      ("\u{7F}ELF\u{2}\u{1}\u{0}\u{0}", 1, "Expected a request line"),
    ] as [(String, Int?, String)])
  func refused(text: String, line: Int?, problem: String) {
    let error = #expect(throws: InputError.self) { try parse(text) }
    #expect(error?.line == line)
    #expect(
      problem.split(separator: "|").contains { error?.problem.contains($0) == true },
      "\(error?.problem ?? "")")
    #expect(error?.advice.isEmpty == false)
    let shown = error?.text(file: "f") ?? ""
    #expect(shown.hasPrefix(line.map { "f:\($0): " } ?? "f: "))
    #expect(!shown.unicodeScalars.contains { $0.value < 0x20 && $0 != "\n" })
  }

  @Test("Arbitrary bytes never crash the head parser, whichever tool a head is from")
  func junk() {
    var state: UInt64 = 42
    func next() -> UInt8 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return UInt8(truncatingIfNeeded: state >> 33)
    }
    let seeds = [
      Transcripts.nginxStaticFile, Transcripts.verboseOverHTTP2, Transcripts.throughProxy,
      PastedHeadTests.columns, "General\n" + PastedHeadTests.pairs,
      "--a--  http://a/\n  HTTP/1.1 200 OK\n  a: b\nx\n",
    ]
    for round in 0..<1800 {
      var bytes = Array(seeds[round % seeds.count].utf8)
      for _ in 0..<Int(next() % 8) { bytes[(Int(next()) << 8 | Int(next())) % bytes.count] = next() }
      _ = try? HeadParser.exchanges(in: bytes)
      _ = try? HeadParser.exchanges(in: (0..<200).map { _ in next() })
      _ = try? HeadParser.exchanges(in: Array("HTTP/1.1 200 OK\n".utf8) + (0..<200).map { _ in next() })
    }
  }
}
