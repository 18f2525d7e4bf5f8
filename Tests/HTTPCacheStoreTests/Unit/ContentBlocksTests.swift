// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import TestSupport
import Testing

@testable import HTTPCacheStore

@Suite("Content blocks", .timeLimit(.minutes(10)))
struct ContentBlocksTests {
  @Test(
    "Blocks hold the same bytes as an array through random operations",
    arguments: 0..<usually(8, long: 200) as Range<UInt64>
  )
  func model(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let origin = Int.random(in: 0..<3, using: &random) * 1000
    var blocks = ContentBlocks(at: origin)
    // From the origin on; what is dropped stays here.
    var all: [UInt8] = []
    let limit = [100, 5000, 40_000].randomElement(using: &random) ?? 100
    for step in 0..<300 {
      switch Int.random(in: 0..<8, using: &random) {
      case 0..<4:
        // As a part of an array, too, whose indices begin elsewhere.
        let size = Int.random(in: 0...limit, using: &random)
        let array = pattern(step, size + 20)
        let chunk = Bool.random(using: &random) ? array[10..<10 + size] : pattern(step, size)[...]
        blocks.append(chunk)
        all += chunk
      case 4..<7:
        let position = Int.random(in: blocks.start...blocks.end, using: &random)
        let most = Int.random(in: 1...limit, using: &random)
        let found = blocks.read(from: position, upTo: most)
        #expect(found.elementsEqual(all.dropFirst(position - origin).prefix(found.count)))
        #expect(found.count <= most && (found.isEmpty == (position == blocks.end)))
      default:
        let position = Int.random(in: blocks.start...blocks.end + 10, using: &random)
        blocks.drop(before: position)
        #expect(blocks.start <= max(position, blocks.end) && (position < blocks.end || blocks.count == 0))
      }
      #expect(blocks.end == origin + all.count && blocks.count == blocks.end - blocks.start)
      #expect((blocks.occupied == 0) == (blocks.count == 0))
      #expect(blocks.occupied >= blocks.count)
    }
    let rest = all.dropFirst(blocks.start - origin)
    #expect(blocks.takeAll() == Array(rest))
    #expect(blocks.count == 0 && blocks.occupied == 0 && blocks.start == blocks.end)
    blocks.append([1, 2, 3])
    #expect(blocks.read(from: blocks.start) == [1, 2, 3] && blocks.end == origin + all.count + 3)
  }

  @Test("Small chunks occupy little more than their bytes, and dropping chunks frees memory")
  func occupied() {
    var blocks = ContentBlocks()
    for number in 0..<100_000 { blocks.append([UInt8(truncatingIfNeeded: number)]) }
    #expect(blocks.occupied < 110_000)
    blocks.drop(before: 90_000)
    #expect(blocks.start > 70_000 && blocks.occupied < 40_000)
    var small = ContentBlocks()
    small.append([1])
    #expect(small.occupied < 200)
  }

  @Test("A large chunk is kept without a copy, and returned if it is alone")
  func retained() {
    func address(_ bytes: ArraySlice<UInt8>) -> UnsafeRawPointer? { bytes.withUnsafeBytes { $0.baseAddress } }
    let chunk = [UInt8](repeating: 1, count: ContentBlocks.gatheringLimit)
    var blocks = ContentBlocks()
    blocks.append(chunk[...])
    #expect(address(blocks.read(from: 0)) == address(chunk[...]))
    #expect(address(blocks.takeAll()[...]) == address(chunk[...]))
    blocks.append(chunk[1...])
    #expect(address(blocks.read(from: blocks.start)) != address(chunk[1...]), "it is too small to be kept")
  }

  @Test(
    "All content becomes an array with little unused capacity",
    arguments: [[9000], [1, 9000], [3000, 3000, 3001], [20_000, 1], [70_000], [300_000, 5, 300_000]])
  func exact(sizes: [Int]) {
    var blocks = ContentBlocks()
    var all: [UInt8] = []
    for (number, size) in sizes.enumerated() {
      var chunk = pattern(number, size)
      // As a buffer that a transport has read into.
      chunk.reserveCapacity(size * 3)
      blocks.append(chunk[...])
      all += chunk
    }
    let taken = blocks.takeAll()
    #expect(taken == all)
    #expect(taken.capacity <= taken.count + 8192 && taken.capacity <= taken.count * 9 / 8)
  }
}
