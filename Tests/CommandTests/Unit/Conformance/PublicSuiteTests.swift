// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheEngine
import TestSupport
import Testing

@testable import httpcache

@Suite("The public suite of cache tests", .timeLimit(.minutes(10)))
struct PublicSuiteTests {
  private static let root = Repository.root
  private static let file = root.appendingPathComponent("../shared/conformance/cache-tests.json")

  /// What the suite wants and this cache does not do on purpose; Documentation/RFC/public-suite.md says why.
  private static let deliberate: Set<String> = [
    "partial-store-partial-reuse-partial-byterange", "partial-store-partial-reuse-partial-absent",
    "partial-store-partial-reuse-partial-suffix", "partial-store-partial-complete",
    "vary-normalise-lang-case", "vary-normalise-lang-order", "vary-normalise-lang-select",
  ]

  @Test("The page on the public suite explains every deliberate difference", arguments: deliberate)
  func reasons(id: String) throws {
    let page = Self.root.appendingPathComponent("Documentation/RFC/public-suite.md")
    let notes = try String(contentsOf: page, encoding: .utf8)
    #expect(notes.contains("`\(id)`"))
  }

  @Test(
    "With the option for Accept-Language, its spelling in letter case and order makes no difference",
    .enabled(if: FileManager.default.fileExists(atPath: file.path), "the suite's file is not here"),
    arguments: [CacheEngine.Configuration.Kind.private, .shared])
  func normalised(kind: CacheEngine.Configuration.Kind) async throws {
    let suites = try ScenarioFile.read([("cache-tests.json", Array(Data(contentsOf: Self.file)))]).map {
      suite in
      var suite = suite
      suite.tests = suite.tests.filter { $0.id.hasPrefix("vary-") }.map { scenario in
        var scenario = scenario
        scenario.options.normalizes = [.acceptLanguage]
        return scenario
      }
      return suite
    }
    let reports = try await ScenarioRunner(kind: kind).run(suites)
    #expect(reports.count { $0.scenario.id.hasPrefix("vary-normalise") && $0.result.isPass } >= 3)
    for report in reports where report.scenario.id.hasPrefix("vary-normalise") && !report.result.isPass {
      #expect(report.scenario.id == "vary-normalise-lang-select")
    }
  }

  @Test(
    "Only scenarios with a deliberate difference fail",
    .enabled(if: FileManager.default.fileExists(atPath: file.path), "the suite's file is not here"),
    arguments: [(.private, []), (.shared, []), (.shared, ["CDN-Cache-Control"])]
      as [(CacheEngine.Configuration.Kind, [String])])
  func nothingElseFails(kind: CacheEngine.Configuration.Kind, targets: [String]) async throws {
    let data = try Data(contentsOf: Self.file)
    let reports = try await ScenarioRunner(kind: kind, targets: targets).run(
      ScenarioFile.read([("cache-tests.json", Array(data))]))
    #expect(reports.filter(\.result.isPass).count > 150)
    for report in reports where report.scenario.kind != .check {
      guard case .failed(let problem) = report.result,
        !Self.deliberate.contains(report.scenario.id)
      else { continue }
      Issue.record("\(report.scenario.id): \(problem)\n\(report.trace.joined(separator: "\n"))")
    }
  }
}
