// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore

/// Counts the small DATA frames of a client that its streams have not read.
///
/// Content that is not wanted yet waits in the channel of its stream, frame by frame, within the window of the stream. A frame of
/// one byte takes more than a hundred there, so a window of 64 KB could take 7 MB. `NIOHTTP2Handler` counts empty frames only.
final class SmallFrames: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer

  /// Maximum content of a small frame, in bytes.
  static let size = 256
  /// Maximum small frames that wait on a connection.
  static let limit = 4096

  /// The frames that wait, of each stream.
  private var waiting: [Int: Int] = [:]
  private var total = 0
  /// The first bytes of a frame's header, which has nine (RFC 9113 §4.1).
  private var header: [UInt8] = []
  /// The bytes of the preface, or of the frame's payload, that follow.
  private var skipped = 24
  /// Called when more wait than may.
  var onExcess: () -> Void = {}

  init() { header.reserveCapacity(9) }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    var bytes = unwrapInboundIn(data).readableBytesView[...]
    while !bytes.isEmpty {
      let count = Swift.min(skipped, bytes.count)
      (skipped, bytes) = (skipped - count, bytes.dropFirst(count))
      guard let byte = bytes.first else { break }
      header.append(byte)
      bytes = bytes.dropFirst()
      guard header.count == 9 else { continue }
      skipped = Int(header[0]) << 16 | Int(header[1]) << 8 | Int(header[2])
      if header[3] == 0, skipped <= Self.size {
        // The first bit of a number is reserved.
        received(Int(header[5] & 0x7F) << 24 | Int(header[6]) << 16 | Int(header[7]) << 8 | Int(header[8]))
      }
      header.removeAll(keepingCapacity: true)
    }
    context.fireChannelRead(data)
  }

  private func received(_ stream: Int) {
    waiting[stream, default: 0] += 1
    total += 1
    if total > Self.limit { onExcess() }
  }

  /// Records that a stream has read a frame.
  ///
  /// - Parameter size: the size of its content, in bytes.
  func read(by stream: Int, size: Int) {
    guard size <= Self.size, let count = waiting[stream], count > 0 else { return }
    waiting[stream] = count - 1
    total -= 1
  }

  /// Records that a stream has ended, and waits for nothing.
  func ended(_ stream: Int) {
    if let count = waiting.removeValue(forKey: stream) { total -= count }
  }
}
