// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import NIOCore
import TestSupport

/// Content that can be computed from the URL, from any position on.
///
/// It is made of blocks. A block is a part of one table of random bytes, from a place that depends on content and block, and
/// begins with both their numbers. To make and to compare it costs a copy, also in a debug build.
struct Content: Sendable {
  private static let block = 4096
  private static let table: [UInt8] = {
    var random = SplitMix64(seed: 9111)
    return (0..<block * 2).map { _ in UInt8(truncatingIfNeeded: random.next()) }
  }()

  let size: Int
  private let seed: UInt64

  /// - Parameter number: the variant, or what else the content depends on beside the path.
  init(of path: String, number: UInt64, size: Int) {
    // FNV-1a: the same in every process.
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in path.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    var random = SplitMix64(seed: hash &+ number &* 0x9e37_79b9)
    seed = random.next()
    self.size = size
  }

  func write(_ range: Range<Int>, to buffer: inout ByteBuffer) {
    var position = range.lowerBound
    while position < range.upperBound {
      let (number, offset) = position.quotientAndRemainder(dividingBy: Self.block)
      let end = Swift.min(Self.block, range.upperBound - number * Self.block)
      let start = Int((seed &+ UInt64(number) &* 977) % UInt64(Self.block))
      var bytes = ByteBuffer()
      bytes.writeBytes(Self.table[start..<start + Self.block])
      bytes.setInteger(seed, at: 0)
      bytes.setInteger(UInt64(number), at: 8)
      buffer.writeImmutableBuffer(bytes.getSlice(at: offset, length: end - offset) ?? ByteBuffer())
      position = number * Self.block + end
    }
  }

  func bytes(_ range: Range<Int>) -> ByteBuffer {
    var buffer = ByteBuffer()
    write(range, to: &buffer)
    return buffer
  }

  /// Whether these bytes are the content from this position on.
  func matches(_ bytes: ByteBuffer, at position: Int) -> Bool {
    guard position + bytes.readableBytes <= size else { return false }
    return self.bytes(position..<position + bytes.readableBytes) == bytes
  }
}
