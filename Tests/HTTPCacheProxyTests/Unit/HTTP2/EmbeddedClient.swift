// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching
import NIOCore
import NIOEmbedded

@testable import HTTPCacheProxy

/// A client that has sent requests for `/long`, without a socket.
final class EmbeddedClient {
  let channel: EmbeddedChannel
  let context: ProxyContext
  let connection: ClientHTTP2Connection
  private let wire: BreakingWire?
  private var received: [UInt8] = []

  /// The fields of `GET /long` of the host `a` (RFC 7541).
  private static let long: [UInt8] =
    [0x82, 0x86, 0x04, 0x05] + Array("/long".utf8) + [0x01, 0x01, 0x61]

  /// - Parameters:
  ///   - window: of each stream, in bytes.
  ///   - requests: the streams.
  ///   - takes: whether the client takes what is sent. Otherwise the socket is full from the start.
  init(
    _ cache: HTTPCache, window: Int, requests: [Int] = [], isTrusted: Bool = false, takes: Bool = true
  ) throws {
    let loop = EmbeddedEventLoop()
    context = try ProxyContext.embedded(on: loop, cache: cache) { $0.timeouts.stall = .seconds(5) }
    channel = EmbeddedChannel(loop: loop)
    wire = takes ? nil : BreakingWire(failingAfter: .max, takes: false)
    if let wire { try channel.pipeline.syncOperations.addHandler(wire) }
    let forwarder = Forwarder(IPAddress("127.0.0.1"), context.settings.value)
    connection = try ClientHTTP2Connection.add(
      to: channel, context, client: .init(forwarder: forwarder, isPeerTrusted: isTrusted), log: nil)
    channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
    channel.read()
    try send(Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + WireFrame.settings(window: window).bytes)
    for stream in requests { try request(stream) }
    loop.run()
    // As over a socket: a stream gets the frames that it reads.
    for stream in connection.streams.values {
      try stream.channelContext?.channel.syncOptions?.setOption(.autoRead, value: false)
    }
  }

  private func send(_ bytes: [UInt8]) throws {
    if let wire {
      wire.receive(ByteBuffer(bytes: bytes), try channel.pipeline.syncOperations.context(handler: wire))
    } else {
      try channel.writeInbound(ByteBuffer(bytes: bytes))
    }
  }

  func request(_ stream: Int) throws {
    try send(WireFrame(type: 1, flags: 5, stream: stream, payload: Self.long).bytes)
  }

  func leave(_ stream: Int) throws {
    try send(WireFrame(type: 3, stream: stream, payload: [0, 0, 0, 8]).bytes)
  }

  func open(_ stream: Int, by count: Int) throws {
    try send(WireFrame.opening(stream, by: count).bytes)
  }

  /// Sets the window of all streams.
  func setWindow(_ size: Int) throws { try send(WireFrame.settings(window: size).bytes) }

  func ping() throws {
    try send(WireFrame(type: 6, stream: 0, payload: Array(repeating: 0, count: 8)).bytes)
  }

  /// Sends what the protocol forbids (§6.1).
  func sendContentOfNoStream() throws { try send(WireFrame(type: 0, stream: 0, payload: [1]).bytes) }

  /// Acknowledges the last PING.
  func answerPing() throws {
    guard let ping = try frames(6).last else { return }
    try send(WireFrame(type: 6, flags: 1, stream: 0, payload: ping.payload).bytes)
  }

  /// Returns the streams that were reset.
  func reset() throws -> Set<Int> { Set(try frames(3).map(\.stream)) }

  /// Returns the last stream of each GOAWAY.
  func goAway() throws -> [Int] {
    try frames(7).map { $0.payload.prefix(4).reduce(0) { $0 << 8 | Int($1) } }
  }

  /// Returns the content that each stream was sent.
  func content() throws -> [Int: [UInt8]] {
    Dictionary(try frames(0).map { ($0.stream, $0.payload) }, uniquingKeysWith: +)
  }

  private func frames(_ type: UInt8) throws -> [WireFrame] {
    while let data = try channel.readOutbound(as: IOData.self) {
      if case .byteBuffer(let bytes) = data { received += bytes.readableBytesView }
    }
    return WireFrame.all(in: received).filter { $0.type == type }
  }

  func finish() { _ = try? channel.finish(acceptAlreadyClosed: true) }
}
