// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPTypes
import Testing

@testable import httpcache

@Suite("Heads copied from other tools", .timeLimit(.minutes(10)))
struct PastedHeadTests {
  private static let expected: HTTPFields = [
    .cacheControl: "max-age=60", .eTag: "\"a\"", .date: "Sun, 06 Nov 1994 08:49:37 GMT",
  ]

  static let pairs = "cache-control: max-age=60\netag: \"a\"\ndate: Sun, 06 Nov 1994 08:49:37 GMT\n"
  static let columns =
    "cache-control:\nmax-age=60\netag:\n\"a\"\ndate:\nSun, 06 Nov 1994 08:49:37 GMT\n"

  @Test(
    "The response is found in heads from developer tools of every form",
    arguments: [
      // Chrome, formatted, with and without the other sections; HTTP/2 has pseudo fields.
      (
        "Request URL:\nhttps://a.example/x?y\nRequest Method:\nGET\nStatus Code:\n200 OK\nRemote Address:\n[::1]:443\nReferrer Policy:\nno-referrer\n"
          + columns
          + ":authority:\na.example\n:method:\nGET\n:path:\n/x?y\n:scheme:\nhttps\naccept:\n*/*\ncache-control:\nno-cache\n",
        true, true
      ),
      (
        "General\nRequest URL: https://a.example/x?y\nRequest Method: GET\nStatus Code: 200 OK (from disk cache)\nResponse Headers\n"
          + pairs + "Request Headers\nAccept: */*\nHost: a.example\nCache-Control: no-cache\n", true, true
      ),
      ("Response Headers (123 B)\n\n" + columns, false, false),
      ("General\nRequest URL:\nhttps://a.example/\nStatus Code:\n200\n" + columns, true, true),
      (columns, false, false), (pairs, false, false),
      ("\n  " + pairs.replacing("\n", with: "\n  "), false, false),
      (":status: 200\n" + pairs, false, true), (":status:\n200\n" + columns, false, true),
      // Chrome, "view source"; Firefox, raw.
      ("HTTP/1.1 200 OK\n" + pairs, false, true), ("HTTP/2 200 \n" + pairs, false, true),
      ("HTTP/3 200 OK\r\n" + pairs, false, true),
      (
        "Response Headers (1.2 kB)\nHTTP/2 200\n" + pairs
          + "Request Headers (300 B)\nGET /x?y HTTP/2\nHost: a.example\nAccept: */*\nCache-Control: no-cache\n",
        true, true
      ),
      (
        "GET /x?y HTTP/2\nHost: a.example\nAccept: */*\nCache-Control: no-cache\n\nHTTP/2 200\n" + pairs,
        true, true
      ),
      // Safari.
      (
        "Request\n:method: GET\n:scheme: https\n:authority: a.example\n:path: /x?y\nAccept: */*\nCache-Control: no-cache\n\nResponse\n:status: 200\n"
          + pairs, true, true
      ),
    ])
  func developerTools(text: String, hasRequest: Bool, hasStatus: Bool) throws {
    for text in [text, text.replacing("\n", with: "\r\n")] {
      let exchanges = try HeadParser.exchanges(in: Array(text.utf8))
      #expect(exchanges.count == 1)
      let exchange = try #require(exchanges.first)
      #expect(exchange.response.status.code == 200)
      #expect(Set(exchange.response.headerFields) == Set(Self.expected.map { $0 }))
      #expect(exchange.isStatusAssumed == !hasStatus)
      #expect((exchange.request != nil) == hasRequest)
      guard let request = exchange.request else { continue }
      #expect(request.method == .get)
      if request.target == "https://a.example/" { continue }
      #expect(request.target == "/x?y" || request.target == "https://a.example/x?y")
      #expect(request.fields[.accept] == "*/*")
      #expect(request.fields[.cacheControl] == "no-cache")
    }
  }

  @Test("Other status codes, empty values and repeated fields are kept")
  func details() throws {
    let text =
      "Status Code:\n304 Not Modified\nage:\nvary:\nCookie\nset-cookie:\na=1\nset-cookie:\nb=2: c\nlocation:\nhttps://b.example/:\n"
    let response = try #require(try HeadParser.exchanges(in: Array(text.utf8)).first).response
    #expect(response.status == .notModified)
    #expect(response.status.reasonPhrase == "Not Modified")
    #expect(response.headerFields[.age] == "")
    #expect(response.headerFields[values: .setCookie] == ["a=1", "b=2: c"])
    #expect(response.headerFields[.vary] == "Cookie")
    #expect(response.headerFields[.location] == "https://b.example/:")
  }

  @Test(
    "Other text with colons is not a head",
    arguments: [
      "Dear Sir: hello", "error: no such file\nhint: none\n", "General\n", "Response Headers\n", "a:\nb\n",
      ":\n", "::\n:\n",
    ])
  func others(text: String) {
    #expect(throws: InputError.self) { try HeadParser.exchanges(in: Array(text.utf8)) }
  }

  @Test("Each head in wget -S output has its URL, and the progress bar is skipped")
  func wget() throws {
    let text = """
      --2024-01-31 12:00:00--  http://a.example/
      Resolving a.example (a.example)... 127.0.0.1
      Connecting to a.example (a.example)|127.0.0.1|:80... connected.
      HTTP request sent, awaiting response... 
        HTTP/1.1 301 Moved Permanently
        Location: https://a.example/x?y
        Content-Length: 0
      Location: https://a.example/x?y [following]
      --2024-01-31 12:00:01--  https://a.example/x?y
      Connecting to a.example (a.example)|127.0.0.1|:443... connected.
      HTTP request sent, awaiting response... 
        HTTP/1.1 200 OK
        Cache-Control: max-age=60
        ETag: "a"
        Date: Sun, 06 Nov 1994 08:49:37 GMT
      Length: 12345 (12K) [text/html]
      Saving to: '/dev/null'

           0K .......... ..                                         100% 1.20M=0.01s

      2024-01-31 12:00:02 (1.20 MB/s) - '/dev/null' saved [12345/12345]
      """
    let exchanges = try HeadParser.exchanges(in: Array(text.utf8))
    #expect(exchanges.map(\.response.status.code) == [301, 200])
    #expect(exchanges.map { $0.request?.target } == ["http://a.example/", "https://a.example/x?y"])
    #expect(
      exchanges.last?.response.headerFields == Self.expected
        || Set(exchanges.last?.response.headerFields.map { $0 } ?? []) == Set(Self.expected.map { $0 }))
    let explanation = Explainer(systemTime: .init(seconds: 0)).explain(
      try #require(exchanges.last), after: Array(exchanges.dropLast()))
    #expect(explanation.title == "GET https://a.example/x?y -> 200 OK")
  }

  @Test("A head without a status line is explained as 200")
  func assumed() throws {
    let exchange = try #require(try HeadParser.exchanges(in: Array(Self.columns.utf8)).first)
    let explanation = Explainer(systemTime: .init(seconds: 0)).explain(exchange)
    #expect(explanation.notes.contains("The input has no status line; 200 (OK) is assumed."))
  }
}
