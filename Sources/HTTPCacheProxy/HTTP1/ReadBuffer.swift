// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching
import NIOCore

/// The buffer that the connections of an event loop read into, one after the other.
///
/// Usually a connection has processed all bytes before the next one reads, so all use the same memory, which is still in
/// the processor's cache, and an idle connection has none: 4 KiB less for each.
final class ReadBuffer {
  /// Maximum bytes of a read.
  static let size = 64 << 10
  private static let ofThread = ThreadLocal<ReadBuffer>()

  /// The buffer of the current event loop's thread.
  static var current: ReadBuffer { ofThread.value { ReadBuffer() } }

  private var free: ByteBuffer?

  /// Returns a buffer for a read of so many bytes.
  fileprivate func take(_ size: Int, _ allocator: ByteBufferAllocator) -> ByteBuffer {
    guard size == Self.size, var buffer = free.take() else { return allocator.buffer(capacity: size) }
    // If some of its bytes are still in use, this is new memory.
    buffer.clear(minimumCapacity: size)
    return buffer
  }

  /// Adds bytes that were read to those that wait.
  func move(_ bytes: ByteBuffer, to waiting: inout ByteBuffer) {
    guard waiting.readableBytes > 0 else {
      waiting = bytes
      return
    }
    // Otherwise the buffer would grow with the connection.
    waiting.discardReadBytes()
    waiting.writeImmutableBuffer(bytes)
    giveBack(bytes)
  }

  /// Takes back the memory that waiting bytes do not need: they may wait for a whole response.
  func trim(_ waiting: inout ByteBuffer) {
    if waiting.readableBytes == 0 {
      giveBack(waiting)
      waiting = ByteBuffer()
    } else if waiting.storageCapacity > 2 * waiting.readableBytes + 1024 {
      let rest = ByteBuffer(bytes: waiting.readableBytesView)
      giveBack(waiting)
      waiting = rest
    }
  }

  private func giveBack(_ buffer: ByteBuffer) {
    if buffer.storageCapacity == Self.size { free = buffer }
  }
}

/// Chooses how many bytes of a socket are read at a time: less while little of the budget for content in flight is free.
///
/// What was read is in memory, whether its reader takes it or not, so the size of the reads bounds the memory of a
/// thousand connections with slow readers.
struct TransitReadAllocator: RecvByteBufferAllocator {
  private let transit: TransitBudget
  // Unsafe for the compiler; the channel calls this on its event loop only.
  nonisolated(unsafe) private let shared: ReadBuffer
  private let first: Int
  private var isFirst = true

  /// - Parameters:
  ///   - shared: the buffer of the channel's event loop.
  ///   - first: maximum bytes of the first read. The channel keeps its buffer for as long as it lives.
  init(transit: TransitBudget, shared: ReadBuffer, first: Int) {
    (self.transit, self.shared, self.first) = (transit, shared, first)
  }

  func buffer(allocator: ByteBufferAllocator) -> ByteBuffer {
    isFirst
      ? allocator.buffer(capacity: first)
      : shared.take(transit.chunkSize(upTo: ReadBuffer.size), allocator)
  }

  /// Without this, NIO would keep a buffer of the largest size for each channel.
  func nextBufferSize() -> Int? { nil }

  /// - Returns: that the next buffer is not the one that the channel keeps.
  mutating func record(actualReadBytes: Int) -> Bool {
    isFirst = false
    return true
  }
}
