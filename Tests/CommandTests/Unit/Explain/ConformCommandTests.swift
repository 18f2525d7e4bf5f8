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
    let suites = try ScenarioSuite.load(Data(Self.suite.utf8))
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
    let reports = try await kind.runner.run(ScenarioSuite.load(Data(Self.suite.utf8)))
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

  @Test(
    "A file with a step that no origin can answer is rejected",
    arguments: [
      ("\"response_status\": [99999]", "response_status"),
      ("\"response_status\": [-5, \"x\"]", "response_status"),
      ("\"truncate_after\": -1", "truncate_after"),
      ("\"policy\": \"no such policy\"", "policy"),
      ("\"request_method\": \"G E T\"", "request_method"),
    ])
  func impossibleStep(member: String, name: String) {
    let file =
      "[{\"name\": \"\", \"id\": \"\", \"tests\": [{\"id\": \"a\", \"name\": \"\", \"requests\": [{\(member)}]}]}]"
    do {
      _ = try ScenarioSuite.load(Data(file.utf8))
      Issue.record("it was read")
    } catch {
      #expect("\(error)".contains("step 1: \(name)"))
    }
  }

  @Test("A null expected text is not checked")
  func anyText() async throws {
    let file = """
      [{"name": "", "id": "", "tests": [{"id": "a", "name": "", "requests": [
        {"request_headers": [["Cache-Control", "only-if-cached"]], "expected_status": 504,
          "expected_response_text": null}]}]}]
      """
    let reports = try await ScenarioRunner(kind: .shared).run(ScenarioSuite.load(Data(file.utf8)))
    #expect(reports.map(\.result) == [.passed])
  }

  @Test("An invalid Content-Length does not end the run")
  func negativeLength() async throws {
    let file = """
      [{"name": "", "id": "", "tests": [{"id": "a", "name": "", "requests": [
        {"response_headers": [["Content-Length", "-5", false]], "check_body": false}]}]}]
      """
    let reports = try await ScenarioRunner(kind: .shared).run(ScenarioSuite.load(Data(file.utf8)))
    #expect(reports.count == 1)
  }

  @Test(
    "The exit status of conform reports the kind of error",
    arguments: [
      (["conform", "/does/not/exist"], 66), (["conform", "FILE", "--only", "nothing"], 65),
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
