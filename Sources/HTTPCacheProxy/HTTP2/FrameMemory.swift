// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore

/// The memory of the content that the streams of an event loop write, one after the other.
///
/// By the time that all of it was used once, a client that takes what it gets has usually taken the first pieces, whose memory
/// then serves again. To allocate it for each frame took 7 % of a hit of 64 KB. A piece that still waits keeps its memory.
final class FrameMemory {
  /// The size of a frame that each peer accepts, in bytes (RFC 9113 §4.2).
  static let frame = 16 << 10
  /// The size of a piece of memory, in bytes.
  static let piece = 64 << 10
  /// 1 MB: as much as a few responses that are written in one turn.
  private static let pieces = 16
  private static let ofThread = ThreadLocal<FrameMemory>()

  /// The memory of the current event loop's thread.
  static var current: FrameMemory { ofThread.value { FrameMemory() } }

  private var buffers: [ByteBuffer] = []
  private var next = 0

  /// Copies bytes for writes of `size` bytes, at most ``piece``. Passes all but the last to `send`, and returns that.
  func cut(_ bytes: RawSpan, into size: Int = frame, send: (ByteBuffer) -> Void) -> ByteBuffer {
    var rest = bytes
    while true {
      var copied = copy(rest.extracting(first: Self.piece))
      rest = rest.extracting(droppingFirst: copied.readableBytes)
      while copied.readableBytes > size, let write = copied.readSlice(length: size) { send(write) }
      if rest.byteCount == 0 { return copied }
      send(copied)
    }
  }

  private func copy(_ bytes: RawSpan) -> ByteBuffer {
    // Otherwise a few bytes that wait would keep the memory of many.
    guard bytes.byteCount > Self.piece / 2 else {
      return bytes.withUnsafeBytes { ByteBuffer(bytes: $0) }
    }
    if buffers.count < Self.pieces { buffers.append(ByteBuffer()) }
    defer { next = (next + 1) % Self.pieces }
    buffers[next].clear(minimumCapacity: Self.piece)
    bytes.withUnsafeBytes { _ = buffers[next].writeBytes($0) }
    return buffers[next]
  }
}
