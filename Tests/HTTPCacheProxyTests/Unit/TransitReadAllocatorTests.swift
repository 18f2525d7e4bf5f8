// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching
import NIOCore
import Testing

@testable import HTTPCacheProxy

@Suite("The size of reads from a socket", .timeLimit(.minutes(10)))
struct TransitReadAllocatorTests {
  @Test(
    "Reads grow while the budget is free and are small while it is full",
    arguments: [(used: 0, size: 64 << 10), (15 << 20, 16 << 10), (16 << 20, 4 << 10), (40 << 20, 4 << 10)])
  func size(used: Int, size: Int) {
    let transit = TransitBudget(capacity: 64 << 20)
    transit.change(by: used)
    var allocator = TransitReadAllocator(transit: transit)
    for _ in 0..<20 {
      let count = allocator.buffer(allocator: ByteBufferAllocator()).writableBytes
      _ = allocator.record(actualReadBytes: 1 << 20)
      #expect(count <= max(size, 4 << 10))
    }
    #expect(allocator.buffer(allocator: ByteBufferAllocator()).writableBytes == size)
  }

  @Test("A channel keeps only the buffer of its first read")
  func kept() {
    let transit = TransitBudget(capacity: 64 << 20)
    var pool = NIOPooledRecvBufferAllocator(
      capacity: 1, recvAllocator: TransitReadAllocator(transit: transit))
    var largest = 0
    for _ in 0..<20 {
      let (buffer, _) = pool.buffer(allocator: ByteBufferAllocator()) { $0.writableBytes }
      largest = max(largest, buffer.storageCapacity)
      pool.record(actualReadBytes: buffer.storageCapacity)
    }
    #expect(largest == 64 << 10)
    // Small reads use the first buffer again, which is small.
    for _ in 0..<20 { pool.record(actualReadBytes: 1) }
    let (buffer, _) = pool.buffer(allocator: ByteBufferAllocator()) { $0.writableBytes }
    #expect(buffer.storageCapacity <= 4096)
  }
}
