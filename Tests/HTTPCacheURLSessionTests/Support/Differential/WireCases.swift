// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import TestSupport

/// The cases of a kind: what an origin can send, and what an application can ask for.
///
/// What ends the process is left out, with the cache or without it: trailers, and a connection that ends within a head.
enum WireCases: String, CaseIterable {
  case statuses, interim, framings, fields, redirects, requests, targets, broken, heads

  var all: [WireCase] {
    switch self {
    case .statuses: Self.statusesCases
    case .interim: Self.interimCases
    case .framings: Self.framingsCases
    case .fields: Self.fieldCases
    case .redirects: Self.redirectsCases
    case .requests: Self.requestsCases
    case .targets: Self.targetsCases
    case .broken: Self.brokenCases
    case .heads: Self.headsCases
    }
  }

  /// The lines that make a response a stored one with a validator.
  private static let stored = ["Cache-Control: max-age=600", "ETag: \"1\""]

  private static func one(
    _ name: String, _ response: WireResponse, _ change: (inout WireCase) -> Void = { _ in }
  ) -> WireCase {
    var one = WireCase(name)
    change(&one)
    one.answer = response.bytes(isHead: one.method == "HEAD")
    return one
  }

  private static func ask(_ method: String, _ one: inout WireCase) {
    one.method = method
    if ["POST", "PUT", "PATCH"].contains(method) { one.content = Data("body".utf8) }
  }

  private static var statusesCases: [WireCase] {
    let some = [
      200, 201, 203, 204, 205, 206, 226, 299, 300, 304, 305, 306, 310, 399, 400, 401, 403, 404, 410, 418,
    ]
    let others = [429, 451, 499, 500, 501, 502, 503, 504, 511, 599, 600, 999]
    return usually(some + others, long: Array(200...999)).map {
      one("status \($0)", WireResponse($0, stored))
    }
  }

  private static var interimCases: [WireCase] {
    let finals = usually([200, 304, 302], long: [200, 204, 206, 301, 302, 304, 307, 401, 404, 500, 503])
    return [[100], [102], [103], [103, 103], [100, 103], [199]].flatMap { interim in
      finals.flatMap { status in
        usually(["GET"], long: ["GET", "POST", "HEAD"]).map { method in
          var response = WireResponse(status, stored + (status / 100 == 3 ? ["Location: /to"] : []))
          response.interim = interim
          return one("\(method) \(interim) \(status)", response) { ask(method, &$0) }
        }
      }
    }
  }

  private static var framingsCases: [WireCase] {
    WireResponse.Framing.allCases.flatMap { framing in
      usually(["GET", "HEAD", "POST"], long: ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
        .flatMap {
          method in
          usually([7], long: [0, 1, 7, 5000, 300_000]).map { size in
            var response = WireResponse(200, stored)
            response.framing = framing
            response.content = (0..<size).map { UInt8(ascii: "a") + UInt8($0 % 26) }
            return one("\(method) \(framing) \(size)", response) { ask(method, &$0) }
          }
        }
    }
  }

  private static var fieldCases: [WireCase] {
    let lines = [
      "X-A: ä€", "X-A: 😀", "Content-Disposition: attachment; filename=\"ä€.txt\"", "ETag: \"ä\"",
      "Last-Modified: ä",
      "Link: <ä>", "X-A: ", "X-A:b", "X-A: a,b", "X-Tab: a\tb", "Set-Cookie: a=b; Path=/", "X-A: 1\r\nx-a: 2",
      "X_A: 1",
      "Content-Language: de\r\nContent-Language: en", "Content-Type: text/html; charset=utf-8",
      "Content-Encoding: identity", "Content-Encoding: unknown", "Vary: *", "Vary: Accept", "Age: 5",
      "Date: Sun, 06 Nov 1994 08:49:37 GMT", "Cache-Status: x; hit", "Warning: 110 - \"x\"", "Trailer: X",
      "Transfer-Encoding: identity", "Keep-Alive: timeout=5", "Upgrade: h2c", "Proxy-Connection: x",
      "X-Folded: a\r\n b",
      "Alt-Svc: h3=\":443\"", "WWW-Authenticate: Digest realm=\"a\"", "Retry-After: 1", "Content-Length: 7",
    ]
    return lines.flatMap { line in
      usually(
        [stored],
        long: [stored, ["Cache-Control: no-store"], ["Cache-Control: max-age=0", "ETag: \"1\""], []]
      )
      .map { one("\(line) \($0)", WireResponse(200, $0 + [line])) }
    }
  }

  private static var redirectsCases: [WireCase] {
    let locations = [
      "none", "", "/to", "/to#part", "/ä", "/日本?q=日本", "/a b", "/%zz", "ftp://x/", "http://127.0.0.1:PORT/to",
      "HTTP://127.0.0.1:PORT/to", "http://localhost:PORT/to", "http://", "//", "::", "to", "#part", "?q",
      "mailto:a@b",
    ]
    return usually([301, 303, 307], long: [300, 301, 302, 303, 304, 305, 306, 307, 308]).flatMap { status in
      locations.flatMap { location in
        usually(["GET"], long: ["GET", "POST", "HEAD", "PUT"]).map { method in
          let lines = ["Cache-Control: no-store"] + (location == "none" ? [] : ["Location: \(location)"])
          return one("\(method) \(status) to '\(location)'", WireResponse(status, lines)) {
            ask(method, &$0)
            $0.fields = ["Authorization": "Bearer a", "X-Own": "ä"]
          }
        }
      }
    }
  }

  private static var requestsCases: [WireCase] {
    let fields = [
      ("X-Filename", "報告.pdf"), ("X-Empty", ""), ("X-Padded", " a "), ("X-Semicolon", ";"), ("X_Under", "1"),
      ("Bad Name", "1"), ("Host", "example.com"), ("Accept-Encoding", "gzip"), ("Accept", "ä"),
      ("Cookie", "a=ä"),
      ("Accept-Language", ""), ("User-Agent", "me"), ("Referer", "http://a/ä"), ("Connection", "close"),
      ("Cache-Control", "no-cache"), ("Pragma", "no-cache"), ("If-None-Match", "\"1\""),
      ("If-Match", "\"1\""),
      ("If-Modified-Since", "Sun, 06 Nov 1994 08:49:37 GMT"), ("Range", "bytes=0-1"),
      ("Authorization", "Basic x"),
      ("Expect", "100-continue"), ("TE", "trailers"), ("Transfer-Encoding", "chunked"), ("Upgrade", "h2c"),
      ("Priority", "u=1"),
    ]
    return fields.flatMap { name, value in
      usually(["GET", "POST"], long: ["GET", "POST", "PUT", "HEAD", "DELETE"]).flatMap { method in
        usually([stored], long: [stored, ["Cache-Control: no-store"]]).map { lines in
          one("\(method) \(name): \(value) \(lines[0])", WireResponse(200, lines)) {
            ask(method, &$0)
            $0.fields = [name: value]
          }
        }
      }
    }
  }

  private static var targetsCases: [WireCase] {
    [
      "/x?q=ä", "/x?a=b&c", "/x#f", "/x;p", "/x//y", "/x/../y", "/x%2Fy", "/x%zz", "/x?a[]=1", "/x|y", "/x?",
      "/x?q=a b", "/x/日本", "/x%00", "/x?a=%E4", "/x/.", "/x\\y",
    ].map { path in one(path, WireResponse(200, stored)) { $0.path = path } }
  }

  private static var brokenCases: [WireCase] {
    let texts = [
      ("nothing", ""), ("garbage", "garbage\r\n\r\n"), ("a bad status", "HTTP/1.1 abc OK\r\n\r\n"),
      ("HTTP/1.0", "HTTP/1.0 200 OK\r\n\r\nabc"), ("HTTP/2", "HTTP/2 200 OK\r\n\r\nabc"),
      ("too little", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"),
      ("a bad chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
      ("half a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"),
      ("a line without a colon", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nline\r\n\r\nab"),
      ("two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nab"),
      ("LF only", "HTTP/1.1 200 OK\nContent-Length: 2\n\nab"),
      ("no reason", "HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nab"),
      ("only 103", "HTTP/1.1 103 Early\r\n\r\n"),
      ("204 with content", "HTTP/1.1 204 No\r\nContent-Length: 2\r\n\r\nab"),
    ]
    return texts.flatMap { name, text in
      [false, true].map { isReset in
        var one = WireCase("\(name), \(isReset ? "RST" : "FIN")", Array(text.utf8))
        one.isReset = isReset
        return one
      }
    } + [
      WireCase(
        "octets",
        Array("HTTP/1.1 200 OK\r\nX: caf".utf8) + [0xE9] + Array("\r\nContent-Length: 2\r\n\r\nok".utf8))
    ]
  }

  private static var headsCases: [WireCase] {
    usually([1, 60], long: [1, 8, 16, 17, 30, 60]).map { kilobytes in
      let lines = (0..<kilobytes).map { "X-\($0): \(String(repeating: "v", count: 1000))" }
      return one("a head of \(kilobytes) KB", WireResponse(200, stored + lines))
    }
  }
}
