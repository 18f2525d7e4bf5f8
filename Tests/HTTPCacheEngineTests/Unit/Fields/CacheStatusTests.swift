// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes
import RawStructuredFieldValues
import Testing

@testable import HTTPCacheEngine

@Suite("Cache-Status (RFC 9211)", .timeLimit(.minutes(10)))
struct CacheStatusTests {
  private func parse(_ value: String) throws -> Item {
    var parser = StructuredFieldValueParser(Array(value.utf8))
    let members = try parser.parseListFieldValue()
    try #require(members.count == 1)
    guard case .item(let item) = members[0] else { throw ParsingFailed() }
    return item
  }

  private struct ParsingFailed: Error {}

  @Test(
    "The cache name is a token if possible, otherwise a string (§2)",
    arguments: [
      ("HTTPCacheEngine", .token("HTTPCacheEngine")), ("*edge", .token("*edge")),
      ("cache-3.example.com:80/a", .token("cache-3.example.com:80/a")),
      ("Example CDN", .string("Example CDN")), ("192.0.2.1", .string("192.0.2.1")), ("", .string("")),
      ("a \"b\" \\ c", .string("a \"b\" \\ c")), ("a, b; hit", .string("a, b; hit")),
      ("Käfig\r\nX: y", .string("K%C3%A4fig%0D%0AX: y")), ("a\u{7F}\u{0}b", .string("a%7F%00b")),
    ] as [(String, RFC9651BareItem)])
  func name(name: String, expected: RFC9651BareItem) throws {
    let value = CacheStatus(cache: name, isHit: true, timeToLive: .seconds(5)).fieldValue
    let item = try parse(value)
    #expect(item.rfc9651BareItem == expected)
    #expect(item.rfc9651Parameters["hit"] == .bool(true))
    #expect(item.rfc9651Parameters["ttl"] == .integer(5))
    #expect(HTTPField.isValidValue(value))
  }

  @Test("Every reason for forwarding is an fwd value of §2.2", arguments: CacheStatus.Forward.allCases)
  func forwards(forward: CacheStatus.Forward) throws {
    let words: Set = ["bypass", "method", "uri-miss", "vary-miss", "miss", "request", "stale", "partial"]
    #expect(words.contains(forward.rawValue))
    let item = try parse(CacheStatus(cache: "c", forward: forward).fieldValue)
    #expect(item.rfc9651Parameters["fwd"] == .token(forward.rawValue))
  }

  @Test("hit excludes fwd, and fwd-status, stored and collapsed require fwd (§2.1, §2.3, §2.5, §2.6)")
  func combinations() throws {
    for isHit in [true, false] {
      for forward in [nil, CacheStatus.Forward.stale] {
        for isCollapsed in [nil, true, false] {
          let item = try parse(
            CacheStatus(
              cache: "c", isHit: isHit, forward: forward, forwardStatus: 304, timeToLive: .seconds(-3),
              isStored: true,
              isCollapsed: isCollapsed, reason: .stale
            ).fieldValue)
          let parameters = item.rfc9651Parameters
          let isForwarded = !isHit && forward != nil
          #expect((parameters["hit"] == .bool(true)) == isHit)
          #expect((parameters["fwd"] == .token("stale")) == isForwarded)
          #expect((parameters["fwd-status"] == .integer(304)) == isForwarded)
          #expect((parameters["stored"] == .bool(true)) == isForwarded)
          #expect(parameters["collapsed"] == (isForwarded ? isCollapsed.map { .bool($0) } : nil))
          #expect(parameters["ttl"] == .integer(-3))
          #expect(parameters["detail"] == .token("stale"))
        }
      }
    }
  }

  @Test("The key parameter percent-encodes what a string cannot hold (§2.7)")
  func key() throws {
    let uri = TargetURI(scheme: "https", authority: "a.example", path: "/\"x\"?\u{E9}")
    let item = try parse(CacheStatus(cache: "c", isHit: true, key: CacheKey(uri, partition: "p")).fieldValue)
    #expect(item.rfc9651Parameters["key"] == .string("p%00https://a.example/\"x\"?%C3%A9"))
    #expect(try parse(CacheStatus(cache: "c", isHit: true).fieldValue).rfc9651Parameters["key"] == nil)
  }

  @Test("A ttl beyond the range of integers is clamped", arguments: [Int64.min, .max, 1_000_000_000_000_000])
  func times(seconds: Int64) throws {
    let item = try parse(CacheStatus(cache: "c", isHit: true, timeToLive: .seconds(seconds)).fieldValue)
    #expect(
      item.rfc9651Parameters["ttl"] == .integer(seconds < 0 ? -999_999_999_999_999 : 999_999_999_999_999))
  }

  @Test("Every reason can be the detail parameter", arguments: CacheEngine.Reason.allCases)
  func details(reason: CacheEngine.Reason) throws {
    let item = try parse(CacheStatus(cache: "c", forward: .stale, reason: reason).fieldValue)
    #expect(item.rfc9651Parameters["detail"] == .token(reason.rawValue))
  }

  // MARK: - Parsing

  @Test(
    "The Cache-Status parser reads the last member, whatever precedes it (§2)",
    arguments: [
      "c; hit", "o; fwd=stale, c; hit", "o; detail=\"a, b; c\", c; hit", "o; detail=\", c; hit",
      "o; detail=\"\\\", c; hit", "(((,c; hit", ",,\t c; hit", "\\, c; hit", "o; key=\"\\\\\",c;hit",
      "c;hit;hit=?1",
    ])
  func lastMember(value: String) {
    #expect(CacheStatus(parsing: value) == CacheStatus(cache: "c", isHit: true))
  }

  @Test("The Cache-Status parser reads every parameter except the key")
  func parameters() {
    var status = CacheStatus(
      cache: "a \"b\", c", forward: .varyMiss, forwardStatus: 304, timeToLive: .seconds(-3), isStored: true,
      isCollapsed: false, reason: .staleIfError)
    #expect(CacheStatus(parsing: status.fieldValue) == status)
    status.isCollapsed = true
    var withKey = status
    withKey.key = CacheKey(TargetURI(scheme: "https", authority: "a.example", path: "/\"x\",y"))
    #expect(CacheStatus(parsing: "o; hit, " + withKey.fieldValue) == status)
  }

  @Test("Cache-Status parameters with a wrong type or an unknown value are ignored")
  func unknownParameters() {
    #expect(
      CacheStatus(
        parsing: "c; hit=1; fwd=\"stale\"; ttl=1.5; stored=?0; collapsed=no; detail=nonsense; x=:YQ==:")
        == CacheStatus(cache: "c"))
    #expect(CacheStatus(parsing: "c; fwd=miss; fwd-status=\"200\"") == CacheStatus(cache: "c"))
  }

  @Test(
    "A malformed Cache-Status member is not parsed",
    arguments: [
      "", ",", "c,", "c; hit,", "5; hit", "?1", "(c d)", "c; Hit", "c; ttl=1000000000000000", "c d", "\"c",
      "c; detail=\"", "k\u{E4}se", "c; hit\u{0}",
    ])
  func malformed(value: String) {
    #expect(CacheStatus(parsing: value) == nil)
  }

  @Test("A Cache-Status member with too many parameters is not parsed")
  func manyParameters() {
    func value(_ count: Int) -> String { "c" + (0..<count).map { "; a\($0)" }.joined() }
    #expect(CacheStatus(parsing: value(200)) == CacheStatus(cache: "c"))
    #expect(CacheStatus(parsing: value(StructuredField.mostKeys)) == nil)
    // Those of other members do not count.
    #expect(CacheStatus(parsing: value(5000) + ", c; hit")?.isHit == true)
  }
}
