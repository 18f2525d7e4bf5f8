// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Testing

@testable import HTTPCacheEngine

@Suite("Dates in nonstandard formats", .timeLimit(.minutes(10)))
struct OddDateTests {
  @Test(
    "An unambiguous date in another format is recognised",
    arguments: [
      "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37", "06 Nov 1994 08:49:37 GMT",
      "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 06 Nov 1994 08:49:37 Z", "Sun, 06 Nov 1994 09:49:37 +0100",
      "Sun, 06 Nov 1994 03:19:37 -0530", "Sunday, 06 November 1994 08:49:37 GMT",
      "Sun,06 Nov 1994 08:49:37 gmt",
      "  Sun,  06\tNov 1994 8:49:37 GMT ", "Sunday, 06-Nov-1994 08:49:37 GMT", "6-nov-1994 08:49:37",
      "Nov 6 1994 08:49:37", "November 6, 1994 08:49:37 UTC", "Sun Nov 6 08:49:37 1994",
      "Sun Nov 06 08:49:37 UTC 1994",
      "1994-11-06T08:49:37Z", "1994-11-06T08:49:37", "1994-11-06 08:49:37", "1994-11-06T09:49:37.123+01:00",
      "1994-11-06 08:49:37.5 UTC", "1994-11-06T08:49:37+0000",
      // Those of HTTP are recognised as well.
      "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
    ])
  func recognised(text: String) {
    #expect(HTTPDate.recognised(text, now: arrival)?.timestamp == arrival)
  }

  @Test(
    "An ambiguous or malformed date is not recognised",
    arguments: [
      "", " ", ",", "yesterday", "0", "-1", "784111777", "1994", "08:49:37", "6 Nov 1994", "1994-11-06",
      "1994-11-06T", "Sun", "Sun, 06 Nov 94 08:49:37", "06 Nov 1994 08:49:37 EST", "06 Nov 1994 08:49:37 CET",
      "06/11/1994 08:49:37", "11/06/1994 08:49:37", "31 Feb 1994 08:49:37 GMT", "06 Nov 1994 24:49:37 GMT",
      "06 Nov 1994 08:60:37 GMT", "06 Nov 1994 08:49:61 GMT", "06 Foo 1994 08:49:37 GMT",
      "06 No 1994 08:49:37",
      "06 Nov Nov 1994 08:49:37", "06 Nov 1994 1994 08:49:37", "06 07 Nov 1994 08:49:37",
      "06 Nov 1994 08:49:37 09:00:00",
      "06 Nov 1994 08:49:37 GMT GMT", "06 Nov 1994 08:49:37 GMT+1", "06 Nov 1994 08:49:37 +2400",
      "06 Nov 1994 08:49:37 +010",
      "06 Nov 1994 08:49:37 +", "06 Nov 1994 -8:49:37", "06 Nov 1994 08:4:37", "06 Nov 1994 8",
      "06 Nov 1994 ::",
      "06 Nov 1994 08:49:37.", "06 Nov 1994 08:49:37.1234567890", "1994-13-06T08:49:37Z",
      "1994-11-06T08:49:37ZZ",
      "1994-11-06TT08:49:37Z", "19941106T084937Z", "\u{663}\u{664} Nov 1994 08:49:37",
      "6\u{300} Nov 1994 08:49:37",
      "Sun, 06 Nov 1994 08:49:37 GMT; length=5", String(repeating: "6", count: 100), "-", "--", "--:", "T",
      "1T", "1T1",
      "6 Nov 99999 08:49:37", "+00:00", "6 Nov 1994 08:49:37 +-100", "6 Nov 1994 08:49:37 +1:::1",
    ])
  func others(text: String) {
    #expect(HTTPDate.recognised(text, now: arrival) == nil)
  }
}
