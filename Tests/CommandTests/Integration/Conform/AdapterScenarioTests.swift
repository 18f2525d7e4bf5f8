// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import TestSupport
import Testing

@testable import httpcache

@Suite("Scenarios through adapters", .timeLimit(.minutes(10)))
struct AdapterScenarioTests {
  private static let suites: [ScenarioSuite] = {
    let folder = Repository.root.appendingPathComponent("Tests/CommandTests/Unit/Conformance/Scenarios")
    let files =
      (try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)) ?? []
    return files.filter { $0.pathExtension == "json" }
      .flatMap { (try? ScenarioFile.read([("", Array(Data(contentsOf: $0)))])) ?? [] }
  }()

  @Test(
    "Every scenario passes through every adapter, unless a reason is listed",
    arguments: Adapter.allCases, ConformCommand.Kind.allCases)
  func pass(adapter: Adapter, kind: ConformCommand.Kind) async throws {
    guard adapter.supports(kind) else { return }
    let reports = try await adapter.run { entry in try await kind.runner(through: entry).run(Self.suites) }
    for report in reports where !report.result.isPass && report.result != .notApplicable {
      Issue.record("\(report.scenario.id): \(report.result)\n\(report.trace.joined(separator: "\n"))")
    }
    let passed = reports.count { $0.result.isPass }
    let listed = reports.count { $0.result == .notApplicable && !$0.trace.isEmpty }
    #expect(passed > 250 && listed < passed / 5, "\(passed) passed, \(listed) could not run")
  }
}
