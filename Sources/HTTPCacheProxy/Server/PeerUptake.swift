// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore
import NIOPosix

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Measures what the peer of a connection has taken of the bytes written to it.
///
/// A write ends when the kernel accepts its bytes, and the kernel's buffer grows to 4 MB. It accepts more when a third
/// of that is free. A client that reads 30 KB/s needs 45 seconds for that third. So a time-out for the peer asks the
/// kernel which bytes the peer has acknowledged.
struct PeerUptake {
  /// The kernel's queue of bytes to the peer.
  struct Queue: Hashable, Sendable {
    /// The number of bytes that the peer has acknowledged since the connection opened.
    var acknowledged: UInt64
    /// Whether the peer has acknowledged all bytes that the kernel has accepted.
    var isEmpty: Bool
  }

  /// The time between two looks at a peer that must take bytes within a time limit.
  static func interval(within limit: Duration) -> TimeAmount {
    Swift.max(.milliseconds(1), limit / 4).timeAmount
  }

  private let queue: (any Channel) -> Queue?
  private var acknowledged: UInt64 = 0
  /// Whether bytes waited for the peer at the last look.
  private(set) var isWaiting = false

  /// - Parameter queue: returns the queue of a channel, on its event loop; `nil` if it has none.
  init(_ queue: @escaping (any Channel) -> Queue? = { Queue(of: $0) }) {
    self.queue = queue
  }

  /// Looks at the queue. Returns whether the peer has taken bytes since the last look, of those that waited for it.
  mutating func hasAdvanced(_ channel: any Channel) -> Bool {
    guard let now = queue(channel) else { return false }
    defer { (acknowledged, isWaiting) = (now.acknowledged, !now.isEmpty) }
    return (isWaiting || !now.isEmpty) && now.acknowledged != acknowledged
  }
}

extension PeerUptake.Queue {
  /// Asks the kernel. Call it on the channel's event loop.
  init?(of channel: any Channel) {
    guard let options = channel as? any SocketOptionProvider else { return nil }
    // The future has its value at once on the channel's event loop.
    let found = NIOLoopBoundBox<Self?>(nil, eventLoop: channel.eventLoop)
    #if canImport(Darwin)
      let info: EventLoopFuture<tcp_connection_info> = options.unsafeGetSocketOption(
        level: .tcp, name: NIOBSDSocket.Option(rawValue: TCP_CONNECTION_INFO))
      info.whenSuccess { info in
        // The kernel sends no more than the peer has room for, so what was sent is nearly what the peer has taken.
        found.value = Self(
          acknowledged: info.tcpi_txbytes &- info.tcpi_txretransmitbytes, isEmpty: info.tcpi_snd_sbbytes == 0)
      }
    #else
      let info: EventLoopFuture<TCPInfo> = options.unsafeGetSocketOption(
        level: .tcp, name: NIOBSDSocket.Option(rawValue: CInt(TCP_INFO)))
      info.whenSuccess { info in
        withUnsafeBytes(of: info.words) { bytes in
          let unacknowledged = bytes.load(fromByteOffset: 24, as: UInt32.self)
          let unsent = bytes.load(fromByteOffset: 144, as: UInt32.self)
          found.value = Self(
            acknowledged: bytes.load(fromByteOffset: 120, as: UInt64.self),
            isEmpty: unacknowledged == 0 && unsent == 0)
        }
      }
    #endif
    guard let queue = found.value else { return nil }
    self = queue
  }
}

#if !canImport(Darwin)
  /// The beginning of `struct tcp_info` of Linux 4.6 and later. The C library declares less of it.
  private struct TCPInfo: Sendable {
    typealias Word = UInt64
    var words:
      (
        Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word,
        Word, Word, Word
      )
  }
#endif
