// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// Content in memory as a queue of blocks: bytes are added at the end, read anywhere, and dropped from the front.
///
/// Chunks of ``gatheringLimit`` bytes or more are kept as they are, without a copy. Smaller chunks are gathered into
/// blocks: otherwise an origin that sends one byte per chunk would make the content occupy 60 times its size.
package struct ContentBlocks: Sendable {
  /// Chunks below this size are gathered, in bytes.
  package static let gatheringLimit = 4 << 10
  /// A block of gathered chunks is full at this size, in bytes.
  package static let blockSize = 16 << 10
  /// Bytes that an array occupies in addition to its elements, including its place in the list of blocks.
  private static let overhead = 80

  private struct Block {
    /// The position of its first byte in the content.
    var start: Int
    var bytes: ArraySlice<UInt8>
    /// The bytes that it occupies.
    var cost: Int
  }

  /// The blocks from ``first`` on, which never change.
  private var blocks: [Block] = []
  private var first = 0
  /// Small chunks, gathered until they fill a block. Grows by doubling, so that a small body does not reserve a block.
  private var tail: [UInt8] = []
  private var sealedCost = 0
  /// The position of the first byte that is still here.
  package private(set) var start: Int
  /// The position after the last byte.
  package private(set) var end: Int

  /// - Parameter start: the position in the content of the first byte that will be added.
  package init(at start: Int = 0) {
    self.start = start
    end = start
  }

  /// The number of bytes from ``start`` to ``end``.
  package var count: Int { end - start }

  /// Bytes that the blocks occupy in memory.
  package var occupied: Int { sealedCost + (tail.capacity == 0 ? 0 : tail.capacity + Self.overhead) }

  /// Adds bytes at the end.
  ///
  /// - Complexity: O(1) amortised for a chunk that is kept as it is, O(*n*) in the chunk's size for a gathered one.
  package mutating func append(_ bytes: ArraySlice<UInt8>) {
    guard !bytes.isEmpty else { return }
    if bytes.count >= Self.gatheringLimit {
      seal()
      addBlock(bytes, cost: bytes.count + Self.overhead)
    } else {
      if tail.count + bytes.count > Self.blockSize { seal() }
      let needed = tail.count + bytes.count
      if needed > tail.capacity {
        // By itself, an array that is a few bytes short of a block doubles beyond it.
        tail.reserveCapacity(max(needed, min(2 * tail.capacity, Self.blockSize)))
      }
      tail += bytes
    }
    end += bytes.count
  }

  private mutating func seal() {
    guard !tail.isEmpty else { return }
    addBlock(tail[...], cost: tail.capacity + Self.overhead)
    tail = []
  }

  private mutating func addBlock(_ bytes: ArraySlice<UInt8>, cost: Int) {
    let position =
      blocks.count > first ? blocks[blocks.count - 1].start + blocks[blocks.count - 1].bytes.count : start
    blocks.append(Block(start: position, bytes: bytes, cost: cost))
    sealedCost += cost
  }

  /// The position of the first byte in the tail.
  private var tailStart: Int { end - tail.count }

  /// Returns the bytes from a position to the end of their block; empty at ``end``.
  ///
  /// - Parameter position: from ``start`` to ``end``.
  /// - Complexity: O(log *n*) in the number of blocks. Bytes that are still being gathered are copied.
  package func read(from position: Int, upTo maximumCount: Int = .max) -> ArraySlice<UInt8> {
    precondition(position >= start && position <= end, "\(position) is outside of \(start)...\(end)")
    if position >= tailStart {
      return Array(tail[(position - tailStart)...].prefix(maximumCount))[...]
    }
    var (low, high) = (first, blocks.count)
    while high - low > 1 {
      let middle = (low + high) / 2
      if blocks[middle].start <= position { low = middle } else { high = middle }
    }
    return blocks[low].bytes.dropFirst(position - blocks[low].start).prefix(maximumCount)
  }

  /// Drops the blocks that end at a position or before it.
  package mutating func drop(before position: Int) {
    while first < blocks.count, blocks[first].start + blocks[first].bytes.count <= position {
      sealedCost -= blocks[first].cost
      start += blocks[first].bytes.count
      blocks[first].bytes = []
      first += 1
    }
    if first == blocks.count {
      if first > 0 { blocks.removeAll(keepingCapacity: first <= 64) }
      first = 0
      start = tailStart
      if position >= end {
        tail = []
        start = end
      }
    } else if first > 32, first * 2 > blocks.count {
      blocks.removeFirst(first)
      first = 0
    }
  }

  /// Removes all bytes, and returns them in one array of exactly their size.
  ///
  /// - Complexity: O(*n*), and O(1) if the content came as one whole array without unused capacity.
  package mutating func takeAll() -> [UInt8] {
    defer { self = ContentBlocks(at: end) }
    if tail.isEmpty, blocks.count - first == 1 {
      // For a slice that is a whole array, the conversion returns that array.
      let bytes = Array(blocks[first].bytes)
      if Self.isExact(bytes) { return bytes }
    } else if first == blocks.count, Self.isExact(tail) {
      return tail
    }
    var all: [UInt8] = []
    all.reserveCapacity(count)
    for index in first..<blocks.count {
      all += blocks[index].bytes
      blocks[index].bytes = []
    }
    all += tail
    return all
  }

  /// Whether an array has no more unused capacity than `malloc` adds to any request: up to a page.
  private static func isExact(_ bytes: [UInt8]) -> Bool {
    bytes.capacity - bytes.count <= (bytes.count < 64 << 10 ? 64 : 8 << 10)
  }
}
