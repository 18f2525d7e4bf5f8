// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching
import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import NIOHTTPTypesHTTP1
import NIOPosix

/// A server whose handler is behind a cache.
struct CachedServer: Sendable {
  typealias Connection = NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>
  let cache: HTTPCache
  let handler: Transport

  /// Serves until the task is cancelled.
  func run(on host: String, port: Int, started: (Int?) -> Void) async throws {
    let server = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .bind(host: host, port: port) { channel in
        channel.eventLoop.makeCompletedFuture {
          var encoder = HTTPResponseEncoder.Configuration()
          encoder.automaticallySetFramingHeaders = false  // it does not know HEAD
          try channel.pipeline.syncOperations.configureHTTPServerPipeline(withEncoderConfiguration: encoder)
          try channel.pipeline.syncOperations.addHandler(HTTP1ToHTTPServerCodec(secure: false))
          return try Connection(wrappingChannelSynchronously: channel)
        }
      }
    started(server.channel.localAddress?.port)
    try await withThrowingDiscardingTaskGroup { group in
      try await server.executeThenClose { connections in
        for try await connection in connections {
          // A broken connection ends no other.
          group.addTask { try? await connection.executeThenClose { try await serve($0, $1) } }
        }
      }
    }
  }

  private func serve(
    _ requests: NIOAsyncChannelInboundStream<HTTPRequestPart>,
    _ client: NIOAsyncChannelOutboundWriter<HTTPResponsePart>
  ) async throws {
    var parts = requests.makeAsyncIterator()
    while case .head(let request)? = try await parts.next() {
      var content: [UInt8] = []
      while case .body(let buffer)? = try await parts.next() {
        content += buffer.readableBytesView
        guard content.count <= 1 << 20 else { return }  // closes the connection
      }
      try await answer(request, MessageBody(content), to: client)
    }
  }

  private func answer(
    _ request: HTTPRequest, _ content: MessageBody, to client: NIOAsyncChannelOutboundWriter<HTTPResponsePart>
  ) async throws {
    // Without a response, the handler has thrown an error.
    let response = try? await cache.handle(request, body: content, handler: handler)
    var head = response?.head ?? HTTPResponse(status: .internalServerError)
    let hasContent = request.method != .head && head.status != .noContent && head.status != .notModified
    if hasContent, head.headerFields[.contentLength] == nil {
      head.headerFields[.transferEncoding] = "chunked"
    }
    try await client.write(.head(head))
    if let response, hasContent {
      for try await bytes in response.body { try await client.write(.body(ByteBuffer(bytes: bytes))) }
    }
    try await client.write(.end(nil))
  }
}
