// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheEngine
import Testing

@testable import httpcache

@Suite("Scenarios written from the standards", .timeLimit(.minutes(10)))
struct ScenarioTests {
  private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("Scenarios")

  static let files: [String] = {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    return names.filter { $0.hasSuffix(".json") }.sorted()
  }()

  /// Read once for all tests.
  private static let loaded = Dictionary(
    uniqueKeysWithValues: files.map { file in
      (
        file,
        Result {
          try ScenarioFile.read([(file, Array(Data(contentsOf: folder.appendingPathComponent(file))))])
        }
      )
    })

  private static func load(_ file: String) throws -> [ScenarioSuite] {
    try loaded[file]?.get() ?? []
  }

  private static let runners = [
    ("private", ScenarioRunner(kind: .private)), ("shared", ScenarioRunner(kind: .shared)),
    ("cdn", ScenarioRunner(kind: .shared, targets: ["CDN-Cache-Control"])),
  ]

  @Test("Every scenario passes with every kind of cache it applies to", arguments: files)
  func pass(file: String) async throws {
    let suites = try Self.load(file)
    var ran: Set<String> = []
    for (kind, runner) in Self.runners {
      for report in try await runner.run(suites) where report.result != .notApplicable {
        ran.insert(report.scenario.id)
        if report.result.isPass { continue }
        Issue.record(
          "\(report.scenario.id), \(kind): \(report.result)\n\(report.trace.joined(separator: "\n"))")
      }
    }
    #expect(ran == Set(suites.flatMap(\.tests).map(\.id)), "some ran with no kind of cache")
  }

  @Test("Every scenario names a section and expects something", arguments: files)
  func areWellFormed(file: String) throws {
    for scenario in try Self.load(file).flatMap(\.tests) {
      #expect(!scenario.sections.isEmpty, "\(scenario.id) names no section")
      #expect(!scenario.expectsNothing, "\(scenario.id)")
    }
  }

  @Test("Every scenario has its own id")
  func idsAreUnique() throws {
    let ids = try Self.files.flatMap { try Self.load($0).flatMap(\.tests).map(\.id) }
    #expect(!ids.isEmpty)
    #expect(Set(ids).count == ids.count)
  }
}
