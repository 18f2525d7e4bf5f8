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

/// The content of a response, in memory or in files, that its connection sends in pieces, as its client takes them.
///
/// The socket takes bytes from where they are stored. A channel would copy them into a buffer of its own first: a hit of
/// 1 MB then takes 1.6 times the processor time.
///
/// **Files.** A block is read when its bytes are next. While the client takes them, the block counts as content in flight. It is
/// dropped if there is no room for it, or if the client has taken nothing for a second, and read again later. The bytes that are
/// read again are at most those sent, and one block more for each second in which the response waits. Otherwise a client that
/// takes a few bytes at a time could make the proxy read thousands of times as many.
final class OutgoingContent {
  /// Maximum bytes that a connection sends before the event loop serves others.
  static let turn = 1 << 20
  /// How long a client may take nothing of a block before it is dropped; also the time between two reads of a block that is
  /// read too often.
  static let patience = TimeAmount.seconds(1)

  /// What a connection does next.
  enum Step {
    /// It takes bytes, if there are any left.
    case take
    /// It waits until it is called.
    case wait
    /// It ends the response, whose file cannot be read.
    case fail(any Error)
  }

  private enum Block {
    /// None, or one that was not read before.
    case fresh
    /// It was dropped, and is read again when it is wanted.
    case dropped
    /// Another thread reads it.
    case arriving
    case unreadable(any Error)
  }

  private var cursor: ContentCursor
  private let transit: TransitBudget
  private let loop: any EventLoop
  /// The bytes in memory that count as content in flight because only this connection has them.
  private let held: Int
  /// The bytes of the block that count as content in flight.
  private var kept = 0
  private var block = Block.fresh
  /// The bytes that were read again, without those sent, and without a block for each second of waiting.
  private var excess = 0
  /// When a block was last read.
  private var lastRead = NIODeadline.distantPast
  /// When the client has last taken bytes of the block that counts.
  private var lastTaken = NIODeadline.distantPast
  private var timer: Scheduled<Void>?
  /// Lets the connection write on.
  private var goOn: (() -> Void)?

  /// - Parameters:
  ///   - body: content that is not a stream.
  ///   - isHeld: whether only this connection has the bytes, so that they count as content in flight.
  init(_ body: MessageBody, isHeld: Bool, transit: TransitBudget, on loop: any EventLoop) {
    cursor = ContentCursor(body)
    self.transit = transit
    self.loop = loop
    held = isHeld && body.isInMemory ? cursor.left : 0
    transit.change(by: held)
    // The block that was read to know that the file is readable.
    if let bytes = cursor.nextRead?.atOnce() { insert(bytes) }
  }

  deinit {
    timer?.cancel()
    transit.change(by: -held - kept)
  }

  var isEmpty: Bool { cursor.left == 0 }
  /// The number of bytes that the socket, or the channel, has not taken.
  var left: Int { cursor.left }

  // MARK: - Files

  /// Reads the next block, if none is there.
  ///
  /// - Parameter goOn: called when the connection no longer has to wait.
  func load(_ goOn: @escaping () -> Void) -> Step {
    guard let read = cursor.nextRead else { return .take }
    switch block {
    case .fresh: break
    case .dropped:
      guard mayReadAgain() else {
        self.goOn = goOn
        lookLater(at: lastRead + Self.patience)
        return .wait
      }
      excess += ContentCursor.blockSize
      block = .fresh
    case .arriving:
      self.goOn = goOn
      return .wait
    case .unreadable(let error): return .fail(error)
    }
    if let bytes = read.atOnce() {
      insert(bytes)
      return .take
    }
    block = .arriving
    self.goOn = goOn
    let (loop, waiting) = (loop, NIOLoopBound(Waiting(content: self), eventLoop: loop))
    Task {
      let result: Result<ArraySlice<UInt8>, any Error>
      do { result = .success(try await read.bytes()) } catch { result = .failure(error) }
      loop.execute { waiting.value.content?.arrived(result) }
    }
    return .wait
  }

  /// Content that something else waits for, until it is released.
  private struct Waiting {
    weak var content: OutgoingContent?
  }

  private func mayReadAgain() -> Bool {
    if excess <= 0 { return true }
    guard lastRead + Self.patience <= loop.now else { return false }
    excess -= ContentCursor.blockSize
    return true
  }

  private func insert(_ bytes: ArraySlice<UInt8>) {
    lastRead = loop.now
    cursor.insert(bytes)
  }

  private func arrived(_ result: Result<ArraySlice<UInt8>, any Error>) {
    switch result {
    case .success(let bytes):
      block = .fresh
      insert(bytes)
    case .failure(let error): block = .unreadable(error)
    }
    writeOn()
  }

  private func writeOn() {
    guard let goOn else { return }
    self.goOn = nil
    goOn()
  }

  /// Whether bytes that were read from a file are in memory.
  var hasBlock: Bool { cursor.hasBlock }

  /// Keeps the block while the client takes it, or drops it. Called when the connection waits for its client.
  func waitForClient() {
    guard cursor.hasBlock, kept == 0 else { return }
    guard transit.keepBlock(ContentCursor.blockSize) else { return drop() }
    kept = ContentCursor.blockSize
    lastTaken = loop.now
    lookLater(at: lastTaken + Self.patience)
  }

  private func drop() {
    release()
    cursor.drop()
    block = .dropped
  }

  private func release() {
    transit.change(by: -kept)
    kept = 0
  }

  private func lookLater(at deadline: NIODeadline) {
    guard timer == nil else { return }
    let waiting = NIOLoopBound(Waiting(content: self), eventLoop: loop)
    timer = loop.scheduleTask(deadline: deadline) { waiting.value.content?.look() }
  }

  private func look() {
    timer = nil
    if kept > 0 {
      if lastTaken + Self.patience <= loop.now { drop() } else { lookLater(at: lastTaken + Self.patience) }
    } else if case .dropped = block {
      writeOn()
    }
  }

  // MARK: - Taking

  /// Writes the next bytes to a socket, whose channel has nothing left to write.
  ///
  /// - Parameters:
  ///   - head: what goes before the content; loses what the socket takes.
  ///   - limit: maximum bytes of the content to write.
  /// - Returns: the number of bytes of the content that the socket has taken, and whether these are all it was given: it is
  ///   full or broken otherwise. The channel meets the same error in its next write.
  func write(
    after head: inout ByteBuffer, upTo limit: Int, to socket: NIOBSDSocket.Handle
  ) -> (count: Int, isAll: Bool) {
    var (taken, given) = (0, head.readableBytes)
    cursor.withNext(limit) { next in
      given += next.byteCount
      taken = head.withUnsafeReadableBytes { head in
        next.withUnsafeBytes { Self.write(head, $0, to: socket) }
      }
    }
    let ofHead = Swift.min(taken, head.readableBytes)
    head.moveReaderIndex(forwardBy: ofHead)
    advance(by: taken - ofHead)
    return (taken - ofHead, taken == given)
  }

  /// Moves the next bytes to a buffer, for the channel.
  func moveNext(_ limit: Int, to buffer: inout ByteBuffer) -> Int {
    let start = cursor.left
    moveNext(limit) { next in next.withUnsafeBytes { _ = buffer.writeBytes($0) } }
    return start - cursor.left
  }

  /// Passes the next bytes, and moves on.
  func moveNext(_ limit: Int, _ take: (RawSpan) -> Void) {
    var count = 0
    cursor.withNext(limit) { next in
      count = next.byteCount
      take(next)
    }
    advance(by: count)
  }

  private func advance(by count: Int) {
    guard count > 0 else { return }
    cursor.advance(by: count)
    excess -= count
    guard kept > 0 else { return }
    if cursor.hasBlock { lastTaken = loop.now } else { release() }
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
