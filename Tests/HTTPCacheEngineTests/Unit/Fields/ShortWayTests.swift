// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes
import Testing

@testable import HTTPCacheEngine

/// What is worked out in a shorter way where that will do comes out as in the long one.
@Suite(.timeLimit(.minutes(10)))
struct ShortWayTests {
  @Test(
    "The frequent values of Accept-Encoding are normalised like any other",
    arguments: [
      "gzip", "gzip, deflate", "gzip, deflate, br", "gzip, deflate, br, zstd", "deflate, gzip, br, zstd",
    ])
  func preferences(value: Octets) {
    let normalized = { PreferenceField.normalized($0, of: .acceptEncoding, beyondSpelling: false) as Octets }
    #expect(normalized(value) == normalized(Octets(" " + value.description)))
    #expect(normalized(value) != normalized(Octets(value.description.uppercased())))
  }

  @Test(
    "The fixed-width date parser agrees with the general one",
    arguments: [
      arrivalDate, "sUN, 06 nOV 1994 08:49:37 gmt", "Sun, 31 Feb 1994 08:49:37 GMT",
      "Sun, 06 Nov 1994 24:49:37 GMT",
      "Sun, 06 Nov 1994 08:49:60 GMT", "Sun, 06 Nov 1994 08:49:37 UTC", "Sun; 06 Nov 1994 08:49:37 GMT",
      "Sun, 06 Nov 1994 08.49:37 GMT", "Sun, 0/ Nov 1994 08:49:37 GMT", "Sun, 06 Nov 19:4 08:49:37 GMT",
      "Sun, 06 Non 1994 08:49:37 GMT", "Son, 06 Nov 1994 08:49:37 GMT", "Sun, 29 Feb 2000 00:00:00 GMT",
      "Sun, 29 Feb 1900 00:00:00 GMT", "Sun,\u{0}06 Nov 1994 08:49:37 GMT",
      "\u{13}un, 06 Nov 1994 08:49:37 GMT",
    ])
  func dates(text: String) {
    #expect(text.utf8.count == 29)
    #expect(HTTPDate(parsing: text, now: arrival) == HTTPDate(parsing: " " + text, now: arrival))
  }

  @Test(
    "A request has a key exactly if one can be created",
    arguments: ["http", "HTTPS", "ftp", "1", nil] as [String?])
  func keys(scheme: String?) {
    for authority in ["a.example", "A.example:80", "[::1]", "a/b", "", nil] as [String?] {
      for path in ["/", "/a#b", "", "a", nil] as [String?] {
        var request = request()
        (request.scheme, request.authority, request.path) = (scheme, authority, path)
        #expect(CacheKey.exists(for: request) == (CacheKey(request) != nil))
      }
    }
  }

  @Test(
    "Directive names match in any case, and similar characters do not match",
    arguments: [
      ("max-age=5", true), ("MAX-AGE=5", true), ("Max\u{D}age=5", false), ("max-ag\u{5}=5", false),
      ("mby-age=5", false), ("max_age=5", false), ("max-age \u{1}=5", false),
    ])
  func directives(value: String, isMaxAge: Bool) {
    #expect((CacheControl(parsing: value).maxAge == 5) == isMaxAge)
  }

  // The short way does not skip a tab, so it leaves a member after a tab to the long way.
  @Test(
    "A directive with or without a number is read like any other member",
    arguments: [
      "max-age", "S-MAXAGE", "max-stale", "min-fresh", "no-cache", "no-store", "private", "public",
      "immutable",
      "must-revalidate", "must-understand", "only-if-cached", "proxy-revalidate", "stale-if-error",
      "stale-while-revalidate", "a", "a_b", "a;b", "a/no-store", "max-age;", "é", "-", "", "\"a\"",
    ])
  func members(name: String) {
    for argument in [
      "", "=5", "=0", "=007", "=999999999", "=1000000000", "=99999999999999999999", "=", "=-1", "=5x", "=5;",
      "=x", "=\"5\"", "=\"a,max-age=7\"", "= 5", " =5", "=5 ", "=5 6", "==5", " ",
    ] {
      for members in [
        [name + argument], ["public", name + argument], [name + argument, "max-age=9"],
        ["max-age=9", name + argument, name + argument],
      ] {
        let short = CacheControl(parsing: members.joined(separator: ","))
        #expect(
          short == CacheControl(parsing: members.map { "\t" + $0 }.joined(separator: ",")), "\(members)")
        #expect(short == CacheControl(parsing: members.joined(separator: " , , ")), "\(members)")
      }
    }
  }

  @Test("The token characters are exactly those of RFC 9110 §5.6.2")
  func tokenCharacters() {
    let marks = Array("!#$%&'*+-.^_`|~".utf8)
    for byte in UInt8.min ... .max {
      #expect(byte.isTokenCharacter == (marks.contains(byte) || byte.isDigit || byte.isLetter), "\(byte)")
    }
  }

  @Test(
    "Only stored fields decide whether a broken transfer can be completed",
    arguments: [
      ([], false), (["ETag: \"a\""], true), (["ETag: W/\"a\""], false),
      (["ETag: a b", "ETag: \"a\""], false),
      (["ETag: \"a\"", "ETag: a b"], true), (["ETag: \"a\"", "Connection: close"], true),
      (["ETag: \"a\"", "Connection: etag"], false), (["ETag: \"a\"", "Connection: content-length"], false),
      (["ETag: \"a\"", "Cache-Control: no-cache=\"etag\""], false),
      (["ETag: \"a\"", "Content-Encoding: gzip"], false),
      (["ETag: \"a\"", "Content-Encoding: Identity"], true),
      (["ETag: \"a\"", "Content-Encoding: gzip", "Connection: content-encoding"], true),
      (["Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT"], false),
      (["Last-Modified: Sun, 06 Nov 1994 08:49:36 GMT"], true),
      (
        [
          "Last-Modified: Sun, 06 Nov 1994 08:49:36 GMT", "Last-Modified: Sunday, 06-Nov-94 08:49:36 GMT",
        ], false
      ),
      (["ETag: \"a\"", "Content-Length: 9"], false),
    ] as [([String], Bool)])
  func assemblies(lines: [String], isKept: Bool) throws {
    var head = response(200, "Cache-Control: max-age=60", "Content-Length: 10", "Date: \(arrivalDate)")
    head.headerFields += HTTPFields(lines: lines)
    let outcome = CacheEngine.shared.firstOutcome(request(), head)
    #expect((outcome.assembly != nil) == isKept)
  }

  @Test("Connection-specific fields, and a field that Connection: close names, are not stored")
  func connection() throws {
    let removed = [
      "Keep-Alive: timeout=5", "TE: trailers", "Transfer-Encoding: chunked", "Upgrade: h2c",
      "Proxy-Connection: x",
      "Proxy-Authenticate: x", "Proxy-Authentication-Info: x", "Proxy-Authorization: x", "Close: x",
    ]
    let kept = ["Cache-Control: max-age=60", "Date: \(arrivalDate)", "X: y"]
    for count in [1, 3, removed.count] {
      var fields = HTTPFields(lines: ["Connection: close"])
      // Between those that stay.
      for (position, line) in removed.suffix(count).enumerated() {
        if position < kept.count { fields += HTTPFields(kept[position]) }
        fields += HTTPFields(line)
      }
      fields += HTTPFields(lines: Array(kept.dropFirst(count)))
      let stored = try #require(CacheEngine.shared.stored(HTTPResponse(status: .ok, headerFields: fields)))
      #expect(Array(stored.fields) == Array(HTTPFields(lines: kept)))
    }
  }
}
