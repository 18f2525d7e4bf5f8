// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPTypes

/// Real field names and values, from which messages are put together.
enum Vocabulary {
  /// The moment about which everything happens.
  static let start = Timestamp(seconds: 784_111_777)

  static let origin = (scheme: "http", authority: "a.example")

  static let responseDirectives = [
    "max-age", "s-maxage", "no-cache", "no-store", "private", "public", "must-revalidate", "proxy-revalidate",
    "must-understand", "immutable", "stale-while-revalidate", "stale-if-error", "no-transform",
  ]
  static let requestDirectives = [
    "no-cache", "no-store", "max-age", "max-stale", "min-fresh", "only-if-cached", "stale-if-error",
  ]
  static let withTime: Set<String> = [
    "max-age", "s-maxage", "stale-while-revalidate", "stale-if-error", "max-stale", "min-fresh",
  ]
  static let statuses = [
    200, 200, 200, 200, 203, 204, 206, 301, 302, 304, 404, 405, 410, 412, 416, 418, 500, 501, 503, 504, 100,
    599,
    999,
  ]
  static let tags = ["\"a\"", "\"b\"", "W/\"a\"", "W/\"b\"", "\"a, b\"", "*", "a", "\"\"", "W/", ""]
  static let references = [
    "/r", "http://a.example/r", "/other", "../x/./y", "//b.example/", "http://b.example/r", "?q", "#f", "",
    "mailto:a",
    "http:", "http://", "HTTP://A.EXAMPLE:80/r",
  ]
  static let varies = [
    "Accept", "accept-language, Accept", "*", "Accept, *", "Cookie,,", "a b", "", "Accept-Encoding",
  ]
  static let ranges = [
    "bytes=0-1", "bytes=-2", "bytes=1-", "bytes=0-0,2-3", "bytes=99-", "bytes=1-0", "bytes=", "items=0-1",
    "bytes=0-9223372036854775807", "bytes=-0", "bytes=0-,0-,0-",
  ]
  static let contentRanges = [
    "bytes 0-1/9", "bytes 0-1/*", "bytes */9", "bytes 5-1/9", "x", "bytes 0-3/10", "bytes 2-5/10",
    "bytes 6-9/10", "bytes 4-9/10", "bytes 0-9/10", "bytes 2-3/*", "bytes 8-9/10",
    "bytes 0-9223372036854775805/9223372036854775806",
  ]
  static let targeted = [
    "max-age=60", "max-age=0", "no-store", "no-cache", "private", "must-revalidate, max-age=5",
    "s-maxage=60", "s-maxage=5, public", "max-age=\"a\"", "max-age=60, , no-store", "",
    "no-store=?0, must-understand", "max-age=5;a, stale-while-revalidate=60", "no-cache=\"etag\"",
    "private=(a b), max-age=9", "stale-if-error=60, max-age=1", "max-age=-1", "Max-Age=60",
  ]
  static let groups = ["\"a\"", "\"b\", \"a\"", "\"a\";x, b", "a", "\"", "", "(\"a\")", "\"\\\"\""]
  static let cleared = ["\"cache\"", "\"*\"", "cache", "\"cookies\", \"cache\"", ""]
  static let languages = ["de", "en", "DE", "de, en", "fr", ""]
}

/// A directive as it is written, with its argument where it has one.
struct Directive: Equatable {
  var name: String
  var argument: String?

  var text: String { argument.map { name + "=" + $0 } ?? name }
  var seconds: Int64? { argument.flatMap { Int64($0) } }
}

extension [Directive] {
  var text: String { map(\.text).joined(separator: ", ") }
}

extension InputNumbers {
  mutating func directives(of names: [String], atMost limit: Int) -> [Directive] {
    var directives: [Directive] = []
    for _ in 0..<integer(below: limit + 1) {
      let name = pick(names)
      var argument: String?
      if Vocabulary.withTime.contains(name) {
        // max-stale may stand alone; the others are invalid then.
        argument = byte() < 16 ? nil : String(seconds())
      } else if byte() > 250 {
        argument = pick(["\"accept\"", "\"set-cookie, a\"", "\"a b\"", "1", ""])
      }
      directives.append(Directive(name: name, argument: argument))
    }
    return directives
  }

  mutating func date() -> String {
    switch byte() {
    case 0..<200:
      let sign: Int64 = bool() ? 1 : -1
      let (offset, _) = seconds().multipliedReportingOverflow(by: sign)
      return HTTPDate(Vocabulary.start.advanced(bySeconds: offset)).fieldValue
    case 200..<220:
      return pick([
        "0", "-1", "", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994", "6 Nov 1994 8:49 UTC",
        "1994-11-06T08:49:37Z",
      ])
    default: return text()
    }
  }

  /// A field of a response, but for Cache-Control and Vary.
  mutating func responseField() -> HTTPField? {
    switch byte() % 24 {
    case 16, 17: HTTPField(name: .cdnCacheControl, value: byte() < 230 ? pick(Vocabulary.targeted) : text())
    case 18: HTTPField(name: .cacheGroups, value: byte() < 230 ? pick(Vocabulary.groups) : text())
    case 19: HTTPField(name: .cacheGroupInvalidation, value: byte() < 230 ? pick(Vocabulary.groups) : text())
    case 20: HTTPField(name: .clearSiteData, value: byte() < 230 ? pick(Vocabulary.cleared) : text())
    case 21: HTTPField(name: .contentLanguage, value: byte() < 230 ? pick(Vocabulary.languages) : text())
    // With these, parts can be told to be of one representation.
    case 22: HTTPField(name: .eTag, value: "\"a\"")
    case 23: HTTPField(name: .contentLength, value: "10")
    case 0, 1: HTTPField(name: .date, value: date())
    case 2, 3: HTTPField(name: .expires, value: date())
    case 4: HTTPField(name: .age, value: byte() < 230 ? String(seconds()) : text())
    case 5, 6: HTTPField(name: .lastModified, value: date())
    case 7, 8: HTTPField(name: .eTag, value: byte() < 240 ? pick(Vocabulary.tags) : text())
    case 9: HTTPField(name: .location, value: byte() < 200 ? pick(Vocabulary.references) : text())
    case 10: HTTPField(name: .contentLocation, value: byte() < 200 ? pick(Vocabulary.references) : text())
    case 11: HTTPField(name: .contentLength, value: byte() < 230 ? String(seconds()) : text())
    case 12: HTTPField(name: .contentRange, value: byte() < 230 ? pick(Vocabulary.contentRanges) : text())
    case 13:
      HTTPField(
        name: .connection, value: byte() < 200 ? pick(["close", "ETag, Date", "Cache-Control"]) : text())
    case 14: HTTPField(name: .setCookie, value: "a=b")
    default: HTTPField.Name(text()).map { HTTPField(name: $0, value: text()) }
    }
  }

  /// A field of a request, but for Cache-Control.
  mutating func requestField() -> HTTPField? {
    switch byte() % 12 {
    case 0: HTTPField(name: .ifNoneMatch, value: byte() < 240 ? pick(Vocabulary.tags) : text())
    case 1: HTTPField(name: .ifModifiedSince, value: date())
    case 2: HTTPField(name: .ifMatch, value: pick(Vocabulary.tags))
    case 3: HTTPField(name: .ifUnmodifiedSince, value: date())
    case 4: HTTPField(name: .range, value: byte() < 230 ? pick(Vocabulary.ranges) : text())
    case 5: HTTPField(name: .ifRange, value: bool() ? pick(Vocabulary.tags) : date())
    case 6: HTTPField(name: .authorization, value: "Basic QTpi")
    case 7: HTTPField(name: .accept, value: pick(["a", "b", "a,b", " a , b"]))
    case 8:
      HTTPField(
        name: .acceptLanguage,
        value: pick(["de", "DE", "de, en", "en", "en;q=0.5, de", "*", "de;q=0", "fr, de;q=0.1"]))
    case 9: HTTPField.Name("Pragma").map { HTTPField(name: $0, value: "no-cache") }
    default: HTTPField.Name(text()).map { HTTPField(name: $0, value: text()) }
    }
  }

  mutating func response() -> HTTPResponse {
    // Half of them as most are, or little would ever be stored.
    let isUsual = bool()
    var head = HTTPResponse(status: .init(code: isUsual ? 200 : pick(Vocabulary.statuses)))
    var directives = self.directives(of: Vocabulary.responseDirectives, atMost: isUsual ? 1 : 4)
    if isUsual { directives.append(Directive(name: "max-age", argument: String(byte()))) }
    if !directives.isEmpty {
      head.headerFields.append(HTTPField(name: .cacheControl, value: directives.text))
    }
    if byte() > 200 { head.headerFields.append(HTTPField(name: .cacheControl, value: text())) }
    if byte() > 180 { head.headerFields.append(HTTPField(name: .vary, value: pick(Vocabulary.varies))) }
    for _ in 0..<integer(below: 6) {
      if let field = responseField() { head.headerFields.append(field) }
    }
    return head
  }

  mutating func request() -> HTTPRequest {
    let methods: [HTTPRequest.Method] = [
      .get, .get, .get, .get, .get, .head, .post, .put, .delete, .options, .query,
    ]
    let isUsual = bool()
    var request = HTTPRequest(
      method: isUsual ? .get : pick(methods), scheme: Vocabulary.origin.scheme,
      authority: Vocabulary.origin.authority,
      path: "/r")
    if isUsual { return request }
    let directives = self.directives(of: Vocabulary.requestDirectives, atMost: 2)
    if !directives.isEmpty {
      request.headerFields.append(HTTPField(name: .cacheControl, value: directives.text))
    }
    for _ in 0..<integer(below: 4) {
      if let field = requestField() { request.headerFields.append(field) }
    }
    return request
  }
}

extension HTTPRequest.Method {
  static let query = HTTPRequest.Method("QUERY") ?? .get
}
