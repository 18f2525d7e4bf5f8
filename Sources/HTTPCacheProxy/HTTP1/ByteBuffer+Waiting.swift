// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore

/// Bytes of a connection that wait to be processed.
extension ByteBuffer {
  /// Adds bytes that were read. It first discards processed bytes, because otherwise the buffer would grow with the
  /// connection.
  mutating func add(_ bytes: ByteBuffer) {
    guard readableBytes > 0 else {
      self = bytes
      return
    }
    discardReadBytes()
    writeImmutableBuffer(bytes)
  }

  /// Releases memory beyond what the bytes need: they may wait for a whole response, in the buffer of a whole read.
  mutating func trim() {
    if readableBytes == 0 {
      self = ByteBuffer()
    } else if storageCapacity > 2 * readableBytes + 1024 {
      self = ByteBuffer(bytes: readableBytesView)
    }
  }
}
