// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore

/// In place of a socket that breaks: its reads and writes end as those of NIO's sockets do.
///
/// A write that fails first reads what has arrived, if a read is wanted, then fails all writes, and closes the channel, all of it
/// within the flush. A read within which the channel closes has no end.
final class BreakingWire: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer
  typealias OutboundIn = IOData

  /// The number of flushes until one fails.
  private var left: Int
  /// Whether the peer takes what is flushed.
  private let takes: Bool
  /// What has arrived, and was not read.
  private var arrived: [ByteBuffer] = []
  private var wantsRead = false
  private var (isFlushing, isClosed) = (false, false)
  private var promises: [EventLoopPromise<Void>] = []

  init(failingAfter left: Int, takes: Bool) { (self.left, self.takes) = (left, takes) }

  func receive(_ bytes: ByteBuffer, _ context: ChannelHandlerContext) {
    arrived.append(bytes)
    if wantsRead { readAll(context) }
  }

  private func readAll(_ context: ChannelHandlerContext) {
    while !arrived.isEmpty, wantsRead || isFlushing, !isClosed {
      wantsRead = false
      context.fireChannelRead(wrapInboundOut(arrived.removeFirst()))
      if !isClosed, !isFlushing { context.fireChannelReadComplete() }
    }
  }

  func read(context: ChannelHandlerContext) { wantsRead = true }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    guard !isClosed else {
      promise?.fail(ChannelError.ioOnClosedChannel)
      return
    }
    if let promise { promises.append(promise) }
  }

  func flush(context: ChannelHandlerContext) {
    guard !isClosed, !isFlushing else { return }
    left -= 1
    guard left < 0 else {
      if takes { end(.success(())) }
      return
    }
    isFlushing = true
    if wantsRead, !arrived.isEmpty {
      readAll(context)
      if !isClosed { context.fireChannelReadComplete() }
    }
    close(context, IOError(errnoCode: 32, reason: "write"), nil)
  }

  func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
    guard mode != .output else {
      promise?.succeed()
      return
    }
    close(context, ChannelError.ioOnClosedChannel, promise)
  }

  private func close(
    _ context: ChannelHandlerContext, _ error: any Error, _ promise: EventLoopPromise<Void>?
  ) {
    guard !isClosed else {
      promise?.fail(ChannelError.alreadyClosed)
      return
    }
    isClosed = true
    end(.failure(error))
    context.close(promise: promise)
  }

  private func end(_ result: Result<Void, any Error>) {
    let ended = promises
    promises = []
    for promise in ended { promise.completeWith(result) }
  }
}
