// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import Foundation
import HTTPCacheEngine
import TestSupport
import Testing

@testable import httpcache

@Suite("httpcache explain --json", .timeLimit(.minutes(10)))
struct ExplainJSONTests {
  private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"
  /// An hour after the date, so that a test that takes the wrong one for the arrival fails.
  private let clock = Timestamp(seconds: 784_111_777 + 3600)

  private func output(_ lines: String...) throws -> [String] {
    var answers = JSONLines()
    return try lines.compactMap { line in
      try answers.answer(.text(Array(line.utf8)), systemTime: clock).map {
        String(decoding: $0, as: UTF8.self)
      }
    }
  }

  private func object(_ line: String) throws -> [String: Any] {
    let text = try #require(output(line).first)
    #expect(text.hasSuffix("}\n"))
    #expect(!text.dropLast().contains("\n"))
    return try #require(JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
  }

  /// A line whose response arrives at its Date.
  private static func line(
    _ fields: [[String]], status: Int = 200, request: String = "{\"url\": \"https://a.example/x\"}",
    _ more: String = ""
  ) -> String {
    let pairs = fields.map { "[\"\($0[0])\", \"\($0[1])\"]" } + ["[\"Date\", \"\(date)\"]"]
    return """
      {"request": \(request), "response": {"status": \(status), "headers": [\(pairs.joined(separator: ", "))]}\
      \(more.isEmpty ? "" : ", " + more)}
      """
  }

  @Test("Every key of an answer is present and in order, with null for a missing lifetime")
  func keys() throws {
    let lines = try output(Self.line([["Cache-Control", "no-store"]], "\"later\": {\"afterSeconds\": 2.5}"))
    #expect(
      lines == [
        """
        {"age":2,"conditionalHeaders":[],"freshnessLifetime":null,"heuristic":false,"notes":[],"plan":"forward",\
        "planReason":{"code":"nothingStored","section":"RFC 9111 §4","text":"Nothing is stored for this URI."},\
        "stored":false,\
        "storedReason":{"code":"responseNoStore","section":"RFC 9111 §5.2.2.5",\
        "text":"The response carries no-store."},\
        "verdict":"Private caches: not stored (no-store)."}

        """
      ])
  }

  struct Row: CustomTestStringConvertible {
    var fields: [[String]]
    var status = 200
    var request = "{\"url\": \"https://a.example/x\"}"
    var more = ""
    var stored: CacheEngine.Reason
    var lifetime: Int?
    var isHeuristic = false
    var age = 0
    var plan: ExplainAnswer.Plan
    var planReason: CacheEngine.Reason
    var conditions: [[String]] = []
    var testDescription: String { "\(fields) \(more)" }
  }

  private static let tag = ["ETag", "\\\"a\\\""]

  @Test(
    "Each line is answered with the decision of the engine",
    arguments: [
      Row(
        fields: [["Cache-Control", "max-age=60"]], stored: .storedWithLifetime, lifetime: 60, plan: .serve,
        planReason: .fresh),
      Row(
        fields: [["Cache-Control", "max-age=60"], ["Age", "50"]],
        more: "\"later\": {\"afterSeconds\": 9.999}",
        stored: .storedWithLifetime, lifetime: 60, age: 59, plan: .serve, planReason: .fresh),
      Row(
        fields: [["Cache-Control", "max-age=60"], tag], more: "\"later\": {\"afterSeconds\": 60}",
        stored: .storedWithLifetime, lifetime: 60, age: 60, plan: .validate, planReason: .stale,
        conditions: [["If-None-Match", "\"a\""]]),
      Row(
        fields: [["Cache-Control", "max-age=60"]], more: "\"later\": {\"afterSeconds\": 60}",
        stored: .storedWithLifetime, lifetime: 60, age: 60, plan: .forward, planReason: .stale),
      Row(
        fields: [["Cache-Control", "max-age=1, stale-while-revalidate=60"], tag],
        more: "\"later\": {\"afterSeconds\": 5}", stored: .storedWithLifetime, lifetime: 1, age: 5,
        plan: .serveAndRevalidate, planReason: .staleWhileRevalidate,
        conditions: [["If-None-Match", "\"a\""]]),
      Row(
        fields: [["Cache-Control", "s-maxage=5"]], more: "\"cache\": \"shared\"",
        stored: .storedWithLifetime, lifetime: 5, plan: .serve, planReason: .fresh),
      Row(
        fields: [["Cache-Control", "private, max-age=60"]], more: "\"cache\": \"shared\"",
        stored: .privateInSharedCache, plan: .forward, planReason: .nothingStored),
      Row(
        fields: [["Last-Modified", "Sun, 06 Nov 1994 07:49:37 GMT"]], stored: .storedWithHeuristic,
        lifetime: 360,
        isHeuristic: true, plan: .serve, planReason: .freshByHeuristic),
      Row(
        fields: [["Last-Modified", "Sun, 06 Nov 1994 07:49:37 GMT"]],
        more: "\"options\": {\"heuristics\": false}", stored: .storedWithoutLifetime, plan: .validate,
        planReason: .noLifetime, conditions: [["If-Modified-Since", "Sun, 06 Nov 1994 07:49:37 GMT"]]),
      Row(
        fields: [["Expires", "Sun, 06 Nov 1994 08:50:07 GMT"]],
        more: "\"options\": {\"now\": \"Sun, 06 Nov 1994 08:49:47 GMT\"}", stored: .storedWithLifetime,
        lifetime: 30,
        age: 10, plan: .serve, planReason: .fresh),
      Row(
        fields: [["Cache-Control", "max-age=60"]],
        more: "\"policy\": \"returnCacheDataDontLoad\", \"later\": {\"afterSeconds\": 99}",
        stored: .storedWithLifetime, lifetime: 60, age: 99, plan: .serve, planReason: .policyReturnsStored),
      Row(
        fields: [["Cache-Control", "no-store"]], more: "\"policy\": \"returnCacheDataDontLoad\"",
        stored: .responseNoStore, plan: .fail, planReason: .policyForbidsNetwork),
      Row(
        fields: [["Cache-Control", "max-age=60"]],
        more: """
          "later": {"request": {"url": "https://a.example/x", "headers": [["cache-control", "no-cache"]]}}
          """,
        stored: .storedWithLifetime, lifetime: 60, plan: .forward, planReason: .requestNoCache),
      Row(
        fields: [["Cache-Control", "max-age=60"]],
        more: "\"later\": {\"request\": {\"url\": \"https://a.example/y\"}}",
        stored: .storedWithLifetime, lifetime: 60, plan: .forward, planReason: .nothingStored),
      Row(
        fields: [["Cache-Control", "max-age=60"]],
        request: "{\"url\": \"https://a.example/x\", \"method\": \"PUT\"}",
        stored: .methodNotStored, plan: .forward, planReason: .unsafeMethod),
      Row(
        fields: [["Cache-Control", "max-age=60"]],
        request: "{\"url\": \"https://a.example/x\", \"headers\": [[\"Cache-Control\", \"only-if-cached\"]]}",
        stored: .onlyIfCached, plan: .fail, planReason: .onlyIfCached),
    ])
  func answers(row: Row) throws {
    let answer = try object(Self.line(row.fields, status: row.status, request: row.request, row.more))
    let because = try #require(answer["storedReason"] as? [String: String])
    #expect(
      because == ["code": row.stored.rawValue, "section": row.stored.section, "text": row.stored.sentence])
    #expect(answer["stored"] as? Bool == row.stored.rawValue.hasPrefix("storedWith"))
    #expect(answer["freshnessLifetime"] as? Int == row.lifetime)
    #expect(answer["heuristic"] as? Bool == row.isHeuristic)
    #expect(answer["age"] as? Int == row.age)
    #expect(answer["plan"] as? String == row.plan.rawValue)
    #expect((answer["planReason"] as? [String: String])?["code"] == row.planReason.rawValue)
    #expect(answer["conditionalHeaders"] as? [[String]] == row.conditions)
  }

  @Test("A response without Date arrives at the current time, and an unstored one has an age")
  func arrival() throws {
    let expires = HTTPDate(clock.advanced(bySeconds: 20)).fieldValue
    let answer = try object(
      """
      {"request": {"url": "http://a.example/"}, "response": {"status": 200, "headers": [["Expires", "\(expires)"]]}}
      """)
    #expect(answer["freshnessLifetime"] as? Int == 20)
    #expect(answer["plan"] as? String == "serve")
    let refused = try object(
      """
      {"request": {"url": "http://a.example/"}, "later": {"afterSeconds": 3},
       "response": {"status": 200, "headers": [["Age", "7"], ["Cache-Control", "no-store"]]}}
      """.replacing("\n", with: " "))
    #expect(refused["age"] as? Int == 10)
  }

  @Test(
    "A stored QUERY response matches neither GET nor a QUERY of another type",
    arguments: [
      ("QUERY", "a/b", "fresh"), ("QUERY", "a/c", "nothingStored"), ("GET", "a/b", "nothingStored"),
    ])
  func query(method: String, type: String, reason: String) throws {
    func request(_ method: String, _ type: String) -> String {
      """
      {"url": "https://a.example/x", "method": "\(method)", "headers": [["Content-Type", "\(type)"]]}
      """
    }
    let later = "\"later\": {\"afterSeconds\": 1, \"request\": \(request(method, type))}"
    let answer = try object(
      Self.line([["Cache-Control", "max-age=60"]], request: request("QUERY", "a/b"), later))
    #expect((answer["planReason"] as? [String: Any])?["code"] as? String == reason)
  }

  @Test(
    "An invalid line is answered with its number and error, and the run continues",
    arguments: [
      ("{", "not valid JSON"), ("[]", "expected an object"), ("{}", "request: the key is missing"),
      ("\u{0}", "not valid JSON"),
      ("{\"request\": {}, \"response\": {\"status\": 200}}", "request.url: the key is missing"),
      ("{\"request\": {\"url\": \"/x\"}, \"response\": {\"status\": 200}}", "request.url: "),
      (
        "{\"request\": {\"url\": \"http://a/\", \"method\": \"a b\"}}",
        "request.method: expected a method, found \"a b\""
      ),
      (
        "{\"request\": {\"url\": \"http://a/\", \"headers\": [[\"a\"]]}}",
        "request.headers: expected a list of [name, value] pairs"
      ),
      (
        "{\"request\": {\"url\": \"http://a/\", \"headers\": [[\"a\", 1]]}}",
        "request.headers[0][1]: expected a string"
      ),
      ("{\"request\": {\"url\": \"http://a/\", \"headers\": {}}}", "request.headers: expected a list"),
      (
        "{\"request\": {\"url\": \"http://a/\", \"headers\": [[\"a b\", \"\"]]}}",
        "request.headers: expected a field name, found \"a b\""
      ),
      (
        "{\"request\": {\"url\": \"http://a/\"}, \"response\": {\"status\": 20}}",
        "response.status: expected a status code of three digits"
      ),
      (
        "{\"request\": {\"url\": \"http://a/\"}, \"response\": {\"status\": \"200\"}}",
        "response.status: expected a whole number"
      ),
      ("{\"cache\": \"cold\"}", "cache: expected one of private, shared, found \"cold\""),
      ("{\"policy\": \"x\"}", "policy: expected one of useProtocolCachePolicy, "),
      (line([], "\"later\": {\"afterSeconds\": -1}"), "later.afterSeconds: expected 0 or more seconds"),
      (line([], "\"later\": {\"afterSeconds\": true}"), "later.afterSeconds: expected a number"),
      (line([], "\"options\": {\"heuristics\": 1}"), "options.heuristics: expected true or false"),
      (line([], "\"options\": {\"now\": \"noon\"}"), "options.now: expected a date such as "),
      (String(repeating: "[", count: 100_000), "not valid JSON"),
    ])
  func badLines(line: String, problem: String) throws {
    let good = Self.line([])
    let lines = try output(good, "", " \t\r", line, good)
    #expect(lines.count == 3)
    #expect(lines[0] == lines[2])
    let complaint = try JSONSerialization.jsonObject(with: Data(lines[1].utf8)) as? [String: Any]
    #expect(complaint?["line"] as? Int == 4)
    #expect(complaint?.count == 2)
    let error = try #require(complaint?["error"] as? String)
    #expect(error.hasPrefix(problem), "\(error)")
  }

  @Test("Lines with extreme values are answered")
  func hostileLines() throws {
    for seconds in ["1e308", "0.0001", "9223372036854775807", "3e13"] {
      let answer = try object(
        Self.line(
          [["Cache-Control", "max-age=99999999999"], ["Age", "99999999999"]],
          "\"later\": {\"afterSeconds\": \(seconds)}"))
      #expect(answer["plan"] as? String == "forward")
    }
    let value = String(repeating: "a,", count: 100_000)
    #expect(
      try object(Self.line([["Vary", value], ["ETag", value], ["Cache-Control", value]]))["stored"] as? Bool
        == true)
    #expect(try object(Self.line([["X", "\\n\\u0000\\ud83d\\ude00"]]))["stored"] as? Bool == true)
  }

  @Test("Lines are split across chunks, and a line that is too long is skipped")
  func lines() throws {
    let file = temporaryURL()
    defer { try? FileManager.default.removeItem(at: file) }
    let long = String(repeating: "x", count: 200_000)
    for (text, expected) in [
      ("", []), ("a", ["a"]), ("a\n", ["a"]), ("a\n\nb\r\n", ["a", "", "b\r"]), ("\(long)\nb", [nil, "b"]),
      ("a\n\(long)", ["a", nil]), ("\(long.prefix(100_000))\nb", [String(long.prefix(100_000)), "b"]),
    ] as [(String, [String?])] {
      try Data(text.utf8).write(to: file)
      var input = try InputLines(path: file.path, limit: 100_000)
      var lines: [String?] = []
      while let some = try input.next() {
        for case let line in some {
          if case .text(let bytes) = line {
            lines.append(String(decoding: bytes, as: UTF8.self))
          } else {
            lines.append(nil)
          }
        }
      }
      #expect(lines == expected)
    }
  }

  @Test(
    "The exit status distinguishes unreadable files from wrong usage",
    arguments: [
      (["explain", "--json", "/does/not/exist"], 66), (["explain", "--json", "/"], 66),
      (["explain", "--json", "--cache", "shared"], 64), (["explain", "--json", "--after", "1"], 64),
      (["explain", "--json", "/dev/null"], 0),
    ] as [([String], Int32)])
  func exitStatus(arguments: [String], status: Int32) throws {
    var actual: Int32 = 0
    do {
      let command = try #require(try HTTPCacheCommand.parseAsRoot(arguments) as? ExplainCommand)
      try command.run()
    } catch {
      actual = HTTPCacheCommand.exitCode(for: error).rawValue
    }
    #expect(actual == status)
  }

  @Test("After an invalid line, all other lines are answered and the exit status is 1")
  func failedLine() throws {
    let file = temporaryURL()
    defer { try? FileManager.default.removeItem(at: file) }
    let good = Self.line([["Cache-Control", "no-store"]])
    for (text, status) in [
      (good, 0), ("{\n" + good, 1), (good + "\n[]\n" + good, 1), ("\n" + good + "\n \n", 0),
    ] as [(String, Int32)] {
      try Data(text.utf8).write(to: file)
      var actual: Int32 = 0
      do {
        let command = try #require(
          try HTTPCacheCommand.parseAsRoot(["explain", "--json", file.path]) as? ExplainCommand)
        try command.run()
      } catch {
        actual = HTTPCacheCommand.exitCode(for: error).rawValue
      }
      #expect(actual == status, "\(text)")
    }
  }

  @Test("Each answer contains the verdict and the ranked notes")
  func advice() throws {
    let answer = try object(
      Self.line([["Cache-Control", "maxage=60"], ["Pragma", "no-cache"], ["ETag", "\\\"a\\\""]]))
    #expect(answer["verdict"] as? String == "Private caches: stored, and revalidated at every use.")
    let notes = try #require(answer["notes"] as? [[String: String]])
    #expect(notes.map { $0["code"] } == ["misspelt-directive", "pragma"])
    #expect(notes.map { $0["severity"] } == ["error", "warning"])
    #expect(notes.allSatisfy { Set($0.keys) == ["code", "severity", "text", "fix"] })
    #expect(notes.first?["fix"] == "Cache-Control: max-age=60")
  }
}
