// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore
import Testing

@testable import HTTPCacheProxy

@Suite("Memory of HTTP/2 frames")
struct FrameMemoryTests {
  private static let (frame, piece) = (FrameMemory.frame, FrameMemory.piece)

  @Test(
    "Content is cut into writes that are as large as allowed",
    arguments: [0, 1, frame, frame + 1, piece / 2 + 1, piece, piece + 1, 3 * piece - 1], [frame, piece])
  func cuts(_ count: Int, into size: Int) {
    let memory = FrameMemory()
    let content = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
    var writes: [ByteBuffer] = []
    writes.append(memory.cut(content.span.bytes, into: size) { writes.append($0) })
    #expect(writes.map(\.readableBytes).dropLast().allSatisfy { $0 == size })
    #expect((writes.last?.readableBytes ?? 0) <= size)
    #expect(writes.flatMap { Array($0.readableBytesView) } == content)
  }

  @Test("Writes that still wait keep their content while the memory of others is used again")
  func waits() {
    let memory = FrameMemory()
    func write(_ byte: UInt8) -> ByteBuffer {
      memory.cut([UInt8](repeating: byte, count: Self.piece).span.bytes, into: Self.piece) { _ in }
    }
    let kept = write(1)
    var places: Set<UInt> = []
    for _ in 0..<100 {
      let taken = write(2)
      taken.withUnsafeReadableBytes { _ = places.insert(UInt(bitPattern: $0.baseAddress)) }
    }
    #expect(kept.readableBytesView.allSatisfy { $0 == 1 })
    #expect(places.count == 16)
  }
}
