// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import Foundation
import HTTPCacheEngine
import TestSupport
import Testing

@testable import httpcache

@Suite("httpcache conform", .timeLimit(.minutes(10)))
struct ConformCommandTests {
  /// Two scenarios of our own: one that every cache passes, one that none can.
  private static let suite = """
    [{"name": "Own", "id": "own", "tests": [
      {"id": "reuse", "name": "A fresh response is reused", "kind": "optimal", "requests": [
        {"response_headers": [["Cache-Control", "max-age=60"]], "setup": true, "pause_after": true},
        {"expected_type": "cached", "expected_response_headers": [["Age", ">", 2]]}]},
      {"id": "impossible", "name": "What may not be stored is", "requests": [
        {"response_headers": [["Cache-Control", "no-store"]], "setup": true},
        {"expected_type": "cached"}]},
      {"id": "targeted", "name": "A CDN follows its field", "kind": "optimal", "cdn_only": true, "requests": [
        {"response_headers": [["CDN-Cache-Control", "max-age=60"], ["Cache-Control", "no-store"]],
         "setup": true, "pause_after": true},
        {"expected_type": "cached"}]},
      {"id": "after", "name": "Depends on it", "depends_on": ["impossible"], "requests": [{}]}
    ]}]
    """

  private func report() async throws -> ConformReport {
    let suites = try ScenarioFile.read([("own.json", Array(Self.suite.utf8))])
    return ConformReport(try await ScenarioRunner(kind: .shared).run(suites))
  }

  @Test("The table counts by suite and kind, and a failure shows its steps and reason")
  func text() async throws {
    let report = try await report()
    let lines = report.text().split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    #expect(lines[0] == "     required  optimal  check: yes")
    #expect(lines[1] == "Own       0/2      1/1            ")
    #expect(lines[2] == "all       0/2      1/1            ")
    let text = report.text()
    #expect(
      text.contains(
        "impossible (required): step 2: expected a cached response, the request reached the origin"))
    #expect(text.contains("step 1: network 200"))
    #expect(text.contains("The response carries no-store. (RFC 9111 §5.2.2.5)"))
    #expect(text.contains("after (required): not run, because impossible did not pass"))
    #expect(!text.contains("reuse (optimal)"))
    #expect(report.text(showsSteps: true).contains("reuse (optimal): passed"))
    #expect(report.hasRequiredFailure)
  }

  @Test(
    "Scenarios for CDNs run only against a CDN cache",
    arguments: ConformCommand.Kind.allCases)
  func kinds(kind: ConformCommand.Kind) async throws {
    let reports = try await kind.runner.run(ScenarioFile.read([("own.json", Array(Self.suite.utf8))]))
    let targeted = try #require(reports.first { $0.scenario.id == "targeted" })
    #expect(targeted.result == (kind == .cdn ? .passed : .notApplicable))
  }

  @Test("JSON has one object for each scenario")
  func json() async throws {
    let decoded = try JSONSerialization.jsonObject(with: Data(await report().json().utf8))
    let rows = try #require(decoded as? [[String: Any]])
    #expect(rows.map { $0["id"] as? String } == ["reuse", "impossible", "targeted", "after"])
    #expect(rows.map { $0["result"] as? String } == ["passed", "failed", "notApplicable", "dependency"])
    #expect((rows[1]["steps"] as? [String])?.count == 2)
  }

  /// A member of a step, and what is wrong with it.
  static let steps = [
    ("\"response_status\": [99999]", "response_status: expected a status code of three digits in an array"),
    ("\"response_status\": [-5, \"x\"]", "response_status: expected a status code"),
    ("\"truncate_after\": -1", "truncate_after: expected 0 or more"),
    ("\"policy\": \"no such policy\"", "policy: expected one of useProtocolCachePolicy, "),
    ("\"request_method\": \"G E T\"", "request_method: expected a method"),
    ("\"expectd_type\": \"cached\"", "unknown name 'expectd_type' of a step"),
    ("\"expected_type\": \"cachd\"", "expected_type: expected one of cached, not_cached, "),
    ("\"expected_type\": true", "expected_type: expected one of"),
    ("\"expected_status\": \"200\"", "expected_status: expected a status code of three digits, or null"),
    ("\"expected_source\": \"Hit\"", "expected_source: expected one of hit, "),
    ("\"expected_reason\": \"freshh\"", "expected_reason: expected one of fresh, "),
    ("\"expected_response_headers\": [[\"Age\"]]", "expected_response_headers: expected an array of names, "),
    ("\"expected_cache_status\": \"hit\"", "expected_cache_status: expected an array of texts"),
    ("\"expected_origin_requests\": -1", "expected_origin_requests: expected 0 or more"),
    ("\"setup\": 1", "setup: expected true or false"),
    ("\"request_headers\": [[\"A\"]]", "request_headers: expected an array of [name, value]"),
    ("\"interim_responses\": [103]", "interim_responses: expected an array of [status]"),
    ("\"ranges\": \"sometimes\"", "ranges: expected true or false, or \"always\""),
  ]

  @Test("A step with an unknown name or value is refused, with its line and column", arguments: steps)
  func refusedStep(member: String, problem: String) {
    let file = """
      [{"name": "", "id": "", "tests": [
        {"id": "a", "name": "", "requests": [
          {"setup": true},
          {\(member)}]}]}]
      """
    let error = #expect(throws: ScenarioProblems.self) {
      try ScenarioFile.read([("own.json", Array(file.utf8))])
    }
    let column =
      problem.hasPrefix("unknown") ? 6 : 8 + (member.firstIndex(of: ":").map { member[..<$0].count } ?? 0)
    #expect(error?.lines.count == 1)
    #expect(
      error?.lines.first?.hasPrefix("own.json:4:\(column): \(problem)") == true, "\(error?.lines ?? [])")
  }

  /// A file, and where and what is wrong with it.
  static let files = [
    ("[]", "1:1: expected a scenario, found none"),
    ("[{\"name\": \"\", \"id\": \"\", \"tests\": []}]", "1:1: expected a scenario, found none"),
    ("{}", "1:1: the file: expected an array"),
    ("[\n 1]", "2:2: expected a suite, an object"),
    ("[\n  {\"test\": []}]", "2:3: expected the name 'tests' of a suite"),
    ("", "1:1: expected a value, found the end of the file"),
    ("[{\"a\": 1,}]", "1:10: expected a name in quotation marks, found '}'"),
    ("[{\"a\" 1}]", "1:7: expected ':', found '1'"),
    ("[1", "1:3: expected ',' or ']', found the end of the file"),
    ("[] x", "1:4: expected the end of the file, found 'x'"), ("[\"a", "1:2: the text has no end"),
    ("[\"\\q\"]", "1:2: expected a text, found \"\\q\""), ("[01]", "1:2: expected a value, found 01"),
    (String(repeating: "[", count: 200), "1:101: expected at most 100 levels of nesting"),
    (one("\"id\": \"a\", \"requests\": []"), "2:25: requests: expected a step, found none"),
    (one("\"requests\": [{}]"), "2:1: expected the name 'id' of a scenario"),
    (one("\"id\": \"a\""), "2:1: expected the name 'requests' of a scenario"),
    (one("\"id\": \"a\", \"requests\": [{}], \"kid\": 1"), "2:31: unknown name 'kid' of a scenario"),
    (one("\"id\": \"a\", \"requests\": [{}], \"kind\": \"may\""), "2:39: kind: expected one of required, "),
    (
      one("\"id\": \"a\", \"requests\": [{}], \"caches\": [\"own\"]"),
      "2:41: caches: expected some of private, "
    ),
    (one("\"id\": \"a\", \"requests\": [{}], \"requests\": [{}]"), "2:31: requests is there twice"),
    (
      one("\"id\": \"a\", \"requests\": [{}], \"depends_on\": [\"zz\"]"),
      "2:46: depends_on: no scenario has the id 'zz'; pass the file that has it, too"
    ),
    (
      one("\"id\": \"a\", \"requests\": [{}]},\n{\"id\": \"a\", \"requests\": [{}]"),
      "3:8: another scenario has the id 'a'"
    ),
    (
      one("\"id\": \"a\", \"requests\": [{}], \"options\": {\"usesHeuristic\": true}"),
      "2:43: options: unknown name 'usesHeuristic'"
    ),
    (
      one("\"id\": \"a\", \"requests\": [{}], \"options\": {\"usesHeuristics\": 1}"),
      "2:42: options: usesHeuristics: "
    ),
    (
      one("\"id\": \"a\", \"requests\": [{}], \"options\": {\"rules\": [{\"matsch\": 1}]}"), "2:42: options: "
    ),
  ]

  private static func one(_ members: String) -> String {
    "[{\"name\": \"\", \"id\": \"\", \"tests\": [\n{\(members)}]}]"
  }

  @Test("A file that is not one of scenarios is refused, with the line and column", arguments: files)
  func refusedFile(file: String, problem: String) {
    let error = #expect(throws: ScenarioProblems.self) {
      try ScenarioFile.read([("own.json", Array(file.utf8))])
    }
    #expect(error?.lines.contains { $0.hasPrefix("own.json:\(problem)") } == true, "\(error?.lines ?? [])")
  }

  @Test("Scenarios of several files have different ids, and may depend on each other")
  func severalFiles() throws {
    func file(_ name: String, _ id: String, _ dependency: String) -> (String, [UInt8]) {
      let members = "\"id\": \"\(id)\", \"depends_on\": [\"\(dependency)\"], \"requests\": [{}]"
      return (name, Array(Self.one(members).utf8))
    }
    let suites = try ScenarioFile.read([file("a.json", "a", "b"), file("b.json", "b", "a")])
    #expect(suites.flatMap(\.tests).map(\.id) == ["a", "b"])
    let error = #expect(throws: ScenarioProblems.self) {
      try ScenarioFile.read([file("a.json", "a", "a"), file("b.json", "a", "a")])
    }
    #expect(error?.lines == ["b.json:1:1: another file also has a scenario with the id 'a'"])
  }

  @Test("Escapes and numbers of JSON are read")
  func escapes() throws {
    let node = try JSONNode.parse(
      Array(#"[ "a\"ä\u00e4\ud83d\ude00\/", -1.5e2, true , null, {"b" : false} ]"#.utf8))
    #expect(
      node.value
        == .array([.string("a\"ää😀/"), .number(-150), .bool(true), .null, .object(["b": .bool(false)])]))
  }

  @Test("A null expected text is not checked")
  func anyText() async throws {
    let file = """
      [{"name": "", "id": "", "tests": [{"id": "a", "name": "", "requests": [
        {"request_headers": [["Cache-Control", "only-if-cached"]], "expected_status": 504,
          "expected_response_text": null}]}]}]
      """
    let reports = try await ScenarioRunner(kind: .shared).run(
      ScenarioFile.read([("own.json", Array(file.utf8))]))
    #expect(reports.map(\.result) == [.passed])
  }

  @Test("An invalid Content-Length does not end the run")
  func negativeLength() async throws {
    let file = """
      [{"name": "", "id": "", "tests": [{"id": "a", "name": "", "requests": [
        {"response_headers": [["Content-Length", "-5", false]], "check_body": false}]}]}]
      """
    let reports = try await ScenarioRunner(kind: .shared).run(
      ScenarioFile.read([("own.json", Array(file.utf8))]))
    #expect(reports.count == 1)
  }

  @Test(
    "The exit status of conform reports the kind of error",
    arguments: [
      (["conform", "/does/not/exist"], 66), (["conform", "FILE", "FILE"], 65),
      (["conform", "FILE", "--only", "nothing"], 65),
      (["conform", "FILE", "--only", "impossible"], 1),
      (["conform", "FILE", "--only", "reuse", "--json"], 0),
      (["conform", "FILE", "--cache", "cdn", "--only", "targeted"], 0),
      (["conform", "FILE", "--cache", "cold"], 64), (["conform"], 64),
    ] as [([String], Int32)])
  func exitStatus(arguments: [String], status: Int32) async throws {
    let file = temporaryURL()
    try Data(Self.suite.utf8).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    var actual: Int32 = 0
    do {
      let parsed = try HTTPCacheCommand.parseAsRoot(arguments.map { $0 == "FILE" ? file.path : $0 })
      let command = try #require(parsed as? ConformCommand)
      try await command.run()
    } catch {
      actual = HTTPCacheCommand.exitCode(for: error).rawValue
    }
    #expect(actual == status)
  }
}
