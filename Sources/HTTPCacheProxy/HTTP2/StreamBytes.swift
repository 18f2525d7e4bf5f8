// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore
import NIOHTTP2

/// Turns the frames of a stream into bytes, and bytes into frames, so that the stream looks like the connection of a socket.
final class StreamBytes: ChannelDuplexHandler {
  typealias InboundIn = HTTP2Frame.FramePayload
  typealias InboundOut = ByteBuffer
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = HTTP2Frame.FramePayload

  private let onReadComplete: () -> Void
  private var context: ChannelHandlerContext?
  private var (inputHasEnded, outputHasEnded) = (false, false)

  init(onReadComplete: @escaping () -> Void) { self.onReadComplete = onReadComplete }

  func handlerAdded(context: ChannelHandlerContext) { self.context = context }
  func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

  func channelReadComplete(context: ChannelHandlerContext) {
    onReadComplete()
    context.fireChannelReadComplete()
  }

  /// Ends the stream at once.
  func reset(_ code: NIOHTTP2.HTTP2ErrorCode) {
    outputHasEnded = true
    context?.writeAndFlush(wrapOutboundOut(.rstStream(code)), promise: nil)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .data(let data):
      if case .byteBuffer(let bytes) = data.data, bytes.readableBytes > 0 {
        context.fireChannelRead(wrapInboundOut(bytes))
      }
      guard data.endStream else { return }
      inputHasEnded = true
      context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
    // RFC 9113 §8.5: such a stream has no other frames.
    case .headers: context.close(mode: .all, promise: nil)
    default: break
    }
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    guard !outputHasEnded else {
      promise?.fail(ChannelError.outputClosed)
      return
    }
    context.write(
      wrapOutboundOut(.data(.init(data: .byteBuffer(unwrapOutboundIn(data))))), promise: promise)
  }

  /// The end of the stream takes the place of that of the connection (RFC 8441 §5).
  func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
    guard mode != .input, !outputHasEnded else { return context.close(mode: mode, promise: promise) }
    outputHasEnded = true
    // A stream that has ended in both directions is closed.
    guard mode == .all, !inputHasEnded else { return end(context, promise) }
    let ended = context.eventLoop.makePromise(of: Void.self)
    let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
    ended.futureResult.whenComplete { _ in bound.value.close(promise: promise) }
    end(context, ended)
  }

  private func end(_ context: ChannelHandlerContext, _ promise: EventLoopPromise<Void>?) {
    context.writeAndFlush(
      wrapOutboundOut(.data(.init(data: .byteBuffer(ByteBuffer()), endStream: true))), promise: promise)
  }
}
