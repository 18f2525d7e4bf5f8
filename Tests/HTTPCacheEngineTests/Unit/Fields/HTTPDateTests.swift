// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import Testing

@testable import HTTPCacheEngine

/// RFC 9110 §5.6.7, RFC 9111 §4.2.
@Suite(.timeLimit(.minutes(10)))
struct HTTPDateTests {
  private func parse(_ text: String) -> Int64? { HTTPDate(parsing: text, now: arrival)?.secondsSince1970 }

  @Test(
    "The three date formats are equivalent in any case",
    arguments: [
      "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
    ])
  func formats(text: String) {
    #expect(parse(text) == 784_111_777)
    #expect(parse(text.lowercased()) == 784_111_777)
    #expect(parse(text.uppercased()) == 784_111_777)
    #expect(parse(" \(text)\t") == 784_111_777)
  }

  @Test(
    "Known dates have the expected timestamps",
    arguments: [
      ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Wed, 31 Dec 1969 23:59:59 GMT", -1),
      ("Tue, 29 Feb 2000 00:00:00 GMT", 951_782_400), ("Wed, 29 Feb 2012 23:59:59 GMT", 1_330_559_999),
      ("Tue, 19 Jan 2038 03:14:08 GMT", 2_147_483_648), ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
      ("Sun, 31 Dec 2016 23:59:60 GMT", 1_483_228_800), ("Sat, 01 Jan 0000 00:00:00 GMT", -62_167_219_200),
      ("Fri Jan 31 00:00:00 2020", 1_580_428_800),
    ])
  func known(text: String, seconds: Int64) {
    #expect(parse(text) == seconds)
  }

  @Test(
    "An invalid date is rejected",
    arguments: [
      "", " ", "0", "-1", "1", "784111777", "Sun", "Sun,", "Sun, 06 Nov 1994", "Sun, 06 Nov 1994 08:49:37",
      "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 06 Nov 1994 08:49:37 EST", "Sun, 06 Nov 1994 08:49:37 +0000",
      "Sun, 06 Nov 1994 08:49:37 GMT+1", "Sun, 06 Nov 1994 08:49:37 GMTx", "Sun, 06 Nov 1994 08:49:37GMT",
      "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 94 08:49:37 GMT", "Sun, 06 Nov 19940 08:49:37 GMT",
      "Sun,  06 Nov 1994 08:49:37 GMT", "Sun, 06  Nov 1994 08:49:37 GMT", "Sun 06 Nov 1994 08:49:37 GMT",
      "Sun; 06 Nov 1994 08:49:37 GMT", "06 Nov 1994 08:49:37 GMT", "Xxx, 06 Nov 1994 08:49:37 GMT",
      "Sun, 06 Xxx 1994 08:49:37 GMT", "Sun, 06 November 1994 08:49:37 GMT", "Sun, 00 Nov 1994 08:49:37 GMT",
      "Sun, 31 Nov 1994 08:49:37 GMT", "Sun, 32 Dec 1994 08:49:37 GMT", "Wed, 29 Feb 2023 00:00:00 GMT",
      "Mon, 29 Feb 2100 00:00:00 GMT", "Thu, 29 Feb 1900 00:00:00 GMT", "Sun, 06 Nov 1994 24:00:00 GMT",
      "Sun, 06 Nov 1994 08:60:00 GMT", "Sun, 06 Nov 1994 08:49:61 GMT", "Sun, 06 Nov 1994 8:49:37 GMT",
      "Sun, 06 Nov 1994 08:49 GMT", "Sun, 06-Nov-94 08:49:37 GMT", "Sunday, 06 Nov 1994 08:49:37 GMT",
      "Sunday, 06-Nov-1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37", "Sun Nov 6 08:49:37 1994",
      "Sun Nov  6 08:49:37 94", "Sun Nov  6 08:49:37 1994 GMT", "Sun Nov 06 08:49:37 GMT 1994",
      "1994-11-06T08:49:37Z", "Sun, 06 Nov 1994 08:49:37 GMT, Sun, 06 Nov 1994 08:49:37 GMT",
      "Sun, ٠6 Nov 1994 08:49:37 GMT", "Sun, -6 Nov 1994 08:49:37 GMT", "Sün, 06 Nov 1994 08:49:37 GMT",
    ])
  func invalid(text: String) {
    #expect(parse(text) == nil)
  }

  @Test(
    "A two-digit year more than 50 years ahead is in the past",
    arguments: [
      // now, year as written, year meant
      ("Sun, 15 Jun 1994 12:00:00 GMT", "94", 1994), ("Sun, 15 Jun 1994 12:00:00 GMT", "95", 1995),
      ("Sun, 15 Jun 1994 12:00:00 GMT", "00", 2000), ("Sun, 15 Jun 1994 12:00:00 GMT", "44", 2044),
      ("Sun, 15 Jun 1994 12:00:00 GMT", "45", 1945), ("Sun, 15 Jun 2026 12:00:00 GMT", "25", 2025),
      ("Sun, 15 Jun 2026 12:00:00 GMT", "76", 2076), ("Sun, 15 Jun 2026 12:00:00 GMT", "77", 1977),
      ("Sun, 15 Jun 2026 12:00:00 GMT", "99", 1999), ("Sun, 15 Jun 2049 12:00:00 GMT", "99", 2099),
      ("Sun, 15 Jun 2051 12:00:00 GMT", "00", 2100),
    ])
  func century(now: String, year: String, meant: Int64) throws {
    let now = try #require(HTTPDate(parsing: now, now: arrival)).timestamp
    let date = try #require(HTTPDate(parsing: "Friday, 01-Jan-\(year) 00:00:00 GMT", now: now))
    #expect(date.calendarDate.year == meant)
  }

  @Test(
    "Only ASCII digits form a number in a date",
    arguments: [
      ("Sun, 06 Nov 1994 08:49:37 GMT", [5, 12, 14, 17, 20, 23]),
      ("Sunday, 06-Nov-94 08:49:37 GMT", [8, 15, 18, 21, 24]),
      ("Sun Nov 06 08:49:37 1994", [8, 11, 14, 17, 20, 22]),
    ])
  func numbers(text: String, places: [Int]) throws {
    let bytes = Array(text.utf8)
    var read: [String] = []
    for place in places {
      // Two bytes of one character, and one of each: of them as of all others, none is a digit.
      for first in 0xC2...0xDF as ClosedRange<UInt8> {
        for second in 0x80...0xBF as ClosedRange<UInt8> {
          var bytes = bytes
          bytes.replaceSubrange(place..<place + 2, with: [first, second])
          let text = String(decoding: bytes, as: UTF8.self)
          if parse(text) != nil { read.append(text) }
        }
      }
      for byte in 0x21..<0x7F as Range<UInt8> where !(0x30...0x39).contains(byte) {
        for offset in 0...1 {
          var bytes = bytes
          bytes[place + offset] = byte
          let text = String(decoding: bytes, as: UTF8.self)
          if parse(text) != nil { read.append(text) }
        }
      }
    }
    #expect(read == [])
  }

  @Test("The 50-year limit for two-digit years is exact to the day")
  func centuryEdge() throws {
    let now = try #require(HTTPDate(parsing: "Mon, 15 Jun 2026 00:00:00 GMT", now: arrival)).timestamp
    let (on, after) = ("Monday, 15-Jun-76 00:00:00 GMT", "Monday, 16-Jun-76 00:00:00 GMT")
    #expect(try #require(HTTPDate(parsing: on, now: now)).calendarDate.year == 2076)
    #expect(try #require(HTTPDate(parsing: after, now: now)).calendarDate.year == 1976)
  }

  @Test("Dates from year 0 to 9999 survive formatting and parsing")
  func roundTrip() throws {
    var numbers = SplitMix64(seed: 1)
    for _ in 0..<5000 {
      let date = HTTPDate(secondsSince1970: .random(in: -62_167_219_200...253_402_300_799, using: &numbers))
      #expect(HTTPDate(parsing: date.fieldValue, now: arrival) == date, "\(date.fieldValue)")
    }
  }

  @Test("Consecutive days of four centuries have consecutive dates and weekdays")
  func calendar() {
    let names = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    var (year, month, day) = (Int64(2000), Int64(1), Int64(1))
    var weekday = 5  // 2000-01-01 was a Saturday.
    var seconds: Int64 = 946_684_800
    while year < 2400 {
      let date = HTTPDate(secondsSince1970: seconds)
      if date.calendarDate != (year, month, day) || !date.fieldValue.hasPrefix(names[weekday]) {
        Issue.record("\(year)-\(month)-\(day) is written \(date.fieldValue)")
        return
      }
      seconds += 86_400
      weekday = (weekday + 1) % 7
      let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
      let length: [Int64] = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
      day += 1
      if day > length[Int(month) - 1] { (day, month) = (1, month + 1) }
      if month > 12 { (month, year) = (1, year + 1) }
    }
  }

  @Test("A date that the format cannot hold is clamped", arguments: [Int64.min, .max, 253_402_300_800])
  func clamped(seconds: Int64) {
    #expect(HTTPDate(secondsSince1970: seconds).fieldValue.count == 29)
  }

  @Test(
    "A time before the epoch is rounded down to its second",
    arguments: [(0, 0), (-1, -1), (-1000, -1), (-1001, -2), (.min, -9_223_372_036_854_776), (1999, 1)]
      as [(Int64, Int64)])
  func secondsBeforeTheEpoch(milliseconds: Int64, seconds: Int64) {
    let time = Timestamp(milliseconds: milliseconds)
    #expect(time.seconds == seconds)
    #expect(HTTPDate(time).secondsSince1970 == seconds)
    // The century of two digits is found from it.
    _ = HTTPDate(parsing: "Sunday, 06-Nov-94 08:49:37 GMT", now: time)
  }
}
