// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore

/// Learns which frames `NIOHTTP2Handler` sends to the peer: it has the windows and the order of streams, and shows neither.
///
/// It also corrects GOAWAY. To a client that exceeds a limit, `NIOHTTP2Handler` says that no request was processed (RFC 9113
/// §6.8). The client could then repeat all of them, also POST, and a proxy those of its other clients.
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
  /// The bytes of content that were sent on each stream whose end was not sent yet.
  private var content: [Int: Int] = [:]
  /// The bytes of the content that follow the header of its frame (RFC 9113 §4.1), in writes of their own.
  private var left = 0
  /// What the peer, a client, sends; `nil` if it opens no streams.
  private let received: UnreadContent?
  /// The last stream of the last GOAWAY.
  private var announcedLast = UInt32.max

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

  /// Puts the last stream whose request may have been processed into a GOAWAY that names none.
  private func nameLastStream(_ bytes: inout ByteBuffer) -> Bool {
    let start = bytes.readerIndex + 9
    guard let last = bytes.getInteger(at: start, as: UInt32.self) else { return false }
    guard last == 0, let received else {
      announcedLast = last
      return false
    }
    // It must not increase.
    announcedLast = Swift.min(announcedLast, UInt32(received.lastStream))
    bytes.setInteger(announcedLast, at: start)
    return announcedLast != 0
  }

  /// Returns the bytes of content that were sent on a stream; 0 after its end.
  func content(of stream: Int) -> Int { content[stream] ?? 0 }

  /// Whether there is nothing to ``clear(_:)``.
  var isClear: Bool { content.isEmpty }

  /// Forgets a stream that has ended.
  func clear(_ stream: Int) { content[stream] = nil }
}
