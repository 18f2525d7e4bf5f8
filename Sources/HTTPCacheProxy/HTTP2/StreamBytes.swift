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

  private var (inputHasEnded, outputHasEnded) = (false, false)

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard case .data(let data) = unwrapInboundIn(data), case .byteBuffer(let bytes) = data.data else {
      return
    }
    if bytes.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(bytes)) }
    guard data.endStream else { return }
    inputHasEnded = true
    context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
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
