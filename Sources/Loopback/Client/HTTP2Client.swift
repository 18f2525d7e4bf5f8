// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOPosix
import TransportSecurity

/// A client's connection of HTTP/2 that sends what it is told, also what no client should.
package struct HTTP2Client: Sendable {
  /// The result of a request.
  package struct Answer: Sendable {
    /// The heads of interim responses.
    package var interim: [HPACKHeaders] = []
    /// The head; `nil` without a response.
    package var fields: HPACKHeaders?
    package var body: [UInt8] = []
    package var trailers: HPACKHeaders?
    /// Whether the response has ended.
    package var isWhole = false
    /// The error that the stream, or the connection, ended with.
    package var error: (any Error)?

    package var status: Int? { fields?.first(name: ":status").flatMap { Int($0) } }
  }

  package let channel: any Channel
  private let multiplexer: NIOHTTP2Handler.StreamMultiplexer

  /// - Parameters:
  ///   - encryption: encrypts the connection; `nil` if nothing does.
  ///   - window: what the client takes of a response before it is read, in bytes.
  ///   - isStrict: whether the library refuses to send what is malformed.
  package static func connect(
    host: String = "127.0.0.1", port: Int, encryption: ClientContext? = nil, window: Int = 65_535,
    isStrict: Bool = false, within seconds: Int64 = 60
  ) async throws -> HTTP2Client {
    let (channel, multiplexer, ready) = try await ClientBootstrap(
      group: .singletonMultiThreadedEventLoopGroup
    )
    .connect(host: host, port: port) { channel in
      channel.eventLoop.makeCompletedFuture {
        _ = try encryption?.encrypt(channel, to: host, by: channel.eventLoop.now + .seconds(seconds))
        var connection = NIOHTTP2Handler.ConnectionConfiguration()
        connection.initialSettings.append(HTTP2Setting(parameter: .initialWindowSize, value: window))
        connection.headerBlockValidation = isStrict ? .enabled : .disabled
        connection.contentLengthValidation = isStrict ? .enabled : .disabled
        var streams = NIOHTTP2Handler.StreamConfiguration()
        streams.targetWindowSize = window
        let handler = NIOHTTP2Handler(
          mode: .client, eventLoop: channel.eventLoop, connectionConfiguration: connection,
          streamConfiguration: streams
        ) { $0.close() }
        let ready = channel.eventLoop.makePromise(of: Void.self)
        try channel.pipeline.syncOperations.addHandlers(handler, ConnectionWatch(ready))
        return (channel, try handler.syncMultiplexer(), ready.futureResult)
      }
    }
    // What the server allows is in its settings. A server of another version has none.
    try? await ready.get()
    return HTTP2Client(channel: channel, multiplexer: multiplexer)
  }

  /// Opens a stream.
  ///
  /// - Returns: its channel, and its result.
  package func open() async throws -> (stream: any Channel, answer: EventLoopFuture<Answer>) {
    let promise = channel.eventLoop.makePromise(of: Answer.self)
    do {
      let opened = channel.eventLoop.makePromise(of: (any Channel).self)
      multiplexer.createStreamChannel(promise: opened) { stream in
        stream.eventLoop.makeCompletedFuture {
          try stream.pipeline.syncOperations.addHandler(Collector(promise))
        }
      }
      return (try await opened.futureResult.get(), promise.futureResult)
    } catch {
      promise.fail(error)
      throw error
    }
  }

  /// The frames of a stream.
  package typealias Stream = NIOAsyncChannel<HTTP2Frame.FramePayload, HTTP2Frame.FramePayload>

  /// Opens a stream whose frames the caller reads.
  package func openForReading() async throws -> Stream {
    let made = channel.eventLoop.makePromise(of: Stream.self)
    multiplexer.createStreamChannel(promise: nil) { stream in
      let wrapped = stream.eventLoop.makeCompletedFuture { try Stream(wrappingChannelSynchronously: stream) }
      wrapped.cascade(to: made)
      return wrapped.map { _ in }
    }
    // A connection that is closed opens none.
    channel.closeFuture.whenComplete { _ in made.fail(ChannelError.ioOnClosedChannel) }
    return try await made.futureResult.get()
  }

  /// Sends a request, and waits for the end of its stream.
  ///
  /// - Parameters:
  ///   - body: the pieces of the content; `nil` for a stream that ends with its head.
  ///   - trailers: the trailers, with which the stream then ends.
  package func send(
    _ fields: HPACKHeaders, body: [[UInt8]]? = nil, trailers: HPACKHeaders? = nil
  ) async throws -> Answer {
    let (stream, answer) = try await open()
    // A stream may end before all of it is sent.
    Self.write(.headers(.init(headers: fields, endStream: body == nil && trailers == nil)), to: stream)
    for (index, piece) in (body ?? []).enumerated() {
      let isLast = index == (body ?? []).count - 1 && trailers == nil
      Self.write(.data(.init(data: .byteBuffer(ByteBuffer(bytes: piece)), endStream: isLast)), to: stream)
    }
    if let trailers { Self.write(.headers(.init(headers: trailers, endStream: true)), to: stream) }
    return try await answer.get()
  }

  package static func write(_ frame: HTTP2Frame.FramePayload, to stream: any Channel) {
    stream.writeAndFlush(frame, promise: nil)
  }

  /// Returns the fields of a request.
  package static func request(
    _ path: String, method: String = "GET", scheme: String = "http", authority: String = "a.example",
    _ fields: [(String, String)] = []
  ) -> HPACKHeaders {
    HPACKHeaders(
      [(":method", method), (":scheme", scheme), (":authority", authority), (":path", path)] + fields)
  }

  package func close() async { try? await channel.close() }
}

/// Waits for the settings of the server, and closes a connection that has failed.
private final class ConnectionWatch: ChannelInboundHandler {
  typealias InboundIn = HTTP2Frame

  private let ready: EventLoopPromise<Void>

  init(_ ready: EventLoopPromise<Void>) { self.ready = ready }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if case .settings = unwrapInboundIn(data).payload { ready.succeed() }
  }

  func channelInactive(context: ChannelHandlerContext) {
    ready.fail(ChannelError.eof)
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    if error is NIOHTTP2Errors.StreamError { return }
    context.close(promise: nil)
  }
}

/// Collects the frames of a response.
private final class Collector: ChannelInboundHandler {
  typealias InboundIn = HTTP2Frame.FramePayload

  private var answer = HTTP2Client.Answer()
  private let promise: EventLoopPromise<HTTP2Client.Answer>

  init(_ promise: EventLoopPromise<HTTP2Client.Answer>) { self.promise = promise }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .headers(let head):
      if answer.fields != nil {
        answer.trailers = head.headers
      } else if head.headers.first(name: ":status")?.utf8.first == UInt8(ascii: "1") {
        answer.interim.append(head.headers)
      } else {
        answer.fields = head.headers
      }
      answer.isWhole = head.endStream
    case .data(let data):
      if case .byteBuffer(let bytes) = data.data { answer.body += bytes.readableBytesView }
      answer.isWhole = data.endStream
    default: break
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    answer.error = answer.error ?? error
  }

  func channelInactive(context: ChannelHandlerContext) {
    promise.succeed(answer)
    context.fireChannelInactive()
  }
}
