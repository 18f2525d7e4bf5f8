// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore

/// Learns which frames `NIOHTTP2Handler` sends to the peer: it has the windows and the order of streams, and shows neither.
///
/// It also names the last stream in a GOAWAY for an error (RFC 9113 §6.8). `NIOHTTP2Handler` tells a client that exceeds a limit
/// that no request was processed. The client could then repeat all of them, also POST, and a proxy those of its other clients.
final class SentFrames: ChannelOutboundHandler {
  typealias OutboundIn = IOData
  typealias OutboundOut = IOData

  /// Whether GOAWAY was sent. It is sent after an error of the connection, and not after one of a stream; `NIOHTTP2Handler`
  /// reports both, and does not tell them apart.
  private(set) var hasGoAway = false
  /// The last stream whose head was sent; 0 before the first.
  private(set) var lastHead = 0
  /// The number of streams that were reset.
  private(set) var resets = 0
  /// The bytes of content that were sent on all streams.
  private(set) var total = 0
  /// The bytes of content that were sent on each stream whose end was not sent yet.
  private var content: [Int: Int] = [:]
  /// The bytes of the content that follow the header of its frame (RFC 9113 §4.1), in writes of their own.
  private var left = 0
  /// What the peer, a client, sends; `nil` if it opens no streams.
  private let received: UnreadContent?
  /// The last stream of the last GOAWAY.
  private var announcedLast = Int.max

  init(received: UnreadContent? = nil) {
    self.received = received
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    var data = data
    if case .byteBuffer(var bytes) = unwrapOutboundIn(data), add(&bytes) {
      data = wrapOutboundOut(.byteBuffer(bytes))
    }
    context.write(data, promise: promise)
  }

  /// Returns whether it has changed the bytes.
  private func add(_ bytes: inout ByteBuffer) -> Bool {
    guard left == 0 else {
      left -= Swift.min(left, bytes.readableBytes)
      return false
    }
    // Each other frame is one write, and so is the preface, whose fourth byte is the type of no frame.
    let start = bytes.readerIndex
    guard let type = bytes.getInteger(at: start + 3, as: UInt8.self),
      let number = bytes.getInteger(at: start + 5, as: UInt32.self).map({ Int($0) })
    else { return false }
    switch type {
    case 0:
      left = Int(bytes.getInteger(at: start, as: UInt32.self) ?? 0) >> 8
      total += left
      let endsStream = bytes.getInteger(at: start + 4, as: UInt8.self).map { $0 & 1 == 1 } ?? false
      // Most contents are one frame, of which nothing is kept.
      if endsStream { clear(number) } else { content[number, default: 0] += left }
    case 1: lastHead = number
    case 3:
      resets += 1
      clear(number)
    case 7:
      hasGoAway = true
      return nameLastStream(&bytes)
    default: break
    }
    return false
  }

  /// The last stream whose request may have been processed. Later ones do not change it once GOAWAY has named it, which must
  /// not raise it (§6.8).
  var lastStream: Int { Swift.min(announcedLast, received?.lastStream ?? 0) }

  private func nameLastStream(_ bytes: inout ByteBuffer) -> Bool {
    let start = bytes.readerIndex + 9
    guard let last = bytes.getInteger(at: start, as: UInt32.self),
      let code = bytes.getInteger(at: start + 4, as: UInt32.self)
    else { return false }
    guard code != 0, received != nil else {
      announcedLast = Int(last)
      return false
    }
    announcedLast = lastStream
    bytes.setInteger(UInt32(announcedLast), at: start)
    return true
  }

  /// Returns the bytes of content that were sent on a stream; 0 after its end.
  func content(of stream: Int) -> Int { content[stream] ?? 0 }

  /// Whether there is nothing to ``clear(_:)``.
  var isClear: Bool { content.isEmpty }

  /// Forgets a stream that has ended.
  func clear(_ stream: Int) { content[stream] = nil }
}
