// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Foundation
import HTTPTypes
import Loopback
import NIOCore
import NIOHTTP1
import NIOHTTP2
import NIOPosix
import NIOSSL

/// An origin server on a free port of 127.0.0.1 that speaks TLS, with HTTP/2 or HTTP/1.1.
package final class SecureOrigin: Sendable {
  package typealias Handler = @Sendable (LoopbackOrigin.Request) -> LoopbackOrigin.Response

  /// A version of HTTP, by its name in the negotiation (ALPN, RFC 7301).
  package enum Version: String, CaseIterable, Sendable {
    case http1 = "http/1.1"
    case http2 = "h2"
  }

  private final class State: Sendable {
    let context: Mutex<NIOSSLContext>
    let versions = Mutex<[Version]>([])

    init(_ context: NIOSSLContext) { self.context = Mutex(context) }
  }

  private let channel: any Channel
  private let offered: [Version]
  private let state: State

  private init(_ channel: any Channel, _ offered: [Version], _ state: State) {
    self.channel = channel
    self.offered = offered
    self.state = state
  }

  /// Runs a test with an origin that offers versions of HTTP, the preferred one first.
  package static func with(
    _ certificate: Certificate, offering offered: [Version] = [.http2, .http1], _ handler: @escaping Handler,
    test body: (SecureOrigin) async throws -> Void
  ) async throws {
    let state = State(try context(certificate, offered))
    let channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          let context = state.context.withLock { $0 }
          try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
        }.flatMap {
          channel.configureCommonHTTPServerPipeline { channel in
            channel.eventLoop.makeCompletedFuture {
              let responder = Responder { request, version in
                state.versions.withLock { $0.append(version) }
                return handler(request)
              }
              try channel.pipeline.syncOperations.addHandler(responder)
            }
          }
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    let origin = SecureOrigin(channel, offered, state)
    do {
      try await body(origin)
    } catch {
      try? await channel.close()
      throw error
    }
    try await channel.close()
  }

  /// Returns the URL of a path on this server.
  package func url(_ path: String, scheme: String = "https") throws -> String {
    "\(scheme)://127.0.0.1:\(channel.localAddress?.port ?? 0)\(path)"
  }

  /// The versions of HTTP of all requests so far.
  package var versions: [Version] { state.versions.withLock { $0 } }

  /// Replaces the certificate for new connections.
  package func present(_ certificate: Certificate) throws {
    let context = try Self.context(certificate, offered)
    state.context.withLock { $0 = context }
  }

  private static func context(_ certificate: Certificate, _ offered: [Version]) throws -> NIOSSLContext {
    try certificate.serverContext { $0.applicationProtocols = offered.map(\.rawValue) }
  }
}

extension Certificate {
  /// The bytes of the certificate itself.
  package var bytes: [UInt8] {
    get throws { try NIOSSLCertificate.fromPEMFile(file.path).first?.toDERBytes() ?? [] }
  }

  /// What a server with this certificate encrypts its connections with.
  package func serverContext(_ configure: (inout TLSConfiguration) throws -> Void = { _ in }) throws
    -> NIOSSLContext
  {
    var configuration = TLSConfiguration.makeServerConfiguration(
      certificateChain: try NIOSSLCertificate.fromPEMFile(file.path).map { .certificate($0) },
      privateKey: .privateKey(try NIOSSLPrivateKey(file: key.path, format: .pem)))
    // A peer that ends a connection may be one that reads no more.
    configuration.shutdownTimeout = .milliseconds(100)
    try configure(&configuration)
    return try NIOSSLContext(configuration: configuration)
  }
}

/// Answers the requests of an HTTP/1.1 connection, or the request of an HTTP/2 stream.
private final class Responder: ChannelInboundHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  private let answer: (LoopbackOrigin.Request, SecureOrigin.Version) -> LoopbackOrigin.Response
  private var head: HTTPRequestHead?
  private var body: [UInt8] = []

  init(_ answer: @escaping (LoopbackOrigin.Request, SecureOrigin.Version) -> LoopbackOrigin.Response) {
    self.answer = answer
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let received): (head, body) = (received, [])
    case .body(let buffer): body += buffer.readableBytesView
    case .end:
      guard let head else { return }
      let response = answer(
        LoopbackOrigin.Request(head: head, body: body), head.version.major == 2 ? .http2 : .http1)
      var answer = HTTPResponseHead(version: head.version, status: .init(statusCode: response.status))
      for field in response.fields { answer.headers.add(name: field.name.rawName, value: field.value) }
      if response.status != 304 {
        answer.headers.add(name: "content-length", value: String(response.body.count))
      }
      context.write(wrapOutboundOut(.head(answer)), promise: nil)
      if response.status != 304, head.method != .HEAD {
        context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: response.body)))), promise: nil)
      }
      context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }
  }

  /// A client that does not trust the certificate ends the handshake.
  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    context.close(promise: nil)
  }
}
