// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import HTTPCacheEngine
import Testing

@testable import httpcache

@Suite(.timeLimit(.minutes(10)))
struct ExplainCommandTests {
  private let clock = Timestamp(seconds: 784_111_777)

  private func explain(_ input: String, _ arguments: String...) throws -> String {
    let command = try ExplainCommand.parse(arguments)
    return try command.explanation(of: Array(input.utf8), systemTime: clock)
  }

  /// The text with its line breaks and indents made single spaces.
  private func flat(_ text: String) -> String {
    text.split(whereSeparator: { $0 == " " || $0 == "\n" }).joined(separator: " ")
  }

  @Test("The explanation of a static file states its lifetime, source and revalidation")
  func staticFile() throws {
    let text = flat(try explain(Transcripts.nginxStaticFile, "--url", "http://www.example.com/style.css"))
    for expected in [
      "GET http://www.example.com/style.css -> 200 OK", "Any cache, private or shared",
      "Stored Yes. Stored, with a freshness lifetime that the origin gave. [RFC 9111 §3]",
      "For 1 minute (60 s), until Sun, 06 Nov 1994 08:50:37 GMT. The lifetime is max-age. [RFC 9111 §5.2.2.1]",
      "Age now 0 seconds", "If-None-Match: \"6365a1c8-60b\"",
      "If-Modified-Since: Thu, 27 Oct 1994 08:49:37 GMT",
      "The client gets the error.", "Every GET and HEAD for this URI: it has no Vary.",
      "Fields that are not stored: Connection.",
      "[RFC 9111 §4.4]",
    ] {
      #expect(text.contains(expected), "\(expected)")
    }
  }

  @Test("Private and shared caches are explained separately where they differ")
  func bothKinds() throws {
    let text = flat(try explain(Transcripts.verboseOverHTTP2))
    for expected in [
      "GET https://www.example.com/news?page=2 -> 200", "A private cache (for one user",
      "The lifetime is max-age.", "A shared cache (for many users", "The lifetime is s-maxage",
      "Age now 12 seconds", "It is still used for another 30 seconds.", "accept-language: de,en",
      "If-None-Match: W/\"n2\"", "must be revalidated before use",
    ] {
      #expect(text.contains(expected), "\(expected)")
    }
    #expect(!flat(try explain(Transcripts.verboseOverHTTP2, "--cache", "shared")).contains("A private cache"))
  }

  struct Row: CustomTestStringConvertible {
    var fields: String
    var status = "200 OK"
    var options: [String] = []
    var expected: [String]
    var testDescription: String { "\(status) \(fields) \(options)" }
  }

  @Test(
    "The explanation shows the decisions of the engine",
    arguments: [
      Row(
        fields: "Cache-Control: no-store",
        expected: [
          "Any cache, private or shared", "Stored No. \(CacheEngine.Reason.responseNoStore.sentence)",
        ]),
      Row(
        fields: "Cache-Control: private, max-age=60",
        expected: [
          "A private cache (", "Stored Yes.", "A shared cache (",
          "No. \(CacheEngine.Reason.privateInSharedCache.sentence)",
        ]),
      Row(
        fields: "Expires: Thu, 01 Jan 1970 00:00:00 GMT",
        expected: [
          "Fresh Not at all. The lifetime is Expires minus Date", "[RFC 9111 §5.3]",
          "Conditions None, because it has neither",
        ]),
      Row(fields: "Expires: 0", expected: ["Its Expires is not a valid date."]),
      Row(fields: "Cache-Control: max-age=abc", expected: ["is not a number of seconds, and counts as 0."]),
      Row(fields: "Cache-Control: max-age=60\nAge: 100", expected: ["which had passed when it arrived."]),
      Row(
        fields: "Cache-Control: no-store\nCDN-Cache-Control: max-age=60",
        options: ["--target", "X-Cache-Control", "--target", "CDN-Cache-Control"],
        expected: ["For 1 minute (60 s)", "Its cdn-cache-control overrides Cache-Control and Expires"]),
      Row(fields: "Vary: *", expected: ["No request: its Vary is *"]),
      Row(fields: "Vary: Accept-Encoding", expected: ["accept-encoding absent"]),
      Row(
        fields: "Last-Modified: Sun, 06 Nov 1994 08:32:52 GMT",
        expected: ["a share of the time from Last-Modified", "[RFC 9111 §4.2.2]", "Yes, while fresh."]),
      Row(
        fields: "Cache-Control: max-age=60, no-cache",
        expected: ["Not without a request to the origin. \(CacheEngine.Reason.storedNoCache.sentence)"]),
      Row(
        fields: "Cache-Control: max-age=60, stale-if-error=30",
        expected: ["Used for up to 30 seconds after it became stale."]),
      Row(
        fields: "Last-Modified: Sun, 06 Nov 1994 08:49:36 GMT",
        expected: ["For less than a second.", "When stale It is revalidated. The"]),
      Row(fields: "X: 1", status: "302 Found", expected: [CacheEngine.Reason.notDeclaredCacheable.sentence]),
      Row(
        fields: "Cache-Control: max-age=60", options: ["--after", "59"],
        expected: [
          "After 59 s Answered with the stored response: 59 seconds old, fresh for another 1 second."
        ]),
      Row(
        fields: "Cache-Control: max-age=60", options: ["--after", "60"],
        expected: ["After 60 s Sent to the origin. \(CacheEngine.Reason.stale.sentence)"]),
      Row(
        fields: "Cache-Control: max-age=60\nETag: \"a\"", options: ["--after", "60"],
        expected: ["Sent to the origin with conditions.", "If-None-Match: \"a\""]),
      Row(
        fields: "Cache-Control: max-age=60",
        options: ["--after", "60", "--policy", "returnCacheDataDontLoad"],
        expected: [CacheEngine.Reason.policyReturnsStored.sentence]),
      Row(
        fields: "Cache-Control: no-store", options: ["--policy", "returnCacheDataDontLoad"],
        expected: [
          "After 0 s Not answered from the store. \(CacheEngine.Reason.policyForbidsNetwork.sentence)"
        ]),
      Row(
        fields: "Cache-Control: max-age=60", options: ["--policy", "reloadIgnoringLocalAndRemoteCacheData"],
        expected: ["Pragma: no-cache", "Cache-Control: no-cache"]),
      Row(
        fields: "Cache-Control: max-age=60\nDate: Sun, 06 Nov 1994 08:49:37 GMT",
        options: ["--now", "Sun, 06 Nov 1994 08:50:07 GMT"], expected: ["Age now 30 seconds"]),
    ])
  func table(row: Row) throws {
    let arguments = row.options
    let command = try ExplainCommand.parse(arguments)
    let text = flat(
      try command.explanation(of: Array("HTTP/1.1 \(row.status)\n\(row.fields)\n\n".utf8), systemTime: clock))
    for expected in row.expected { #expect(text.contains(flat(expected)), "\(expected) in \(text)") }
  }

  @Test("The last response of a chain of redirects is explained, or all with --all")
  func redirects() throws {
    let last = flat(try explain(Transcripts.redirects, "--url", "www.example.com"))
    #expect(last.contains("This is the last of 3 responses; before it: 301, 302."))
    #expect(last.contains("GET https://www.example.com/end?x=1 -> 200"))
    #expect(last.contains(CacheEngine.Reason.responseNoStore.sentence))
    let all = try explain(Transcripts.redirects, "--url", "www.example.com", "--all")
    #expect(all.contains("GET http://www.example.com/ -> 301"))
    #expect(all.contains("GET https://www.example.com/start -> 302"))
  }

  @Test("The explanation of an unsafe method lists what it invalidates")
  func unsafeMethod() throws {
    let text = flat(try explain(Transcripts.throughProxy))
    #expect(text.contains("POST https://a.example/form -> 201 Created"))
    #expect(text.contains("https://a.example/form https://a.example/form/7"))
    #expect(text.contains(CacheEngine.Reason.methodNotStored.sentence))
  }

  @Test("The explanation names invalidated groups and origins with the reason")
  func scopes() throws {
    let group = try explain(
      "POST /f HTTP/1.1\nHost: a.example\n\nHTTP/1.1 200 OK\nCache-Group-Invalidation: \"news\"\n\n")
    #expect(flat(group).contains("[RFC 9875 §3] \"news\" of http://a.example"))
    let origin = flat(
      try explain("HTTP/1.1 200 OK\nClear-Site-Data: \"*\"\n\n", "--url", "https://a.example/logout"))
    #expect(
      origin.contains(
        "Invalidates \(CacheEngine.Reason.clearedByOrigin.sentence) [Clear-Site-Data] https://a.example"))
    #expect(
      origin.contains(
        "A shared cache (for many users, such as a proxy or a CDN) Stored Yes, but it is effectively not cached"
      ))
  }

  @Test("A request with only-if-cached is explained as 504 without the origin")
  func onlyIfCached() throws {
    let text = try explain("GET / HTTP/1.1\nHost: a\nCache-Control: only-if-cached\n\nHTTP/1.1 200 OK\n\n")
    #expect(
      flat(text).contains(
        "answers 504 without a request to the origin. \(CacheEngine.Reason.onlyIfCached.sentence)"))
  }

  @Test("Lines fit, references are not broken, and control characters are replaced")
  func layout() throws {
    let text = try explain(Transcripts.verboseOverHTTP2)
    for line in text.split(separator: "\n") {
      #expect(line.count <= 80)
      #expect(!line.hasSuffix("[RFC") && !line.hasSuffix(" "))
    }
    #expect(!text.contains("\u{1B}"))
    let styled = ExplanationText(isStyled: true).text(.init(title: "a\u{1B}[2Jb", notes: [], verdicts: []))
    #expect(styled == "\u{1B}[1ma\u{FFFD}[2Jb\u{1B}[0m\n")
  }

  @Test(
    "Invalid options are refused with status 64",
    arguments: [
      ["--bogus"], ["--cache", "x"], ["--policy", "x"], ["--after", "-1"], ["--after=-1"],
      ["--after", "soon"],
      ["--url", "a b"], ["--url", "ftp://a/"], ["--url", ""], ["--now", "today"], ["a", "b"],
    ])
  func badOptions(arguments: [String]) {
    let error = #expect(throws: (any Error).self) { try ExplainCommand.parse(arguments) }
    #expect(error.map { ExplainCommand.exitCode(for: $0).rawValue } == 64)
  }

  @Test(
    "Durations are written in readable units",
    arguments: [
      (0, "0 seconds"), (1, "1 second"), (59, "59 seconds"), (60, "1 minute (60 s)"),
      (90, "1 minute 30 seconds (90 s)"), (3600, "1 hour (3600 s)"), (3601, "about 1 hour (3601 s)"),
      (86_400, "1 day (86400 s)"), (31_536_000, "1 year (31536000 s)"),
      (2_147_483_648, "about 68 years 35 days (2147483648 s)"),
    ])
  func durations(seconds: Int64, text: String) {
    #expect(Phrases.duration(seconds) == text)
  }
}
