// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCaching
import HTTPTypes
import Loopback
import NIOCore
import NIOHPACK
import NIOHTTP1
import NIOHTTP2
import TransportSecurity

/// The origins of all scenarios on one socket, identified by `Test-ID`.
///
/// A client that takes the socket for a proxy (CONNECT) reaches every host there.
final class LiveOrigin: Sendable {
  private let server: LoopbackServer
  private let origins: Origins

  private final class Origins: Sendable {
    private let origins = Mutex<[String: ScenarioOrigin]>([:])
    func add(_ origin: ScenarioOrigin, for id: String) { origins.withLock { $0[id] = origin } }
    subscript(id: String) -> ScenarioOrigin? { origins.withLock { $0[id] } }
  }

  /// - Parameters:
  ///   - port: the port; 0 for any free one.
  ///   - encryption: encrypts the connections; `nil` if nothing does.
  ///   - usesHTTP2: whether it has HTTP/2, and no other version.
  static func start(
    port: Int = 0, encryption: ServerContext? = nil, usesHTTP2: Bool = false
  ) async throws -> LiveOrigin {
    let origins = Origins()
    if usesHTTP2 {
      let server = try await LoopbackServer.startHTTP2(port: port) { channel, ready in
        guard let encryption else { return try ready() }
        try encryption.encrypt(channel, by: channel.eventLoop.now + .seconds(10)) { result in
          if case .success = result { try? ready() }
        }
      } serve: { (frames: LoopbackServer.Frames, writer: LoopbackServer.FrameWriter, _) in
        try await serveStream(frames, writer, origins)
      }
      return LiveOrigin(server, origins)
    }
    let server = try await LoopbackServer.start(port: port) { channel in
      try encryption?.encrypt(channel, by: channel.eventLoop.now + .seconds(10)) { _ in }
      try channel.pipeline.syncOperations.addHandlers([
        TunnelOpening(), ByteToMessageHandler(HTTPRequestDecoder()),
      ])
    } serve: { inbound, outbound, _ in
      try await serve(inbound, outbound, origins)
    }
    return LiveOrigin(server, origins)
  }

  private init(_ server: LoopbackServer, _ origins: Origins) {
    self.server = server
    self.origins = origins
  }

  var port: Int { server.port }

  func add(_ origin: ScenarioOrigin, for id: String) { origins.add(origin, for: id) }

  func stop() async { await server.stop() }

  // MARK: - One connection

  private static func serve(
    _ inbound: NIOAsyncChannelInboundStream<HTTPServerRequestPart>,
    _ outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>, _ origins: Origins
  ) async throws {
    var head: HTTPRequestHead?
    var content = ""
    for try await part in inbound {
      switch part {
      case .head(let received):
        head = received
        content = ""
      case .body(let buffer): content += String(buffer: buffer)
      case .end:
        guard let head, let request = HTTPRequest(head), let id = request.headerFields[named: "Test-ID"],
          let origin = origins[id]
        else { return }
        var response = try await origin.answer(request, content: content)
        while response.head.status.kind == .informational, let next = response.next {
          try await outbound.write(ByteBuffer(string: text(of: response.head, length: nil) + "\r\n"))
          response = try await next()
        }
        if try await !send(response, to: request.method, outbound) { return }
      }
    }
  }

  /// Returns `false` if the connection must be closed.
  private static func send(
    _ response: TransportResponse, to method: HTTPRequest.Method,
    _ outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>
  ) async throws -> Bool {
    let code = response.head.status.code
    let hasContent = method != .head && code != 204 && code != 304
    let (said, coding) = (
      response.head.headerFields[.contentLength], response.head.headerFields[.transferEncoding]
    )
    let isChunked = hasContent && said == nil && coding == nil && response.body.length == nil
    var text = text(
      of: response.head, length: hasContent && said == nil && coding == nil ? response.body.length : nil)
    if isChunked { text += "Transfer-Encoding: chunked\r\n" }
    try await outbound.write(ByteBuffer(string: text + "\r\n"))
    guard hasContent else { return true }
    var count = 0
    for try await chunk in response.body {
      count += chunk.count
      if isChunked {
        try await outbound.write(ByteBuffer(string: String(chunk.count, radix: 16) + "\r\n"))
        try await outbound.write(ByteBuffer(bytes: chunk))
        try await outbound.write(ByteBuffer(string: "\r\n"))
      } else {
        try await outbound.write(ByteBuffer(bytes: chunk))
      }
    }
    if isChunked { try await outbound.write(ByteBuffer(string: "0\r\n\r\n")) }
    // Without a length, or with a wrong one, the content ends with the connection.
    return coding == nil && (said == nil || said.flatMap { Int($0) } == count)
  }

  // MARK: - One stream of HTTP/2

  private static func serveStream(
    _ frames: LoopbackServer.Frames, _ writer: LoopbackServer.FrameWriter, _ origins: Origins
  ) async throws {
    var fields: HPACKHeaders?
    var content = ""
    var isWhole = false
    for try await frame in frames {
      switch frame {
      case .headers(let head):
        fields = fields ?? head.headers
        isWhole = head.endStream
      case .data(let data):
        if case .byteBuffer(let bytes) = data.data { content += String(buffer: bytes) }
        isWhole = data.endStream
      default: break
      }
      if isWhole { break }
    }
    guard isWhole, let request = fields.flatMap({ HTTPRequest($0) }),
      let id = request.headerFields[named: "Test-ID"], let origin = origins[id]
    else { return }
    var response = try await origin.answer(request, content: content)
    while response.head.status.kind == .informational, let next = response.next {
      try await writer.write(.headers(.init(headers: HPACKHeaders(response.head))))
      response = try await next()
    }
    let code = response.head.status.code
    if response.head.headerFields[.contentLength] == nil, let length = response.body.length, code != 204,
      code != 304,
      request.method != .head
    {
      response.head.headerFields[.contentLength] = String(length)
    }
    guard request.method != .head, code != 204, code != 304 else {
      return try await writer.write(.headers(.init(headers: HPACKHeaders(response.head), endStream: true)))
    }
    try await writer.write(.headers(.init(headers: HPACKHeaders(response.head))))
    for try await chunk in response.body {
      try await writer.write(.data(.init(data: .byteBuffer(ByteBuffer(bytes: chunk)))))
    }
    try await writer.write(.data(.init(data: .byteBuffer(ByteBuffer()), endStream: true)))
  }

  private static func text(of head: HTTPResponse, length: Int?) -> String {
    var text = "HTTP/1.1 \(head.status.code) \(head.status.reasonPhrase)\r\n"
    for field in head.headerFields { text += "\(field.name.rawName): \(field.value)\r\n" }
    if let length { text += "Content-Length: \(length)\r\n" }
    return text
  }
}

/// Answers a CONNECT request at the beginning of a connection, and lets everything else pass.
private final class TunnelOpening: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private static let word = Array("CONNECT ".utf8)
  private static let end = Array("\r\n\r\n".utf8)
  private var received = ByteBuffer()

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    var buffer = unwrapInboundIn(data)
    received.writeBuffer(&buffer)
    let bytes = received.readableBytesView
    if bytes.count < Self.word.count { return }
    if bytes.starts(with: Self.word) {
      guard let end = bytes.firstRange(of: Self.end) else { return }
      received.moveReaderIndex(to: end.upperBound)
      context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: "HTTP/1.1 200 OK\r\n\r\n")), promise: nil)
    }
    if received.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(received)) }
    context.pipeline.syncOperations.removeHandler(self, promise: nil)
  }
}

extension HPACKHeaders {
  /// The fields of a response, without those that HTTP/2 does not have.
  fileprivate init(_ response: HTTPResponse) {
    self.init([(":status", "\(response.status.code)")])
    let options = response.headerFields[.connection]?.split(separator: ",") ?? []
    let dropped = Set(
      options.map { $0.trimmingPrefix(" ").lowercased() }
        + ["connection", "transfer-encoding", "keep-alive", "upgrade"])
    for field in response.headerFields where !dropped.contains(field.name.canonicalName) {
      add(name: field.name.canonicalName, value: field.value)
    }
  }
}

extension HTTPRequest {
  fileprivate init?(_ fields: HPACKHeaders) {
    guard let method = fields.first(name: ":method").flatMap({ HTTPRequest.Method(rawValue: $0) }) else {
      return nil
    }
    self.init(
      method: method, scheme: "http", authority: fields.first(name: ":authority"),
      path: fields.first(name: ":path"))
    for (name, value, _) in fields where name.utf8.first != UInt8(ascii: ":") {
      headerFields.append(named: name, value)
    }
  }

  init?(_ head: HTTPRequestHead) {
    guard let method = HTTPRequest.Method(rawValue: head.method.rawValue) else { return nil }
    self.init(method: method, scheme: "http", authority: head.headers.first(name: "host"), path: head.uri)
    for (name, value) in head.headers where name.lowercased() != "host" {
      headerFields.append(named: name, value)
    }
  }
}
