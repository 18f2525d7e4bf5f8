// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPTypes
import Testing

@Suite("Ranges of stored content (RFC 9110 §14)", .timeLimit(.minutes(10)))
struct ContentSelectionTests {
  @Test(
    "Ranges are resolved against the length",
    arguments: [
      ("bytes=0-1", [0..<2]), ("bytes=3-", [3..<10]), ("bytes=-4", [6..<10]), ("bytes=-99", [0..<10]),
      ("bytes=2-99", [2..<10]), ("Bytes=0-0, 9-9", [0..<1, 9..<10]), ("bytes= 0-1 ,, 5-6 ", [0..<2, 5..<7]),
      ("bytes=10-", []), ("bytes=-0", []), ("bytes=12-20, 1-1", [1..<2]),
      ("bytes=0-99999999999999999999999", [0..<10]),
    ] as [(String, [Range<Int64>])])
  func resolved(text: String, ranges: [Range<Int64>]) throws {
    #expect(try #require(RangeField(parsing: text)).resolved(length: 10) == ranges)
  }

  @Test(
    "An invalid list of byte ranges is ignored (§14.2)",
    arguments: [
      "", "bytes", "bytes=", "bytes=a-b", "bytes=5-2", "bytes=-", "lines=0-1", "bytes=1", "bytes=0-1, x",
      "bytes=+1-2", "bytes=" + Array(repeating: "0-0", count: 17).joined(separator: ","),
    ])
  func ignored(text: String) {
    #expect(RangeField(parsing: text) == nil)
  }

  /// A stored 200 of ten bytes.
  private func stored(_ lines: String...) throws -> StoredResponse {
    var head = response()
    head.headerFields = HTTPFields(lines: lines)
    var stored = try #require(CacheEngine.privately.stored(head))
    stored.contentLength = 10
    return stored
  }

  private func cut(
    _ lines: String..., of stored: StoredResponse, after seconds: Int64 = 1
  ) -> CacheEngine.ContentSelection? {
    var asked = request()
    asked.headerFields = HTTPFields(lines: lines)
    return CacheEngine.privately.plan(asked, [stored], after: seconds).service?.content
  }

  @Test("A complete stored response answers a range with 206 and Content-Range")
  func single() throws {
    let stored = try self.stored("Cache-Control: max-age=60", "ETag: \"a\"", "Content-Length: 10")
    let selection = try #require(cut("Range: bytes=2-4", of: stored))
    #expect(selection == .ranges([2..<5], of: 10))
    let response = stored.response(selection, ageInSeconds: 1, boundary: "b")
    #expect(response.status == .partialContent)
    #expect(response.headerFields[.contentRange] == "bytes 2-4/10")
    #expect(response.headerFields[.contentLength] == "3")
    #expect(response.headerFields[.eTag] == "\"a\"")
    #expect(response.headerFields[.age] == "1")
    #expect(stored.pieces(of: selection, boundary: "b") == [.stored(2..<5)])
  }

  @Test("Several ranges make a multipart response of the stated length")
  func multipart() throws {
    let stored = try self.stored("Cache-Control: max-age=60", "Content-Type: text/plain")
    let selection = try #require(cut("Range: bytes=0-1, -2", of: stored))
    let response = stored.response(selection, age: nil, boundary: "b")
    #expect(response.headerFields[.contentType] == "multipart/byteranges; boundary=b")
    #expect(response.headerFields[.contentRange] == nil)
    let pieces = stored.pieces(of: selection, boundary: "b")
    #expect(
      pieces == [
        .text("--b\r\nContent-Type: text/plain\r\nContent-Range: bytes 0-1/10\r\n\r\n"), .stored(0..<2),
        .text("\r\n--b\r\nContent-Type: text/plain\r\nContent-Range: bytes 8-9/10\r\n\r\n"), .stored(8..<10),
        .text("\r\n--b--\r\n"),
      ])
    #expect(response.headerFields[.contentLength] == String(pieces.reduce(0) { $0 + $1.count }))
  }

  @Test("A range beyond the content is answered with 416 and the length")
  func unsatisfiable() throws {
    let stored = try self.stored("Cache-Control: max-age=60")
    let selection = try #require(cut("Range: bytes=10-", of: stored))
    #expect(selection == .unsatisfiable(length: 10))
    let response = stored.response(selection, ageInSeconds: 1, boundary: "b")
    #expect(response.status == .rangeNotSatisfiable)
    #expect(response.headerFields[.contentRange] == "bytes */10")
    #expect(cut("Range: bytes=-0", of: stored) == .unsatisfiable(length: 10))
  }

  @Test(
    "For empty content, a suffix range selects all, and other ranges are unsatisfiable (RFC 9110 §14.1.2)")
  func empty() throws {
    var stored = try self.stored("Cache-Control: max-age=60")
    stored.contentLength = 0
    #expect(cut("Range: bytes=-5", of: stored) == .whole)
    #expect(cut("Range: bytes=-0", of: stored) == .unsatisfiable(length: 0))
    #expect(cut("Range: bytes=0-", of: stored) == .unsatisfiable(length: 0))
  }

  @Test(
    "If-Range applies the range only on a strong match (RFC 9110 §13.1.5)",
    arguments: [
      ("\"a\"", true), ("\"b\"", false), ("W/\"a\"", false), (date(-1000), true), (date(-999), false),
      ("nonsense", false),
    ])
  func ifRange(condition: String, holds: Bool) throws {
    let stored = try self.stored("Cache-Control: max-age=60", "ETag: \"a\"", "Last-Modified: \(date(-1000))")
    let selection = cut("Range: bytes=0-1", "If-Range: \(condition)", of: stored)
    #expect(selection == (holds ? .ranges([0..<2], of: 10) : .whole))
  }

  @Test("A Last-Modified in the second of the response is not a strong validator (RFC 9110 §8.8.2.2)")
  func weakDate() throws {
    let stored = try self.stored("Cache-Control: max-age=60", "Date: \(date(0))", "Last-Modified: \(date(0))")
    #expect(cut("Range: bytes=0-1", "If-Range: \(date(0))", of: stored) == .whole)
  }

  @Test(
    "A date is not a strong validator beside a weak tag, which a 304 may have confirmed for other bytes (§8.8.2.2)",
    arguments: [("W/\"a\"", false), ("\"a\"", true)])
  func dateBesideTag(tag: String, holds: Bool) throws {
    let engine = CacheEngine.privately
    var stored = try self.stored("Cache-Control: max-age=60", "ETag: \(tag)", "Last-Modified: \(date(-1000))")
    let later = arrival.advanced(bySeconds: 100)
    let confirming = response(304, "ETag: \(tag)", "Last-Modified: \(date(-10))", "Date: \(date(100))")
    let outcome = try #require(
      engine.exchange(
        request(), [stored], .response(confirming), requestTime: later, responseTime: later))
    stored = try #require(outcome.updates.first?.response)
    stored.contentLength = 10
    for (date, isLast) in [(date(-10), true), (date(-1000), false)] {
      #expect(
        cut("Range: bytes=0-1", "If-Range: \(date)", of: stored, after: 101)
          == (holds && isLast ? .ranges([0..<2], of: 10) : .whole))
    }
  }

  @Test("Preconditions take precedence over the range (RFC 9110 §13.2.2)")
  func preconditionsFirst() throws {
    let stored = try self.stored("Cache-Control: max-age=60", "ETag: \"a\"")
    #expect(cut("Range: bytes=0-1", "If-None-Match: \"a\"", of: stored) == .notModified)
  }

  @Test("Ranges that add up to more than the content are answered with the whole")
  func excessive() throws {
    let stored = try self.stored("Cache-Control: max-age=60")
    #expect(cut("Range: bytes=0-, 0-, 0-", of: stored) == .whole)
  }

  @Test("Ranges do not apply to HEAD or to content of unknown length")
  func whole() throws {
    var stored = try self.stored("Cache-Control: max-age=60")
    let head = CacheEngine.privately.plan(request("Range: bytes=0-1", method: .head), [stored], after: 1)
    #expect(head.service?.content == .whole)
    stored.contentLength = nil
    #expect(cut("Range: bytes=0-1", of: stored) == .whole)
  }

  @Test("A range of a stale response is revalidated and cut from the confirmed content")
  func validated() throws {
    let engine = CacheEngine.privately
    let stored = try self.stored("Cache-Control: max-age=1", "ETag: \"a\"")
    let asked = request("Range: bytes=0-1")
    let forwarding = try #require(engine.plan(asked, [stored], after: 100).forwarding)
    #expect(forwarding.request.headerFields[.range] == "bytes=0-1")
    #expect(forwarding.request.headerFields[.ifNoneMatch] == "\"a\"")
    let outcome = engine.outcome(
      of: CacheEngine.Exchange(
        forwarding: forwarding, candidates: [stored], result: .response(response(304, "ETag: \"a\"")),
        requestTime: arrival, responseTime: arrival))
    #expect(outcome.storedAnswer?.content == .ranges([0..<2], of: 10))
  }
}
