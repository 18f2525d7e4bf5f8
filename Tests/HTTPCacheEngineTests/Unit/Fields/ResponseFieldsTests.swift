// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes
import Testing

@testable import HTTPCacheEngine

@Suite(.timeLimit(.minutes(10)))
struct ResponseFieldsTests {
  private func fields(_ lines: String...) -> ResponseFields {
    ResponseFields(HTTPFields(lines: lines), now: arrival, targets: [])
  }

  @Test(
    "Age is the first member of its field, and an invalid Age is ignored (RFC 9111 §5.1)",
    arguments: [
      (["Age: 5"], 5), (["Age: 0"], 0), (["Age: 5, 60"], 5), (["Age: 5", "Age: 60"], 5),
      (["Age: 007"], 7), (["Age: 99999999999999999999"], 2_147_483_648), (["Age: -5"], nil),
      (["Age: 5.5"], nil), (["Age: abc, 60"], nil), (["Age: "], nil), (["Age: +5"], nil),
      (["Age: \"5\""], nil),
      (["Age: 5;x"], nil), ([], nil),
    ] as [([String], Int64?)])
  func age(lines: [String], seconds: Int64?) {
    #expect(ResponseFields(HTTPFields(lines: lines), now: arrival, targets: []).age?.seconds == seconds)
  }

  @Test("Malformed or differing lines make a date field invalid (§4.2.1)")
  func dates() throws {
    let noon = try #require(HTTPDate(parsing: arrivalDate, now: arrival))
    #expect(fields().expires == .absent)
    #expect(fields("Expires: 0").expires == .invalid)
    #expect(fields("Expires: \(arrivalDate)").expires == .date(noon))
    #expect(fields("Expires: \(arrivalDate)", "Expires: \(arrivalDate)").expires == .date(noon))
    #expect(fields("Expires: \(arrivalDate)", "Expires: \(date(60))").expires == .invalid)
    #expect(fields("Expires: 0", "Expires: \(arrivalDate)").expires == .invalid)
    #expect(fields("Expires: \(arrivalDate)", "Expires: x").expires == .invalid)
    #expect(fields("Date: \(arrivalDate)").date == .date(noon))
    #expect(
      fields("Date: \(date(-9))", "Date: \(arrivalDate)").date.date
        == HTTPDate(arrival.advanced(bySeconds: -9)))
    #expect(
      fields("Date: \(arrivalDate)", "Date: \(date(-9))").date.date
        == HTTPDate(arrival.advanced(bySeconds: -9)))
    #expect(fields("Date: x", "Date: \(arrivalDate)").date == .date(noon))
    #expect(fields("Date: \(arrivalDate)", "Date: x").date == .date(noon))
    #expect(fields("Date: x", "Date: x").date == .invalid)
    #expect(fields("Last-Modified: \(arrivalDate)").hasValidator)
    #expect(!fields("Last-Modified: yesterday").hasValidator)
    #expect(fields("Last-Modified: \(arrivalDate)").lastModified == .date(noon))
    #expect(
      fields("Last-Modified: \(arrivalDate)", "Last-Modified: \(arrivalDate)").lastModified == .date(noon))
    #expect(fields("Last-Modified: \(arrivalDate)", "Last-Modified: \(date(60))").lastModified == .invalid)
    #expect(fields("Last-Modified: x", "Last-Modified: \(arrivalDate)").lastModified == .invalid)
    // Whatever was asked for already.
    let asctime = fields("Last-Modified: Mon Jan  1 12:00:00 2024")
    var other = fields("Last-Modified: Mon, 01 Jan 2024 12:00:00 GMT")
    #expect(asctime == other && asctime.hashValue == other.hashValue)
    other.lastModified = other.lastModified
    #expect(asctime == other)
    other.lastModified = .absent
    #expect(asctime != other && !other.hasValidator)
  }

  @Test("Cache-Control lines form one list, whatever the case of the name")
  func lines() {
    let parsed = fields("cache-control: max-age=60", "CACHE-CONTROL: private, max-age=5")
    #expect(parsed.cacheControl.maxAge == 5)
    #expect(parsed.cacheControl.contains(.isPrivate))
  }

  @Test(
    "A validator is an entity tag or a valid Last-Modified date (§4.3.1)",
    arguments: [
      ("ETag: \"a\"", true), ("ETag: W/\"a\"", true), ("ETag: ", false), ("ETag: *", false),
      ("Last-Modified: \(arrivalDate)", true), ("Last-Modified: x", false), ("X: y", false),
    ])
  func validators(line: String, hasValidator: Bool) {
    #expect(fields(line).hasValidator == hasValidator)
  }
}
