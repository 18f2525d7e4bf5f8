// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOPosix

#if !Proxy && !AsyncHTTPClient
  #error("this target needs a trait of the package: pass --enable-all-traits")
#endif

/// An HTTP/1.1 origin server on a free port of 127.0.0.1, for tests and benchmarks.
///
/// A closure answers. Every request is recorded, so that a test can check the number and the content of the requests.
///
/// ```swift
/// try await LoopbackOrigin.with { request in .init(body: "hello") } _: { origin in
///   // … http://127.0.0.1:\(origin.port)/ …
/// }
/// ```
package final class LoopbackOrigin: Sendable {
  package typealias Handler = @Sendable (Request) async -> Response

  /// A request as it arrived.
  package struct Request: Sendable {
    package var method: String
    /// The request target: path and query.
    package var target: String
    package var fields: HTTPFields
    package var body: [UInt8]
    /// The position among all requests, from 1.
    package var number: Int
  }

  /// The response to send.
  package struct Response: Sendable {
    /// How the content and the connection end.
    package enum Ending: Sendable {
      case whole
      /// The connection is closed when this many bytes of the content have been sent.
      case cut(afterBytes: Int)
      /// The connection is closed without a response.
      case noResponse
      /// The content is sent in chunks, and the response does not end until the client closes the connection.
      case open
    }

    package var status: Int
    package var fields: HTTPFields
    package var body: [UInt8]
    package var ending: Ending
    /// Whether the content is sent in chunks of 1 KiB, without Content-Length.
    package var isChunked: Bool
    /// The number of times that ``body`` is sent, one after another.
    package var repetitions = 1
    /// Called with the bytes of content that were sent, when the content ends or the connection breaks.
    package var onEnd: @Sendable (Int) -> Void

    package init(
      status: Int = 200, fields: HTTPFields = [:], body: String = "", ending: Ending = .whole,
      isChunked: Bool = false
    ) {
      self.init(
        status: status, fields: fields, bytes: Array(body.utf8), ending: ending, isChunked: isChunked)
    }

    package init(
      status: Int = 200, fields: HTTPFields = [:], bytes: [UInt8], ending: Ending = .whole,
      isChunked: Bool = false, onEnd: @escaping @Sendable (Int) -> Void = { _ in }
    ) {
      self.onEnd = onEnd
      self.status = status
      self.fields = fields
      self.body = bytes
      self.ending = ending
      self.isChunked = isChunked
    }
  }

  private let server: LoopbackServer
  private let log: Log

  private final class Log: Sendable {
    let requests = Mutex<[Request]>([])

    func add(_ request: Request) -> Request {
      requests.withLock { requests in
        var request = request
        request.number = requests.count + 1
        requests.append(request)
        return request
      }
    }
  }

  /// Starts a server that answers with the result of `handler`.
  ///
  /// - Parameter port: the port, also that of an origin that has stopped; 0 for any free one.
  package static func start(port: Int = 0, _ handler: @escaping Handler) async throws -> LoopbackOrigin {
    let log = Log()
    let server = try await LoopbackServer.start(port: port) { channel in
      try channel.pipeline.syncOperations.configureHTTPServerPipeline()
    } serve: { inbound, outbound, _ in
      try await serve(inbound, outbound, handler, log)
    }
    return LoopbackOrigin(server, log)
  }

  /// Runs a server until `body` returns.
  package static func with<Result>(
    _ handler: @escaping Handler, _ body: (LoopbackOrigin) async throws -> Result
  ) async throws -> Result {
    let origin = try await start(handler)
    do {
      let result = try await body(origin)
      await origin.stop()
      return result
    } catch {
      await origin.stop()
      throw error
    }
  }

  private init(_ server: LoopbackServer, _ log: Log) {
    self.server = server
    self.log = log
  }

  package var port: Int { server.port }

  /// Closes the port and all connections.
  package func stop() async { await server.stop() }

  /// Returns the URL of a path on this server: `http://127.0.0.1:<port>` and the path.
  package func url(_ path: String = "/") -> String { "http://127.0.0.1:\(port)\(path)" }

  /// All requests so far, in the order of their arrival.
  package var requests: [Request] { log.requests.withLock { $0 } }

  /// The number of requests so far.
  package var requestCount: Int { log.requests.withLock { $0.count } }

  // MARK: - One connection

  private static func serve(
    _ inbound: NIOAsyncChannelInboundStream<HTTPServerRequestPart>,
    _ outbound: NIOAsyncChannelOutboundWriter<HTTPServerResponsePart>, _ handler: Handler, _ log: Log
  ) async throws {
    var head: HTTPRequestHead?
    var body: [UInt8] = []
    for try await part in inbound {
      switch part {
      case .head(let received):
        head = received
        body = []
      case .body(let buffer): body += buffer.readableBytesView
      case .end:
        guard let head else { return }
        let request = log.add(Request(head: head, body: body))
        let response = await handler(request)
        if try await !send(response, to: head, outbound) || !head.isKeepAlive { return }
      }
    }
  }

  /// Returns `false` if the connection must be closed.
  private static func send(
    _ response: Response, to request: HTTPRequestHead,
    _ outbound: NIOAsyncChannelOutboundWriter<HTTPServerResponsePart>
  ) async throws -> Bool {
    if case .noResponse = response.ending { return false }
    var head = HTTPResponseHead(version: .http1_1, status: .init(statusCode: response.status))
    for field in response.fields { head.headers.add(name: field.name.rawName, value: field.value) }
    let hasContent = request.method != .HEAD && response.status != 304 && response.status != 204
    var isOpen = false
    if case .open = response.ending { isOpen = true }
    if response.isChunked || isOpen {
      head.headers.replaceOrAdd(name: "Transfer-Encoding", value: "chunked")
    } else if response.status != 304, response.status != 204, !head.headers.contains(name: "Content-Length") {
      head.headers.add(name: "Content-Length", value: String(response.body.count * response.repetitions))
    }
    try await outbound.write(.head(head))
    if hasContent {
      var sent = 0
      defer { response.onEnd(sent) }
      let size = response.isChunked ? 1024 : 1 << 16
      for _ in 0..<response.repetitions {
        var body = response.body[...]
        if case .cut(let bytes) = response.ending { body = body.prefix(bytes) }
        while !body.isEmpty {
          let piece = body.prefix(size)
          try await outbound.write(.body(.byteBuffer(ByteBuffer(bytes: piece))))
          sent += piece.count
          body = body.dropFirst(size)
        }
      }
      if case .cut = response.ending { return false }
    }
    if !isOpen { try await outbound.write(.end(nil)) }
    return true
  }
}

extension LoopbackOrigin.Request {
  package init(head: HTTPRequestHead, body: [UInt8]) {
    var fields = HTTPFields()
    for (name, value) in head.headers {
      if let name = HTTPField.Name(name) { fields.append(HTTPField(name: name, value: value)) }
    }
    self.init(method: head.method.rawValue, target: head.uri, fields: fields, body: body, number: 0)
  }
}
