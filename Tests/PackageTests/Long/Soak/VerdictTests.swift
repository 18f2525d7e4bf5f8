// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Testing

@testable import TestTool

@Suite("The soak test's verdict", .timeLimit(.minutes(10)))
struct VerdictTests {
  private let verdict = Verdict(limits: [.rss: 200 << 20, .fetch: 10])

  /// A sample each second of 100.
  private func problems(_ column: Column, _ value: (Int) -> Int) -> [String] {
    verdict.problems(
      (1...100).map { Sample(time: Double($0), values: [column: value($0)]) }, duration: 100)
  }

  @Test("A flat series passes, and so does one that fills in the first fifth")
  func flat() {
    #expect(problems(.rss) { _ in 100 << 20 } == [])
    #expect(problems(.rss) { $0 < 20 ? $0 * 5 << 20 : 100 << 20 } == [])
    #expect(problems(.fetch) { $0 % 10 } == [])
  }

  @Test("A series that grows below its limit fails")
  func growing() {
    #expect(problems(.rss) { (100 << 20) + $0 << 19 } != [])
  }

  @Test("A spike fails after the first tenth of the run, and not within it")
  func spike() {
    #expect(problems(.fetch) { $0 == 50 ? 11 : 0 } == ["fetch 11 after 50 s (limit: 10)"])
    #expect(problems(.fetch) { $0 == 5 ? 11 : 0 } == [])
  }

  @Test("A column that is never counted fails")
  func uncounted() {
    let verdict = Verdict(limits: [:], counted: [.fetch, .reader])
    let samples = [Sample(time: 1, values: [.fetch: 1, .reader: 0]), Sample(time: 2, values: [.fetch: 0])]
    #expect(verdict.problems(samples, duration: 2) == ["never counted: reader"])
  }

  @Test("A line of a report is read back unchanged")
  func report() {
    let values: [Column: Int] = [.rss: 1, .clients: 2, .transit: 3]
    #expect([Column: Int](line: values.line) == values)
  }
}
