// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes
import Testing

@testable import HTTPCacheEngine

@Suite("Content-Range (RFC 9110 §14.4)", .timeLimit(.minutes(10)))
struct ContentRangeTests {
  @Test(
    "A byte range is parsed with or without a complete length",
    arguments: [
      ("bytes 0-4/10", .bytes(0..<5, of: 10)), ("bytes 9-9/10", .bytes(9..<10, of: 10)),
      ("BYTES 0-0/1", .bytes(0..<1, of: 1)), ("  bytes 4-9/*\t", .bytes(4..<10, of: nil)),
      ("bytes 000-0004/0010", .bytes(0..<5, of: 10)), ("bytes */47022", .unsatisfied(length: 47022)),
      ("bytes */0", .unsatisfied(length: 0)),
      ("bytes 0-9223372036854775805/9223372036854775806", .bytes(0..<(.max - 1), of: .max - 1)),
    ] as [(String, ContentRange)])
  func reads(text: String, range: ContentRange) {
    #expect(ContentRange(parsing: text) == range)
    #expect(ContentRange(parsing: range.fieldValue) == range)
  }

  @Test(
    "A contradictory, malformed or overflowing Content-Range is rejected",
    arguments: [
      "", "bytes", "bytes ", "bytes=0-4/10", "bytes 0-4", "bytes 0-4/", "bytes /10", "bytes -/10",
      "bytes -4/10",
      "bytes 4-/10", "bytes 4-3/10", "bytes 0-10/10", "bytes 0-9/9", "bytes */*", "bytes **/10",
      "bytes 0-4/**",
      "bytes  0-4/10", "bytes 0 -4/10", "bytes 0- 4/10", "bytes 0-4 /10", "bytes 0-4/ 10", "bytes +0-4/10",
      "bytes 0-+4/10", "bytes -1-4/10", "bytes 0x0-4/10", "bytes 0-4/1e1", "bytes 0-4/10, bytes 5-9/10",
      "bytes 0-1,3-4/10", "lines 0-4/10", "none", "bytes 0-4/10/10", "bytes 0--4/10", "/", "-", " /",
      "bytes\t0-4/10",
      "bytes 0-9223372036854775807/*", "bytes 0-4/9223372036854775807", "bytes 0-99999999999999999999999/*",
      "bytes 18446744073709551615-18446744073709551616/*", "bytes ٠-٤/10", "bytes 0-4\u{0}/10",
    ])
  func refuses(text: String) {
    #expect(ContentRange(parsing: text) == nil)
  }
}
