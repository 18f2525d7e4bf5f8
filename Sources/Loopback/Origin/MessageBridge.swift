// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore
import NIOHPACK
import NIOHTTP2

/// Lets a server of HTTP/1.1 that reads and writes bytes serve a stream of HTTP/2, which looks like a connection with one
/// request.
///
/// The end of the connection resets the stream, unless the response is whole, or ends with the connection.
package final class MessageBridge: ChannelDuplexHandler {
  package typealias InboundIn = HTTP2Frame.FramePayload
  package typealias InboundOut = ByteBuffer
  package typealias OutboundIn = ByteBuffer
  package typealias OutboundOut = HTTP2Frame.FramePayload

  /// What comes next of the response.
  private enum Next {
    case head
    case content(left: Int)
    case chunkSize
    case chunk(left: Int)
    case trailers
    case untilClose
    case nothing
  }

  private var hasRequest = false
  /// Whether the whole request has come.
  private var inputHasEnded = false
  private var isHead = false
  private var sendsChunks = false
  private var next = Next.head
  private var written = ByteBuffer()
  /// Whether the response has ended.
  private var isWhole = false

  private var context: ChannelHandlerContext?

  package init() {}

  package func handlerAdded(context: ChannelHandlerContext) { self.context = context }
  package func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

  // MARK: - The request

  package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .headers(let frame) where !hasRequest:
      hasRequest = true
      inputHasEnded = frame.endStream
      receive("\(head(of: frame.headers, hasContent: !frame.endStream))\r\n", context)
    case .headers:
      inputHasEnded = true
      receive("0\r\n\r\n", context)
    case .data(let frame):
      if case .byteBuffer(let bytes) = frame.data, bytes.readableBytes > 0 {
        if sendsChunks { receive(String(bytes.readableBytes, radix: 16) + "\r\n", context) }
        context.fireChannelRead(wrapInboundOut(bytes))
        if sendsChunks { receive("\r\n", context) }
      }
      inputHasEnded = frame.endStream
      if frame.endStream, sendsChunks { receive("0\r\n\r\n", context) }
    default: break
    }
  }

  private func receive(_ text: String, _ context: ChannelHandlerContext) {
    context.fireChannelRead(wrapInboundOut(ByteBuffer(string: text)))
  }

  private func head(of fields: HPACKHeaders, hasContent: Bool) -> String {
    let method = fields.first(name: ":method") ?? ""
    isHead = method == "HEAD"
    var text = "\(method) \(fields.first(name: ":path") ?? "") HTTP/1.1\r\n"
    if let authority = fields.first(name: ":authority") { text += "Host: \(authority)\r\n" }
    for (name, value, _) in fields where name.utf8.first != UInt8(ascii: ":") {
      text += "\(name): \(value)\r\n"
    }
    sendsChunks = hasContent && !fields.contains(name: "content-length")
    if sendsChunks { text += "Transfer-Encoding: chunked\r\n" }
    return text
  }

  // MARK: - The response

  package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    var bytes = unwrapOutboundIn(data)
    written.writeBuffer(&bytes)
    while step(context) {}
    // An empty frame of no stream would not be allowed, so the promise is that of the bytes before it.
    if case .nothing = next { promise?.succeed() } else { succeedWhenWritten(promise, context) }
  }

  private func succeedWhenWritten(_ promise: EventLoopPromise<Void>?, _ context: ChannelHandlerContext) {
    guard let promise else { return }
    guard let last else { return promise.succeed() }
    last.cascade(to: promise)
  }

  /// Succeeds when the last frame is written.
  private var last: EventLoopFuture<Void>?

  /// Sends the next part of the response; returns whether there was one.
  private func step(_ context: ChannelHandlerContext) -> Bool {
    switch next {
    case .nothing: return false
    case .head:
      guard let lines = lines() else { return false }
      let code = lines[0].split(separator: " ")[1]
      var fields = HPACKHeaders([(":status", String(code))])
      var isChunked = false
      var length: Int?
      for line in lines.dropFirst() {
        let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let (name, value) = (parts[0].lowercased(), parts[1].drop { $0 == " " })
        switch name {
        case "connection", "keep-alive", "upgrade": continue
        case "transfer-encoding": isChunked = true
        default:
          if name == "content-length" { length = Int(value) }
          fields.add(name: name, value: String(value))
        }
      }
      if code.first == "1" {
        send(.headers(.init(headers: fields)), context)
        return true
      }
      let isEmpty = isHead || code == "204" || code == "304" || !isChunked && length == 0
      send(.headers(.init(headers: fields, endStream: isEmpty)), context)
      next = isEmpty ? .nothing : isChunked ? .chunkSize : length.map { .content(left: $0) } ?? .untilClose
      return true
    case .content(let left):
      guard let count = sendContent(upTo: left, context) else { return false }
      next = count == left ? .nothing : .content(left: left - count)
      if count == left { endStream(context) }
      return true
    case .chunkSize:
      guard let line = line() else { return false }
      let size = Int(line, radix: 16) ?? 0
      next = size == 0 ? .trailers : .chunk(left: size + 2)
      return true
    case .chunk(let left):
      guard left > 2 else {
        guard written.readSlice(length: left) != nil else { return false }
        next = .chunkSize
        return true
      }
      guard let count = sendContent(upTo: left - 2, context) else { return false }
      next = .chunk(left: left - count)
      return true
    case .trailers:
      // Those of a chunked response, or only the line that ends it.
      if written.readableBytesView.starts(with: "\r\n".utf8) {
        next = .nothing
        endStream(context)
        return true
      }
      guard let lines = lines() else { return false }
      var fields = HPACKHeaders()
      for line in lines {
        let parts = line.split(separator: ":", maxSplits: 1)
        fields.add(name: parts[0].lowercased(), value: String(parts[1].drop { $0 == " " }))
      }
      send(.headers(.init(headers: fields, endStream: true)), context)
      next = .nothing
      return true
    case .untilClose: return sendContent(upTo: .max, context) != nil
    }
  }

  /// Ends the stream by a reset, although the response may end with the connection.
  package struct Reset: Sendable {
    package init() {}
  }

  package func triggerUserOutboundEvent(
    context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?
  ) {
    if event is Reset { next = .nothing }
    context.triggerUserOutboundEvent(event, promise: promise)
  }

  private func line() -> String? {
    guard let end = written.readableBytesView.firstRange(of: Array("\r\n".utf8)) else { return nil }
    let line = written.readString(length: end.lowerBound - written.readerIndex)
    written.moveReaderIndex(forwardBy: 2)
    return line
  }

  /// The lines before an empty one.
  private func lines() -> [Substring]? {
    guard let end = written.readableBytesView.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
    let text = written.readString(length: end.lowerBound - written.readerIndex) ?? ""
    written.moveReaderIndex(forwardBy: 4)
    return text.split(separator: "\r\n")
  }

  private func sendContent(upTo limit: Int, _ context: ChannelHandlerContext) -> Int? {
    let count = Swift.min(limit, written.readableBytes)
    guard count > 0, let bytes = written.readSlice(length: count) else { return nil }
    send(.data(.init(data: .byteBuffer(bytes))), context)
    return count
  }

  private func endStream(_ context: ChannelHandlerContext) {
    send(.data(.init(data: .byteBuffer(ByteBuffer()), endStream: true)), context)
  }

  private func send(_ frame: HTTP2Frame.FramePayload, _ context: ChannelHandlerContext) {
    switch frame {
    case .headers(let head): isWhole = head.endStream
    case .data(let data): isWhole = data.endStream
    default: break
    }
    let promise = context.eventLoop.makePromise(of: Void.self)
    last = promise.futureResult
    context.write(wrapOutboundOut(frame), promise: promise)
  }

  package func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
    if case .untilClose = next, mode != .input {
      endStream(context)
      context.flush()
      next = .nothing
    }
    // A stream has no half that could be closed: it would be reset.
    guard mode == .all else {
      promise?.succeed()
      return
    }
    next = .nothing
    guard isWhole, let last else { return context.close(mode: mode, promise: promise) }
    // Frames may wait for the window.
    let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
    last.whenComplete { _ in
      guard let context = bound.value.context else {
        promise?.succeed()
        return
      }
      // A close would reset the stream with an error, and the client might drop the response (RFC 9113 §8.1).
      if !bound.value.inputHasEnded {
        context.writeAndFlush(bound.value.wrapOutboundOut(.rstStream(.noError)), promise: nil)
      }
      context.close(mode: mode, promise: promise)
    }
  }
}
