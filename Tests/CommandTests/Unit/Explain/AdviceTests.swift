// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheEngine
import HTTPTypes
import TestSupport
import Testing

@testable import httpcache

@Suite("Advice of httpcache explain", .timeLimit(.minutes(10)))
struct AdviceTests {
  private static let clock = Timestamp(seconds: 784_111_777)
  private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"
  /// What spares a response all notes but those that a test is about.
  private static let calm = "Date: \(date)\nETag: \"a\"\nCache-Control: max-age=60\n"

  private static func explanation(_ head: String, status: String = "200 OK") throws -> Explanation {
    let exchanges = try HeadParser.exchanges(in: Array("HTTP/1.1 \(status)\n\(head)\n\n".utf8))
    return Explainer(systemTime: clock).explain(try #require(exchanges.first))
  }

  struct Row: CustomTestStringConvertible {
    var code: String
    var head: String
    var status = "200 OK"
    /// What the fix says, or a part of it.
    var fix: String
    var testDescription: String { "\(code): \(head)" }
  }

  /// One row for each check at least.
  static let rows: [Row] = [
    Row(
      code: "separators", head: "Cache-Control: private; max-age=600",
      fix: "Cache-Control: private, max-age=600"),
    Row(
      code: "separators", head: "Cache-Control: no-store no-cache", fix: "Cache-Control: no-store, no-cache"),
    Row(
      code: "separators", head: "Cache-Control: \"public, max-age=5\", immutable",
      fix: "Cache-Control: public, max-age=5, immutable"),
    Row(
      code: "separators", head: "Cache-Control: maxage=60; public", fix: "Cache-Control: max-age=60, public"),
    Row(code: "directive-syntax", head: "Cache-Control: no-store;", fix: "Cache-Control: no-store"),
    Row(code: "directive-syntax", head: "Cache-Control: \"no-store\"", fix: "Cache-Control: no-store"),
    Row(code: "directive-syntax", head: "Cache-Control: max-age = 60", fix: "Cache-Control: max-age=60"),
    Row(code: "directive-syntax", head: "Cache-Control: max-age:60", fix: "Cache-Control: max-age=60"),
    Row(code: "misspelt-directive", head: "Cache-Control: maxage=60", fix: "Cache-Control: max-age=60"),
    Row(code: "misspelt-directive", head: "Cache-Control: No_Store", fix: "Cache-Control: no-store"),
    Row(
      code: "misspelt-directive", head: "Cache-Control: s-max-age=60, publc",
      fix: "Cache-Control: s-maxage=60, public"),
    Row(
      code: "misspelt-directive", head: "Cache-Control: must-revalidated",
      fix: "Cache-Control: must-revalidate"),
    Row(code: "misspelt-directive", head: "Cache-Control: 'no-cache'", fix: "Cache-Control: no-cache"),
    Row(code: "request-directive", head: "Cache-Control: max-age=60, max-stale", fix: "Remove 'max-stale'."),
    Row(code: "request-directive", head: "Cache-Control: Min-Fresh=x", fix: "Remove 'Min-Fresh=x'."),
    Row(code: "request-directive", head: "Cache-Control: only-if-cache", fix: "Remove 'only-if-cache'."),
    Row(code: "invalid-time", head: "Cache-Control: max-age=1h", fix: "Cache-Control: max-age=3600"),
    Row(
      code: "invalid-time", head: "Cache-Control: max-age=1.5d, public",
      fix: "Cache-Control: max-age=129600, public"),
    Row(code: "invalid-time", head: "Cache-Control: s-maxage", fix: "Cache-Control: s-maxage=3600"),
    Row(code: "targeted-syntax", head: "CDN-Cache-Control: Max-Age=60", fix: "CDN-Cache-Control: max-age=60"),
    Row(
      code: "targeted-syntax", head: "Example-Cache-Control: max-age = 60",
      fix: "Example-Cache-Control: max-age=60"),
    Row(code: "targeted-syntax", head: "CDN-Cache-Control:", fix: "max-age=3600"),
    Row(
      code: "targeted-values", head: "CDN-Cache-Control: private; max-age=60",
      fix: "CDN-Cache-Control: private, max-age=60"),
    Row(
      code: "targeted-values", head: "CDN-Cache-Control: max-age=\"60\"", fix: "CDN-Cache-Control: max-age=60"
    ),
    Row(code: "large-time", head: "Cache-Control: max-age=2147483649", fix: "31536000"),
    Row(code: "large-time", head: "Cache-Control: s-maxage=99999999999999999999999", fix: "31536000"),
    Row(code: "public-and-private", head: "Cache-Control: public, private", fix: "Remove 'public'"),
    Row(code: "repeated-directive", head: "Cache-Control: max-age=60, max-age=600", fix: "max-age=60"),
    Row(
      code: "repeated-directive", head: "Cache-Control: max-age=600\nCache-Control: max-age=60",
      fix: "max-age=60"),
    Row(
      code: "no-store-and-more", head: "Cache-Control: no-store, max-age=60", fix: "Cache-Control: no-store"),
    Row(code: "no-cache-and-more", head: "Cache-Control: no-cache, max-age=60", fix: "Remove 'no-cache'"),
    Row(
      code: "private-and-s-maxage", head: "Cache-Control: private, s-maxage=60", fix: "Remove 's-maxage'"),
    Row(
      code: "must-revalidate-and-stale", head: "Cache-Control: max-age=5, must-revalidate, stale-if-error=60",
      fix: "Remove one"),
    Row(code: "vary-star", head: "Vary: *", fix: "Vary: Accept-Encoding"),
    Row(
      code: "set-cookie-shared", head: calm + "Cache-Control: public\nSet-Cookie: a=1",
      fix: "--set-cookie strip"),
    Row(
      code: "set-cookie-not-shared", head: "ETag: \"a\"\nSet-Cookie: a=1",
      fix: "Send Set-Cookie only if a cookie changes"),
    Row(code: "vary-cookie", head: calm + "Vary: Accept, cookie", fix: "private"),
    Row(code: "vary-user-agent", head: calm + "Vary: User-Agent", fix: "Remove User-Agent from Vary"),
    Row(code: "invalid-etag", head: "ETag: abc", fix: "ETag: \"abc\""),
    Row(code: "invalid-etag", head: "ETag: \"a\", \"b\"", fix: "ETag: "),
    Row(code: "invalid-expires", head: "Expires: 0", fix: "no-cache"),
    Row(code: "invalid-expires", head: calm + "Expires: tomorrow", fix: "Remove Expires"),
    Row(
      code: "invalid-last-modified", head: "Last-Modified: 6 Nov 1994 08:49:37",
      fix: "Sun, 06 Nov 1994 08:49:37 GMT"),
    Row(code: "no-validator", head: "Cache-Control: max-age=60", fix: "ETag"),
    Row(code: "pragma", head: "Pragma: no-cache", fix: "Cache-Control: no-cache"),
    Row(code: "pragma", head: "Pragma: no-cache\nCache-Control: no-store", fix: "Remove it"),
    Row(
      code: "heuristic-lifetime", head: "Date: \(date)\nLast-Modified: Sun, 06 Nov 1994 07:49:37 GMT",
      fix: "max-age=360"),
    Row(code: "no-lifetime", head: "ETag: \"a\"", fix: "Cache-Control: max-age=3600"),
    Row(code: "status-without-lifetime", head: "Location: /", status: "302 Found", fix: "max-age=3600"),
    Row(code: "stale-on-arrival", head: "Cache-Control: max-age=60\nAge: 61", fix: "before this one"),
    Row(code: "expires-beside-max-age", head: calm + "Expires: \(date)", fix: "Remove Expires"),
  ]

  @Test("Each check finds its problem and suggests a fix", arguments: rows)
  func finds(row: Row) throws {
    let advice = try Self.explanation(row.head, status: row.status).advice
    let note = try #require(advice.first { $0.code == row.code }, "\(advice.map(\.code))")
    #expect(note.fix.contains(row.fix), "\(note.fix)")
    #expect(note.text.hasSuffix(".") && !note.fix.isEmpty)
    #expect(advice.map(\.severity) == advice.map(\.severity).sorted(), "ranked")
  }

  @Test("Every check is in the table and has its own code")
  func table() {
    #expect(Set(Self.rows.map(\.code)) == Set(AdviceCheck.all.map(\.code)))
    #expect(Set(AdviceCheck.all.map(\.code)).count == AdviceCheck.all.count)
  }

  @Test(
    "Correct fields get no note",
    arguments: [
      calm, calm + "Vary: Accept-Encoding, Accept-Language", "Cache-Control: no-store",
      "cache-control: NO-STORE",
      "Cache-Control: no-cache\nETag: W/\"a\"",
      "Cache-Control: private, max-age=60\nETag: \"a\"\nSet-Cookie: a=1",
      "Cache-Control: public, max-age=31536000, immutable\nETag: \"a\"",
      "Cache-Control: max-age=60, stale-while-revalidate=30, stale-if-error=600\nETag: \"a\"",
      "Cache-Control: must-understand, no-store, max-age=60\nETag: \"a\"",
      "Cache-Control: max-age=60, no-cache=\"set-cookie, x\", community=\"UCI; no-store\"\nETag: \"a\"",
      "Cache-Control: max-age=\"60\"\nETag: \"a\"", "Cache-Control: pre-check=0, post-check=0, no-store",
      "Cache-Control: max-age=0, must-revalidate\nETag: \"a\"",
      "Expires: Sun, 06 Nov 1994 09:49:37 GMT\nETag: \"a\"",
      calm + "CDN-Cache-Control: max-age=600, stale-while-revalidate=60", calm + "Age: 59",
    ])
  func silence(head: String) throws {
    let advice = try Self.explanation("Date: \(Self.date)\n" + head).advice
    #expect(advice.isEmpty, "\(advice)")
  }

  @Test(
    "The one-line verdict agrees with the details that follow",
    arguments: [
      (
        "Cache-Control: max-age=3600", "200 OK", "Private and shared caches: cached for 1 hour (3600 s).",
        "Stored Yes. Stored,"
      ),
      (
        "Cache-Control: no-store", "200 OK", "Private and shared caches: not stored (no-store).", "Stored No."
      ),
      (
        "Cache-Control: private, max-age=60", "200 OK",
        "Private caches: cached for 1 minute (60 s). Shared caches: not stored (private).", "Stored No."
      ),
      (
        "X: 1", "200 OK", "Private and shared caches: effectively not cached: every use refetches it.",
        "Stored Yes, but it is effectively not cached"
      ),
      (
        "Vary: *\nCache-Control: max-age=60", "200 OK",
        "Private and shared caches: effectively not cached: every use refetches it.",
        "no request matches its Vary"
      ),
      (
        "ETag: \"a\"\nCache-Control: no-cache", "200 OK",
        "Private and shared caches: stored, and revalidated at every use.",
        "Stored Yes, and it is revalidated at every use."
      ),
      (
        "Last-Modified: Sun, 06 Nov 1994 08:49:27 GMT", "200 OK",
        "Private and shared caches: cached for 1 second, by a heuristic.",
        "Stored Yes. Stored, with a heuristic"
      ),
      (
        "Set-Cookie: a=1\nETag: \"a\"", "200 OK",
        "Private caches: stored, and revalidated at every use. Shared caches: not stored (Set-Cookie).",
        "Stored No."
      ),
      (
        "Cache-Control: max-age=0, stale-while-revalidate=60\nETag: \"a\"", "200 OK",
        "Private and shared caches: served stale for 1 minute (60 s) while it is revalidated.", "Stored Yes."
      ),
      ("X: 1", "302 Found", "Private and shared caches: not stored (the status code).", "Stored No."),
    ])
  func verdict(head: String, status: String, verdict: String, stored: String) throws {
    let explanation = try Self.explanation("Date: \(Self.date)\n" + head, status: status)
    #expect(explanation.verdict == verdict)
    let text = ExplanationText().text(explanation)
    let flat = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    #expect(flat.hasPrefix(verdict))
    #expect(flat.contains(stored), "\(text)")
    if verdict.contains("effectively not cached") { #expect(!flat.contains("revalidated before every use")) }
  }

  @Test(
    "No advice names a directive of requests as one to write (RFC 9111 §5.2.1)",
    arguments: [
      "max-stail=60", "maxstale", "max_stale=60", "min-fesh=60", "minfresh=60", "min-fresch", "only-if-cache",
      "only_if_cached", "max-stale=5; max-age=60", "min-fresh=5 max-age:60", "max-age=60, max-stale=1h",
      "max-stale, max-stale=5, max-age=1m", "'min-fresh', public",
    ])
  func requestDirectives(value: String) throws {
    for name in ["Cache-Control", "CDN-Cache-Control"] {
      for note in try Self.explanation("\(name): \(value)").advice {
        let isToRemove = note.code == "request-directive"
        let isNamed = Directives.ofRequests.contains {
          note.fix.contains($0) || note.text.contains("probably '\($0)")
        }
        #expect(isToRemove || !isNamed, "\(note)")
        #expect(!isToRemove || note.fix.hasPrefix("Remove '"), "\(note)")
        #expect(note.code != "invalid-time" || note.text.contains("max-age"), "\(note)")
      }
    }
  }

  @Test("Notes are numbered, wrapped, and free of control characters")
  func layout() throws {
    let explanation = try Self.explanation("Cache-Control: maxage=60; public\nPragma: x\nETag: a\u{9B}b")
    let text = ExplanationText().text(explanation)
    #expect(text.contains("What to change\n  1. error: "))
    #expect(text.contains("\n     Fix: Cache-Control: max-age=60, public\n"))
    for line in text.split(separator: "\n") { #expect(line.count <= 80) }
    #expect(!text.unicodeScalars.contains { $0.properties.generalCategory == .control && $0 != "\n" })
  }

  @Test("The corrected form of any Cache-Control text has valid syntax")
  func anyText() throws {
    var state: UInt64 = 7
    func next(_ count: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % count
    }
    let pieces = [
      "max-age", "maxage", "=", "60", "1h", ";", ",", " ", "\"", "'", "no-store", "no-cache", "public",
      "private", ":", "\t",
      "é", "s-maxage=", "\\", "x=\"", "-", "99999999999999999999", "immutable",
    ]
    var wrong: [String] = []
    for _ in 0..<usually(600, long: 3000) {
      let value = (0..<next(12)).map { _ in pieces[next(pieces.count)] }.joined()
      let subject = AdviceSubject(
        HTTPResponse(status: .ok, headerFields: [.cacheControl: value]), effects: [:], sharesCookie: false,
        arrival: Self.clock)
      let codes = Set(AdviceNote.all(about: subject).map(\.code))
      guard !codes.isDisjoint(with: ["separators", "directive-syntax", "misspelt-directive"]) else {
        continue
      }
      let corrected = DirectiveText.members(of: [String(subject.correctedCacheControl.dropFirst(15))])
      let isRight = corrected.allSatisfy { $0.isValid && Directives.meant(by: $0.name) == nil }
      if !isRight { wrong.append("\(value) -> \(corrected.map(\.text))") }
    }
    #expect(wrong.isEmpty, "\(wrong.prefix(5))")
  }
}
