// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching
import NIOCore

/// Chooses how many bytes of a socket are read at a time: less while little of the budget for content in flight is free.
///
/// What was read is in memory, whether its reader takes it or not, so the size of the reads bounds the memory of a
/// thousand connections with slow readers.
struct TransitReadAllocator: RecvByteBufferAllocator {
  let transit: TransitBudget
  private var adaptive = AdaptiveRecvByteBufferAllocator()
  /// The size of the first buffer, which the channel keeps.
  private let kept: Int

  init(transit: TransitBudget) {
    self.transit = transit
    kept = adaptive.nextBufferSize() ?? 2048
  }

  func buffer(allocator: ByteBufferAllocator) -> ByteBuffer {
    allocator.buffer(capacity: size)
  }

  private var size: Int {
    transit.chunkSize(upTo: adaptive.nextBufferSize() ?? kept)
  }

  /// Without this, NIO keeps a buffer of the largest size for each channel: 64 KiB, for as long as the connection lives.
  func nextBufferSize() -> Int? { nil }

  /// - Returns: whether the next buffer must be a new one, because the one that the channel keeps is too small.
  mutating func record(actualReadBytes: Int) -> Bool {
    _ = adaptive.record(actualReadBytes: actualReadBytes)
    return (adaptive.nextBufferSize() ?? kept) > kept
  }
}
