// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Testing

@testable import HTTPCacheEngine

@Suite("Stored byte ranges of a representation", .timeLimit(.minutes(10)))
struct StoredPartsTests {
  private func parts(_ ranges: Range<Int64>..., of length: Int64? = nil) -> StoredParts? {
    StoredParts(ranges: ranges, completeLength: length, isCombinable: true)
  }

  @Test("Stored ranges are ordered, separate, within the complete length, and incomplete")
  func invariants() {
    #expect(parts(0..<5, 6..<8, of: 10) != nil)
    #expect(parts(0..<5) != nil)
    #expect(parts() == nil)
    #expect(parts(3..<3) == nil)
    #expect(parts(-1..<3) == nil)
    #expect(parts(0..<5, 5..<8) == nil)
    #expect(parts(6..<8, 0..<5) == nil)
    #expect(parts(0..<5, 4..<8) == nil)
    #expect(parts(0..<11, of: 10) == nil)
    #expect(parts(0..<10, of: 10) == nil)
    let many = (0..<65).map { (number: Int64) -> Range<Int64> in 2 * number..<2 * number + 1 }
    #expect(StoredParts(ranges: many, completeLength: nil, isCombinable: true) == nil)
  }

  @Test("A range is found in the stored content if it lies within one part")
  func placing() throws {
    let parts = try #require(self.parts(2..<5, 10..<20))
    #expect(parts.count == 13)
    #expect(parts.storedRange(of: 2..<5) == 0..<3)
    #expect(parts.storedRange(of: 12..<14) == 5..<7)
    #expect(parts.storedRange(of: 4..<11) == nil)
    #expect(parts.storedRange(of: 5..<6) == nil)
    #expect(parts.storedRange(of: 19..<21) == nil)
    #expect([0, 2, 4, 7, 15, 99].map { parts.count(before: $0) } == [0, 0, 2, 3, 8, 13])
  }

  @Test(
    "Overlapping and adjacent ranges are merged",
    arguments: [
      (0..<1, [0..<1, 2..<5, 10..<20]), (0..<2, [0..<5, 10..<20]), (5..<10, [2..<20]), (0..<30, [0..<30]),
      (3..<4, [2..<5, 10..<20]), (6..<9, [2..<5, 6..<9, 10..<20]), (20..<21, [2..<5, 10..<21]),
      (4..<12, [2..<20]),
    ] as [(Range<Int64>, [Range<Int64>])])
  func union(added: Range<Int64>, result: [Range<Int64>]) {
    #expect(StoredParts.union([2..<5, 10..<20], added) == result)
  }

  @Test("The only gap is found if there is exactly one")
  func gaps() {
    func gap(_ parts: StoredParts?) -> [Int64?]? { parts?.onlyGap.map { [$0.first, $0.end] } }
    #expect(gap(parts(0..<5, of: 10)) == [5, 10])
    #expect(gap(parts(5..<10, of: 10)) == [0, 5])
    #expect(gap(parts(0..<2, 8..<10, of: 10)) == [2, 8])
    #expect(gap(parts(0..<5)) == [5, nil])
    #expect(gap(parts(2..<5, of: 10)) == nil)
    #expect(gap(parts(2..<5)) == nil)
    #expect(gap(parts(0..<2, 4..<6)) == nil)
    #expect(gap(parts(0..<2, 4..<6, of: 10)) == nil)
    #expect(gap(parts(0..<2, 4..<6, 8..<10, of: 10)) == nil)
  }
}
