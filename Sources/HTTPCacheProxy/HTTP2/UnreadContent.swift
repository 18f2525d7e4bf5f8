// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore

/// Counts the pieces of content that the streams of a connection have not read, and the other frames that may wait with them.
///
/// Content that is not wanted yet waits in the channel of its stream, within its window: a piece for each DATA frame, or for each
/// part of a frame that arrives by itself. A piece of one byte takes more than a hundred there, so a window of 64 KB could take
/// 7 MB. `NIOHTTP2Handler` counts empty frames only.
///
/// `NIOHTTP2Handler` copies what it gets behind what it has not yet understood, into one buffer, whose size never decreases. A piece
/// that waits keeps that buffer, and what comes next gets another one, as large. So it gets whole frames, one at a time if they are
/// large, and never a part of a header: a soak test then takes up to 108 MB, and not 154.
final class UnreadContent: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer

  /// Maximum bytes that are passed on at a time: the largest frame, as no setting allows larger ones (§6.5.2).
  static let part = 9 + 16_384

  /// Maximum pieces that wait on a connection.
  let limit: Int
  /// The pieces that wait, of each stream.
  private var waiting: [Int: Int] = [:]
  private var total = 0
  /// The number of frames of streams, other than heads and content, since ``hasReadOthers()``: WINDOW_UPDATE, for example. Each
  /// takes about 36 bytes.
  private(set) var others = 0
  /// The first bytes of a frame's header, which has nine (RFC 9113 §4.1).
  private var header: [UInt8] = []
  /// The bytes of the preface, or of the frame's payload, that follow.
  private var left: Int
  /// The stream whose DATA frame that payload is of; `nil` for other frames.
  private var stream: Int?
  /// The pieces that a head counts as, which has no window.
  private let headPieces: Int
  /// The highest number of a stream whose head has come, or begun to.
  private(set) var lastStream = 0
  /// Called when more may wait than are allowed.
  var onExcess: () -> Void = {}

  /// - Parameters:
  ///   - limit: maximum pieces that wait.
  ///   - preface: number of bytes before the first frame; a client sends 24 (§3.4).
  ///   - headPieces: the number of pieces that a head counts as, if it may wait.
  init(limit: Int, preface: Int, headPieces: Int = 0) {
    (self.limit, left, self.headPieces) = (limit, preface, headPieces)
    header.reserveCapacity(9)
  }

  /// Whether more pieces wait than are allowed.
  var isExcessive: Bool { total > limit }

  /// The stream for which most pieces wait.
  var fullest: Int? { waiting.max { $0.value < $1.value }?.key }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    var bytes = unwrapInboundIn(data)
    var part = bytes
    // Passes on what precedes the next byte, but for the last so many bytes.
    func pass(but last: Int) {
      let count = part.readableBytes - bytes.readableBytes - last
      guard count > 0, let passed = part.readSlice(length: count) else { return }
      context.fireChannelRead(wrapInboundOut(passed))
    }
    while bytes.readableBytes > 0 {
      if left > 0 {
        let count = Swift.min(left, bytes.readableBytes)
        left -= count
        bytes.moveReaderIndex(forwardBy: count)
        if let stream { add(stream) }
      } else if let byte: UInt8 = bytes.readInteger() {
        header.append(byte)
        guard header.count == 9 else { continue }
        begin()
        let before = part.readableBytes - bytes.readableBytes
        if before < 9 {
          // It began with an earlier read.
          context.fireChannelRead(wrapInboundOut(ByteBuffer(bytes: header)))
          part = bytes
        } else if before + left > Self.part {
          pass(but: 9)
        }
        header.removeAll(keepingCapacity: true)
      }
    }
    pass(but: header.count)
    if isExcessive || others > limit { onExcess() }
  }

  /// Ends a read that the channel has closed in, of which NIO reports no end. Until then `NIOHTTP2Handler` keeps the streams that have
  /// got frames, forever, and with them all that belongs to the connection.
  func channelInactive(context: ChannelHandlerContext) {
    context.fireChannelInactive()
    // After the read. The channel removes its handlers later.
    let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
    context.eventLoop.execute { bound.value.fireChannelReadComplete() }
  }

  /// Begins a frame whose header has come.
  private func begin() {
    left = Int(header[0]) << 16 | Int(header[1]) << 8 | Int(header[2])
    // The first bit of a number is reserved.
    let number = Int(header[5] & 0x7F) << 24 | Int(header[6]) << 16 | Int(header[7]) << 8 | Int(header[8])
    stream = header[3] == 0 ? number : nil
    if left == 0, let stream { add(stream) }
    if header[3] == 1 {
      lastStream = Swift.max(lastStream, number)
      if headPieces > 0 { add(number, headPieces) }
    }
    if header[3] > 1, number > 0 { others += 1 }
  }

  private func add(_ stream: Int, _ pieces: Int = 1) {
    waiting[stream, default: 0] += pieces
    total += pieces
  }

  /// Records that a stream has read all that waited for it, or has ended.
  func clear(_ stream: Int) {
    if let count = waiting.removeValue(forKey: stream) { total -= count }
  }

  /// Records that the streams have read those other frames.
  func hasReadOthers() { others = 0 }

  /// Forgets what came for streams that are not open: for `NIOHTTP2Handler`, it does not exist.
  func keep(only streams: Set<Int>) {
    for stream in Array(waiting.keys) where !streams.contains(stream) { clear(stream) }
  }
}
