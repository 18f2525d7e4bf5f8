// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching
import NIOCore
import NIOPosix

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The content of a response in memory that its connection sends in pieces, as the socket takes them.
///
/// The socket takes bytes from where they are stored. A channel would copy them into a buffer of its own first: a hit of
/// 1 MB then takes 1.6 times the processor time.
final class OutgoingContent {
  /// Maximum bytes that a connection sends before the event loop serves others.
  static let turn = 1 << 20

  private let body: MessageBody
  /// The number of bytes that the socket, or the channel, has taken.
  private var offset = 0
  private let count: Int
  private let transit: TransitBudget
  private let held: Int

  /// - Parameter isHeld: whether only this connection has the bytes, so that they count as content in flight.
  init(_ body: MessageBody, isHeld: Bool, transit: TransitBudget) {
    self.body = body
    count = body.length ?? 0
    self.transit = transit
    held = isHeld ? count : 0
    transit.change(by: held)
  }

  deinit { transit.change(by: -held) }

  var isEmpty: Bool { offset == count }

  /// Writes the next bytes to a socket, whose channel has nothing left to write.
  ///
  /// - Parameters:
  ///   - head: what goes before the content; loses what the socket takes.
  ///   - limit: maximum bytes of the content to write.
  /// - Returns: the number of bytes of the content that the socket has taken: fewer than wanted if it is full or broken.
  ///   The channel meets the same error in its next write.
  func write(after head: inout ByteBuffer, upTo limit: Int, to socket: NIOBSDSocket.Handle) -> Int {
    var taken = 0
    withNext(limit) { next in
      taken = head.withUnsafeReadableBytes { head in
        next.withUnsafeBytes { Self.write(head, $0, to: socket) }
      }
    }
    let ofHead = Swift.min(taken, head.readableBytes)
    head.moveReaderIndex(forwardBy: ofHead)
    offset += taken - ofHead
    return taken - ofHead
  }

  /// Moves the next bytes to a buffer, for the channel.
  func moveNext(_ limit: Int, to buffer: inout ByteBuffer) -> Int {
    let start = offset
    moveNext(limit) { next in next.withUnsafeBytes { _ = buffer.writeBytes($0) } }
    return offset - start
  }

  /// Passes the next bytes, and moves on.
  func moveNext(_ limit: Int, _ take: (RawSpan) -> Void) {
    withNext(limit, take)
    offset += Swift.min(limit, count - offset)
  }

  private func withNext(_ limit: Int, _ work: (RawSpan) -> Void) {
    let range = offset..<offset + Swift.min(limit, count - offset)
    body.withBytes { work($0.extracting(range)) }
  }

  /// Returns the number of bytes that the socket has taken.
  private static func write(
    _ head: UnsafeRawBufferPointer, _ content: UnsafeRawBufferPointer, to socket: NIOBSDSocket.Handle
  ) -> Int {
    withUnsafeTemporaryAllocation(of: iovec.self, capacity: 2) { pieces in
      pieces.initialize(repeating: iovec())
      pieces[0] = iovec(iov_base: UnsafeMutableRawPointer(mutating: head.baseAddress), iov_len: head.count)
      pieces[1] = iovec(
        iov_base: UnsafeMutableRawPointer(mutating: content.baseAddress), iov_len: content.count)
      return Swift.max(0, writev(socket, pieces.baseAddress, 2))
    }
  }
}
