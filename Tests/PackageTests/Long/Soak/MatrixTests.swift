// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore
import Testing

@testable import TestTool

@Suite("The soak test's matrix", .timeLimit(.minutes(10)))
struct MatrixTests {
  @Test("Every cell has a unique path that is parsed back to the cell")
  func paths() {
    var paths: Set<String> = []
    for position in 0..<Cell.count {
      let cell = Cell(at: position, key: UInt64(position) << 30)
      #expect(Cell(path: cell.path) == cell)
      paths.insert(Cell(at: position, key: 1).path)
    }
    #expect(paths.count == Cell.count)
  }

  @Test(
    "A malformed path has no cell",
    arguments: ["/", "/v=weak", "/v=weak/f=x/s=200/c=1/vary=1/n=1/o=quick/k=1"])
  func malformed(path: String) {
    #expect(Cell(path: path) == nil)
  }

  @Test("A few rounds draw every cell, except some large or silent ones")
  func drawing() {
    let draws = Draws(seed: 7, entryPoint: 1)
    var drawn: Set<Cell> = []
    for _ in 0..<100_000 {
      var cell = draws.next().cell
      cell.key = 0
      drawn.insert(cell)
    }
    let missing = (0..<Cell.count).map { Cell(at: $0, key: 0) }.filter { !drawn.contains($0) }
    #expect(missing.allSatisfy { $0.size == Cell.large || $0.origin == .silent })
    #expect(drawn.contains { $0.size == Cell.large } && drawn.contains { $0.origin == .silent })
    #expect(draws.drawnCount == drawn.count)
  }

  @Test("The same seed draws the same requests, and each new URL three times")
  func repeating() {
    let (one, other) = (Draws(seed: 7, entryPoint: 1), Draws(seed: 7, entryPoint: 1))
    var counts: [String: Int] = [:]
    for _ in 0..<1000 {
      let (first, second) = (one.next(), other.next())
      #expect(first.cell == second.cell && first.client == second.client && first.detail == second.detail)
      if first.cell.key % (1 << 40) > Draws.hotCount { counts[first.cell.path, default: 0] += 1 }
    }
    #expect(counts.values.filter { $0 != 3 }.count <= 1)
  }
}

@Suite("The soak test's content", .timeLimit(.minutes(10)))
struct ContentTests {
  private let content = Content(of: "/a", number: 0, size: 100_000)

  @Test(
    "A part equals the same range of the whole",
    arguments: [0..<10, 5..<4096, 4090..<4100, 4096..<8192, 12_345..<54_321])
  func parts(range: Range<Int>) {
    let whole = content.bytes(0..<content.size)
    #expect(content.bytes(range) == whole.getSlice(at: range.lowerBound, length: range.count))
    #expect(content.matches(content.bytes(range), at: range.lowerBound))
  }

  @Test("Content of another URL, variant, position or block does not match, nor beyond the end")
  func others() {
    let piece = content.bytes(100..<110)
    #expect(!content.matches(piece, at: 101))
    #expect(!content.matches(piece, at: 100 + 4096))
    #expect(!content.matches(Content(of: "/b", number: 0, size: 100_000).bytes(0..<10), at: 0))
    #expect(!content.matches(Content(of: "/a", number: 1, size: 100_000).bytes(0..<10), at: 0))
    #expect(!Content(of: "/a", number: 0, size: 105).matches(piece, at: 100))
  }
}

@Suite("Responses that the soak test's client accepts", .timeLimit(.minutes(10)))
struct ExchangeTests {
  private func exchange(_ change: (inout Cell) -> Void = { _ in }, client: Exchange.Client = .reads)
    -> Exchange
  {
    var cell = Cell(at: 0, key: 3)
    (cell.validator, cell.size, cell.origin, cell.status) = (.strong, 1000, .quick, 200)
    change(&cell)
    return Exchange(cell: cell, client: client, variant: 1, detail: 0)
  }

  @Test("The whole content is accepted, and an error only from a failing origin")
  func whole() throws {
    #expect(try exchange().expected(status: 200) { _ in nil }.range == 0..<1000)
    #expect(throws: Exchange.Failure.self) { try exchange().expected(status: 504) { _ in nil } }
    #expect(try exchange { $0.origin = .silent }.expected(status: 504) { _ in nil }.content == nil)
  }

  @Test("Only the requested range is accepted")
  func range() throws {
    let asking = exchange(client: .range)
    #expect(try asking.expected(status: 206) { _ in "bytes 250-500/1000" }.range == 250..<501)
    #expect(throws: Exchange.Failure.self) { try asking.expected(status: 206) { _ in "bytes 250-501/1000" } }
    #expect(throws: Exchange.Failure.self) {
      try exchange().expected(status: 206) { _ in "bytes 250-500/1000" }
    }
  }

  @Test("A 304 is accepted only after a precondition")
  func precondition() throws {
    #expect(try exchange { $0.status = 304 }.expected(status: 304) { _ in nil }.range.isEmpty)
    #expect(throws: Exchange.Failure.self) { try exchange().expected(status: 304) { _ in nil } }
  }
}
