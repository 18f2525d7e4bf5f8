// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching
import NIOCore
import Testing

@testable import HTTPCacheProxy

@Suite("Reads from a socket", .timeLimit(.minutes(10)))
struct ReadBufferTests {
  private static func channel(_ transit: TransitBudget, _ reads: ReadBuffer) -> NIOPooledRecvBufferAllocator {
    NIOPooledRecvBufferAllocator(
      capacity: 1, recvAllocator: TransitReadAllocator(transit: transit, shared: reads, first: 1024))
  }

  /// Reads bytes as a channel does.
  private static func read(_ text: String, _ channel: inout NIOPooledRecvBufferAllocator) -> (
    ByteBuffer, capacity: Int
  ) {
    let (buffer, capacity) = channel.buffer(allocator: ByteBufferAllocator()) {
      let capacity = $0.writableBytes
      $0.writeString(text)
      return capacity
    }
    channel.record(actualReadBytes: text.utf8.count)
    return (buffer, capacity)
  }

  private static func address(_ buffer: ByteBuffer) -> UInt {
    buffer.withVeryUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
  }

  @Test(
    "Reads are large while the budget is free and small while it is full; the first is small, as its buffer is kept",
    arguments: [(0, 64), (15, 16), (16, 4), (40, 4)] as [(usedMiB: Int, sizeKiB: Int)])
  func size(usedMiB: Int, sizeKiB: Int) {
    let transit = TransitBudget(capacity: 64 << 20)
    transit.change(by: usedMiB << 20)
    var channel = Self.channel(transit, ReadBuffer())
    #expect(Self.read("a", &channel).capacity == 1024)
    for _ in 0..<3 { #expect(Self.read("a", &channel).capacity == sizeKiB << 10) }
  }

  @Test("Connections that have processed their bytes read into the same memory")
  func shared() {
    let (transit, reads) = (TransitBudget(capacity: 64 << 20), ReadBuffer())
    var channels = [Self.channel(transit, reads), Self.channel(transit, reads)]
    var addresses: Set<UInt> = []
    for index in channels.indices { _ = Self.read("first", &channels[index]) }
    for index in [0, 1, 1, 0] {
      var waiting = ByteBuffer()
      reads.move(Self.read("abc", &channels[index]).0, to: &waiting)
      addresses.insert(Self.address(waiting))
      #expect(waiting.readString(length: 3) == "abc")
      reads.trim(&waiting)
      #expect(waiting.storageCapacity == 0)
    }
    #expect(addresses.count == 1)
  }

  @Test("Bytes that wait, and slices that someone keeps, are not overwritten", arguments: [1, 3, 60_000])
  func waiting(count: Int) {
    let (transit, reads) = (TransitBudget(capacity: 64 << 20), ReadBuffer())
    var channel = Self.channel(transit, reads)
    _ = Self.read("first", &channel)
    var waiting = ByteBuffer()
    reads.move(Self.read("head" + String(repeating: "a", count: count), &channel).0, to: &waiting)
    let kept = waiting.readSlice(length: 4)
    reads.trim(&waiting)
    // Little waits in little memory.
    #expect(waiting.storageCapacity < 2 * count + 2048)
    for text in ["xxxxxxxx", "yyyyyyyy"] {
      var other = ByteBuffer()
      reads.move(Self.read(text, &channel).0, to: &other)
      other.moveReaderIndex(to: other.writerIndex)
      reads.trim(&other)
    }
    reads.move(Self.read("end", &channel).0, to: &waiting)
    #expect(waiting.readString(length: waiting.readableBytes) == String(repeating: "a", count: count) + "end")
    #expect(kept.map { String(buffer: $0) } == "head")
  }

  @Test("Waiting bytes make room for more and use no more memory than they need")
  func waitingMemory() {
    let reads = ReadBuffer()
    var buffer = ByteBuffer()
    for _ in 1...1000 {
      reads.move(ByteBuffer(repeating: 0x61, count: 1000), to: &buffer)
      buffer.moveReaderIndex(forwardBy: buffer.readableBytes - 1)
    }
    #expect(buffer.storageCapacity <= 4096)
    buffer = ByteBuffer(repeating: 0x61, count: 64 << 10)
    buffer.moveReaderIndex(forwardBy: buffer.readableBytes - 10)
    reads.trim(&buffer)
    #expect(buffer.readableBytes == 10)
    #expect(buffer.storageCapacity <= 64)
  }
}
