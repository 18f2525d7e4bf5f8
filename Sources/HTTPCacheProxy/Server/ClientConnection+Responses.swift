// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheObserving
import HTTPCaching
import HTTPTypes
import NIOCore

/// Turns the parts of a response into bytes, in the framing that its head has chosen.
extension ClientConnection {
  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    guard current != nil else {
      promise?.fail(ChannelError.ioOnClosedChannel)
      return
    }
    switch unwrapOutboundIn(data) {
    case .interim(let response):
      guard machine.allowsInterim else {
        promise?.succeed()
        return
      }
      watch(promise, context)
      write(response, context, promise)
    case .head(let head):
      let closes = prepare(head)
      writer.write(head, closes: closes, to: &output.bytes)
      send(context, promise)
    case .whole(let head, let body): writeWhole(head, body, context, promise: promise)
    case .chunk(let bytes): writeChunk(bytes, context, promise)
    case .end(let trailers):
      switch machine.ending {
      case .lastChunk:
        output.bytes.writeStaticString("0\r\n")
        for field in trailers?.asTrailers() ?? [:] { output.bytes.write(field) }
        output.bytes.writeStaticString("\r\n")
        send(context, promise)
      case .shortfall:
        promise?.fail(ChannelError.eof)
        return perform(machine.responseFailed(), context)
      case .nothing: promise?.succeed()
      }
      finish(context)
    case .abort:
      promise?.succeed()
      perform(machine.responseFailed(), context)
    }
  }

  func flush(context: ChannelHandlerContext) {
    hasUnflushed = false
    context.flush()
  }

  func write(
    _ interim: HTTPResponse, _ context: ChannelHandlerContext, _ promise: EventLoopPromise<Void>? = nil
  ) {
    writer.writeInterim(interim, to: &output.bytes)
    send(context, promise)
  }

  /// Records the head of a response.
  ///
  /// - Returns: whether the connection ends with the response.
  func prepare(_ head: ResponseHead) -> Bool {
    guard var current else { return true }
    let closes = machine.responseBegan(
      head.framing, isStopping: context.isDraining.load(ordering: .relaxed))
    current.hasHead = true
    current.status = head.response.status.code
    current.provenance = head.provenance
    current.microsecondsToHead = (now - current.start).nanoseconds / 1000
    context.statistics.latency.record(microseconds: current.microsecondsToHead)
    context.statistics.answered(head.provenance.outcome, current.status)
    self.current = current
    return closes
  }

  func writeWhole(
    _ head: ResponseHead, _ body: MessageBody, _ context: ChannelHandlerContext,
    promise: EventLoopPromise<Void>?
  ) {
    let closes = prepare(head)
    let count = body.length ?? 0
    _ = machine.contentSent(count)
    writer.write(head, closes: closes, to: &output.bytes)
    if head.framing == .chunked, count > 0 { writeChunkHead(count) }
    if head.framing != .none { body.withBytes { $0.withUnsafeBytes { _ = output.bytes.writeBytes($0) } } }
    if head.framing == .chunked {
      output.bytes.writeStaticString(count == 0 ? "0\r\n\r\n" : "\r\n0\r\n\r\n")
    }
    var promise = promise
    // Small pieces are part of the buffers that every connection has.
    if head.framing != .none, count > Responder.smallPiece {
      let (transit, written) = (self.context.cache.transit, promise ?? context.eventLoop.makePromise())
      transit.change(by: count)
      written.futureResult.whenComplete { _ in transit.change(by: -count) }
      promise = written
    }
    send(context, promise)
    finish(context)
  }

  private func writeChunkHead(_ count: Int) {
    output.bytes.writeString(String(count, radix: 16))
    output.bytes.writeStaticString("\r\n")
  }

  private func writeChunk(
    _ bytes: ArraySlice<UInt8>, _ context: ChannelHandlerContext, _ promise: EventLoopPromise<Void>?
  ) {
    switch machine.contentSent(bytes.count) {
    case .skip: promise?.succeed()
    case .overrun:
      promise?.fail(ChannelError.eof)
      perform(machine.responseFailed(), context)
    case .plain:
      output.bytes.writeBytes(bytes)
      watch(promise, context)
      send(context, promise)
    case .chunk:
      writeChunkHead(bytes.count)
      output.bytes.writeBytes(bytes)
      output.bytes.writeStaticString("\r\n")
      watch(promise, context)
      send(context, promise)
    }
  }

  /// Records that the client has output to take, until it has taken it.
  private func watch(_ promise: EventLoopPromise<Void>?, _ context: ChannelHandlerContext) {
    guard let promise else { return }
    machine.writeBegan(at: now)
    let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
    promise.futureResult.whenComplete { _ in
      bound.value.machine.writeEnded(at: bound.value.now)
    }
  }

  /// Passes the written bytes to the socket at the next flush.
  func send(_ context: ChannelHandlerContext, _ promise: EventLoopPromise<Void>?) {
    hasUnflushed = true
    context.statisticsSent(output.bytes.readableBytes, self.context.statistics)
    context.write(wrapOutboundOut(output.take()), promise: promise)
  }

  /// Handles the end of the response: begins the next request, or ends the connection.
  private func finish(_ context: ChannelHandlerContext) {
    guard let ended = current else { return }
    current = nil
    let now = self.now
    note(ended, endedAt: now, isAborted: false)
    if machine.responseEnded(at: now, hasBytes: inbound.readableBytes > 0) {
      end(context)
      return
    }
    // Called from the write of a task: no other code looks for the request that already waits.
    if !isProcessing {
      process(context)
      flush(context)
      readOn(context)
    }
  }
}

extension ChannelHandlerContext {
  fileprivate func statisticsSent(_ count: Int, _ statistics: ProxyStatistics) {
    statistics.bytesSent.increment(by: count)
  }
}
