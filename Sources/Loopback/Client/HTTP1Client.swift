// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore
import NIOHTTP1
import NIOPosix
import TransportSecurity

/// Sends one request of HTTP/1.1 with exactly these fields, on its own connection, and waits for the response.
package enum HTTP1Client {
  /// Where a server listens.
  package enum Place: Hashable, Sendable {
    case address(host: String, port: Int)
    /// The path of a socket in the file system.
    case socket(String)

    fileprivate var host: String? { if case .address(let host, _) = self { host } else { nil } }
  }

  package struct Answer: Sendable {
    package var interim: [HTTPResponseHead] = []
    /// The head; `nil` if the connection ended without a response.
    package var head: HTTPResponseHead?
    package var body: [UInt8] = []
    package var isWhole = false
  }

  private typealias Connection = NIOAsyncChannel<HTTPClientResponsePart, HTTPClientRequestPart>

  /// - Parameters:
  ///   - encryption: `nil` without TLS.
  ///   - seconds: maximum time for the response, after which the connection ends.
  /// - Throws: an error if the connection cannot be made. One that breaks is recorded in the answer.
  package static func send(
    _ head: HTTPRequestHead, body: [UInt8], to place: Place, encryption: ClientContext?,
    within seconds: Int64
  ) async throws -> Answer {
    let handlers: @Sendable (any Channel) -> EventLoopFuture<Connection> = { channel in
      channel.eventLoop.makeCompletedFuture {
        // A handshake that fails closes the channel.
        _ = try encryption?.encrypt(
          channel, to: place.host, by: channel.eventLoop.now + .seconds(seconds))
        try channel.pipeline.syncOperations.addHandlers([
          HTTPRequestEncoder(),
          ByteToMessageHandler(
            HTTPResponseDecoder(leftOverBytesStrategy: .dropBytes, informationalResponseStrategy: .forward)),
        ])
        return try Connection(wrappingChannelSynchronously: channel)
      }
    }
    let bootstrap = ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
    let connection: Connection
    do {
      connection =
        switch place {
        case .address(let host, let port):
          try await bootstrap.connect(host: host, port: port, channelInitializer: handlers)
        case .socket(let path):
          try await bootstrap.connect(unixDomainSocketPath: path, channelInitializer: handlers)
        }
    } catch let error as NIOConnectionError {
      // The first address of a name says what the others do.
      throw error.connectionErrors.first?.error ?? error.dnsAError ?? error
    }
    // A server that never answers must not block the caller.
    let timer = connection.channel.eventLoop.scheduleTask(in: .seconds(seconds)) {
      [channel = connection.channel] in
      channel.close(promise: nil)
    }
    defer { timer.cancel() }
    return try await connection.executeThenClose { inbound, outbound in
      var answer = Answer()
      let content = body.isEmpty ? [] : [HTTPClientRequestPart.body(.byteBuffer(ByteBuffer(bytes: body)))]
      // All at once: a server may respond to the head, and close before the next part is written. Its response arrives
      // even if the write fails.
      try? await outbound.write(contentsOf: [.head(head)] + content + [.end(nil)])
      do {
        for try await part in inbound {
          switch part {
          case .head(let head) where head.status.code < 200: answer.interim.append(head)
          case .head(let head): answer.head = head
          case .body(let buffer): answer.body += buffer.readableBytesView
          case .end:
            // NIO ends an interim response, too.
            guard answer.head != nil else { continue }
            answer.isWhole = true
            return answer
          }
        }
      } catch {
        // A broken connection is recorded in the answer.
      }
      return answer
    }
  }
}
