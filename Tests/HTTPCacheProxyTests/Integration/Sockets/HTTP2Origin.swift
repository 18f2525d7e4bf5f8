// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheProxy
import Logging
import Loopback
import NIOCore
import NIOHPACK
import NIOHTTP2
import TestSupport
import Testing

/// A stream of a connection that the proxy has made to an origin of HTTP/2.
struct OriginSide {
  /// The position of the request, and of its connection, from 1.
  let (number, connection): (Int, Int)
  let fields: HPACKHeaders
  /// Whether the request ends with its head.
  let isWhole: Bool
  let channel: any Channel
  fileprivate var frames: LoopbackServer.Frames.AsyncIterator

  var path: String { fields.first(name: ":path") ?? "" }

  /// The number of the stream on its connection.
  var id: Int {
    get async throws { Int(try await channel.getOption(HTTP2StreamChannelOptions.streamID).get()) }
  }

  /// Reads the content until its end.
  mutating func content() async throws -> [UInt8] {
    var bytes: [UInt8] = []
    if isWhole { return bytes }
    while let frame = try await frames.next() {
      guard case .data(let data) = frame else { continue }
      if case .byteBuffer(let buffer) = data.data { bytes += Array(buffer: buffer) }
      if data.endStream { break }
    }
    return bytes
  }

  /// Returns when the frame has left: the asynchronous writer takes any number of frames while its event loop is busy.
  private func send(_ frame: HTTP2Frame.FramePayload) async throws { try await channel.writeAndFlush(frame) }

  func send(_ fields: [(String, String)], endsStream: Bool = false) async throws {
    try await send(.headers(.init(headers: HPACKHeaders(fields), endStream: endsStream)))
  }

  func send(_ bytes: [UInt8], endsStream: Bool = false) async throws {
    try await send(.data(.init(data: .byteBuffer(ByteBuffer(bytes: bytes)), endStream: endsStream)))
  }

  /// Sends a response in one write, so that the proxy does not read the head by itself.
  func send(_ fields: [(String, String)], content: [UInt8]) async throws {
    let head = HTTP2Frame.FramePayload.headers(.init(headers: HPACKHeaders(fields)))
    channel.write(head, promise: nil)
    try await send(content, endsStream: true)
  }

  func answer(_ body: String = "", _ fields: [(String, String)] = []) async throws {
    try await send(
      [(":status", "200"), ("content-length", "\(body.utf8.count)")] + fields, endsStream: body.isEmpty)
    if !body.isEmpty { try await send(Array(body.utf8), endsStream: true) }
  }

  func reset(_ code: NIOHTTP2.HTTP2ErrorCode) async throws { try await send(.rstStream(code)) }

  /// Announces the end of the connection.
  ///
  /// - Parameter last: the last stream that the origin looks at.
  func goAway(last: Int) async throws {
    let payload = HTTP2Frame.FramePayload.goAway(
      lastStreamID: HTTP2StreamID(last), errorCode: .noError, opaqueData: nil)
    try await channel.parent?.writeAndFlush(HTTP2Frame(streamID: .rootStream, payload: payload))
  }

  /// Closes the connection without a word.
  func closeConnection() async throws { try await channel.parent?.close() }

  /// Returns when the proxy has ended the stream.
  mutating func ended() async {
    while (try? await frames.next()) != nil {}
  }
}

/// An origin of HTTP/2 without TLS, and a proxy that knows of it.
struct OriginFixture: Sendable {
  let proxy: ProxyFixture
  /// What each request had, in the order of their arrival.
  let requests: Recorder<HPACKHeaders>
  let connections: Recorder<ObjectIdentifier>

  static func run(
    _ configure: (inout ProxyConfiguration) -> Void = { _ in },
    logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, settings: HTTP2Settings = [],
    origin answering: @escaping @Sendable (inout OriginSide) async throws -> Void,
    _ body: (OriginFixture) async throws -> Void
  ) async throws {
    let (requests, connections) = (Recorder<HPACKHeaders>(), Recorder<ObjectIdentifier>())
    let server = try await LoopbackServer.startHTTP2(settings: settings) { channel, ready in
      connections.add(ObjectIdentifier(channel))
      try ready()
    } serve: { (frames: LoopbackServer.Frames, _: LoopbackServer.FrameWriter, channel) in
      var iterator = frames.makeAsyncIterator()
      guard case .headers(let head)? = try await iterator.next() else { return }
      let parent = channel.parent.map { ObjectIdentifier($0) }
      var stream = OriginSide(
        number: requests.add(head.headers),
        connection: (connections.all.lastIndex { $0 == parent } ?? -1) + 1, fields: head.headers,
        isWhole: head.endStream, channel: channel, frames: iterator)
      try await answering(&stream)
      // The stream's channel must not close before the proxy has read it.
      await stream.ended()
    }
    try await ProxyFixture.run(
      {
        $0.origin.servers = [.init(host: "127.0.0.1", port: server.port)]
        $0.origin.http2 = .always
        $0.admin = ProxyConfiguration.Endpoint(host: "127.0.0.1", port: 0)
        configure(&$0)
      }, logger: logger, origin: { _, _ in false }
    ) { proxy in
      try await body(OriginFixture(proxy: proxy, requests: requests, connections: connections))
    }
    await server.stop()
  }

  func get(_ path: String, _ fields: String = "") async throws -> String { try await proxy.get(path, fields) }

  /// Returns the value of a figure of the admin port.
  func metric(_ name: String) async throws -> Int? {
    let page = try await RawClient.connect(to: proxy.adminPort).exchange(
      "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
    let line = page.split(whereSeparator: \.isNewline).first { $0.hasPrefix(name + " ") }
    return line?.split(separator: " ").last.flatMap { Int($0) }
  }
}
