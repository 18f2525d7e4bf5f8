// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheObserving
import HTTPCaching
import Logging
import NIOCore
import Synchronization
import TransportSecurity

/// The beginning of a client's connection, before its first request: the header of the PROXY protocol, the handshake of
/// TLS, and the choice of the version of HTTP. Then a ``ClientConnection`` or a ``ClientHTTP2Connection`` takes over.
///
/// All of it has the time of a request's head. Until its end, the connection counts as idle: it loses its place to others.
/// TLS has no state before the first byte of a handshake.
///
/// ```
/// waiting ──► proxyHeader ──► firstBytes ──► handshake ──► over
///    │             └──────────────┼──────────────────────►│
///    └───────────────────────────►┘
/// ```
final class ConnectionOpening: ChannelInboundHandler, RemovableChannelHandler, TabledConnection {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer

  /// The client of a connection, as far as the connection shows it.
  struct Client {
    /// Names the client to the origin.
    var forwarder: Forwarder
    /// Whether the peer, which may not be the client, is a trusted proxy.
    var isPeerTrusted: Bool
    /// The version of TLS; `nil` without it.
    var tlsVersion: String?
    /// The hosts that its requests may be for; `nil` for all.
    var names: ServerNames?
  }

  private enum Phase {
    /// The connection is not open yet.
    case waiting
    case proxyHeader(Client)
    /// They tell a handshake from a request without TLS, and HTTP/2 from earlier versions.
    case firstBytes(Client)
    case handshake
    case over((any TabledConnection)?)
  }

  private let context: ProxyContext
  private let encryption: ServerContext?
  /// Adds the handlers of the connection that takes over to the end of the channel.
  typealias Installation = (
    _ channel: any Channel, _ client: Client, _ service: ClientConnection.Service, _ version: HTTPVersion,
    _ isAtSocket: Bool
  ) throws -> any TabledConnection

  private let install: Installation
  private let service: ClientConnection.Service
  private var phase = Phase.waiting
  private var bytes = ByteBuffer()
  private var timer: Scheduled<Void>?
  private var deadline = NIODeadline.distantFuture
  private var channelContext: ChannelHandlerContext?
  var place: ConnectionPlace?

  /// - Parameters:
  ///   - encryption: `nil` for a connection without TLS.
  ///   - service: what is done with requests.
  init(
    _ context: ProxyContext, encryption: ServerContext?, service: ClientConnection.Service,
    install: @escaping Installation
  ) {
    self.context = context
    self.encryption = encryption
    self.service = service
    self.install = install
  }

  var isIdle: Bool { if case .over(let connection?) = phase { connection.isIdle } else { true } }

  func drain(isPatient: Bool) {
    if case .over(let connection?) = phase { return connection.drain(isPatient: isPatient) }
    if !isPatient { place?.channel.close(promise: nil) }
  }

  // MARK: - Channel

  func handlerAdded(context: ChannelHandlerContext) {
    channelContext = context
    if context.channel.isActive { begin(context) }
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    channelContext = nil
  }

  func channelActive(context: ChannelHandlerContext) {
    begin(context)
  }

  private func begin(_ context: ChannelHandlerContext) {
    guard case .waiting = phase else { return }
    let settings = self.context.settings.value
    let forwarder = Forwarder(ofPeerOn: context.channel, settings)
    let client = Client(forwarder: forwarder, isPeerTrusted: forwarder.isTrusted)
    deadline = context.eventLoop.now + settings.timeouts.head.timeAmount
    let opening = NIOLoopBound(self, eventLoop: context.eventLoop)
    let channel = context.channel
    timer = context.eventLoop.scheduleTask(deadline: deadline) {
      opening.value.context.logger.debug("connection closed before its first request")
      channel.close(promise: nil)
    }
    if self.context.configuration.expectsProxyHeader {
      guard client.isPeerTrusted else {
        return reject("the peer \(forwarder.text) is not trusted", context)
      }
      phase = .proxyHeader(client)
    } else {
      guard isAdmitted(client, context) else { return }
      phase = .firstBytes(client)
    }
    context.read()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    var read = unwrapInboundIn(data)
    bytes.writeBuffer(&read)
    process(context)
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    switch phase {
    case .waiting, .proxyHeader, .firstBytes: context.read()
    case .handshake, .over: break
    }
  }

  func channelInactive(context: ChannelHandlerContext) {
    end()
    context.fireChannelInactive()
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    // A client that has said nothing yet will say nothing more.
    if case ChannelEvent.inputClosed = event { return context.close(promise: nil) }
    context.fireUserInboundEventTriggered(event)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    context.close(promise: nil)
  }

  private func end() {
    timer?.cancel()
    timer = nil
    bytes = ByteBuffer()
    // They refer to each other.
    place = nil
  }

  private func reject(_ reason: String, _ context: ChannelHandlerContext) {
    self.context.logger.debug("connection refused", metadata: ["reason": "\(reason)"])
    phase = .over(nil)
    context.close(promise: nil)
  }

  /// Whether the client may have this connection; otherwise closes it.
  private func isAdmitted(_ client: Client, _ context: ChannelHandlerContext) -> Bool {
    if client.forwarder.mayHavePlace(place) { return true }
    reject("\(client.forwarder.text) has too many connections", context)
    return false
  }

  // MARK: - Steps

  private func process(_ context: ChannelHandlerContext) {
    if case .proxyHeader(let client) = phase { readProxyHeader(client, context) }
    guard case .firstBytes(let client) = phase, let first = bytes.readableBytesView.first else { return }
    guard let encryption else {
      switch preface {
      case .whole: handOver(client, service, .http2, context)
      case .none: handOver(client, service, .http11, context)
      case .part: break
      }
      return
    }
    // A handshake is the content type 22 (RFC 8446 §5.1); no method begins so.
    guard first == 22 else { return handOver(client, .refusesPlainText, .http11, context) }
    do {
      try encrypt(client, encryption, context)
    } catch {
      reject("TLS: \(error)", context)
    }
  }

  /// What the bytes have of the preface of HTTP/2 (RFC 9113 §3.4).
  private enum Preface {
    case none
    case part
    case whole

    static let bytes = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
  }

  private var preface: Preface {
    guard context.configuration.http2 == .always, service == .answers else { return .none }
    let received = bytes.readableBytesView.prefix(Preface.bytes.count)
    guard Preface.bytes.starts(with: received) else { return .none }
    return received.count == Preface.bytes.count ? .whole : .part
  }

  private func readProxyHeader(_ peer: Client, _ context: ChannelHandlerContext) {
    do throws(MessageFault) {
      guard case .complete(let sender, let length) = try ProxyHeader.parse(bytes.readableBytesView) else {
        return
      }
      bytes.moveReaderIndex(forwardBy: length)
      var client = peer
      switch sender {
      case .peer: break
      case .client(let address): client.forwarder = Forwarder(address, self.context.settings.value)
      case .unknown: client.forwarder = Forwarder(nil, self.context.settings.value)
      }
      guard isAdmitted(client, context) else { return }
      phase = .firstBytes(client)
      // Without more bytes, the client may wait for the proxy to close.
      if encryption == nil, self.context.configuration.http2 != .always {
        handOver(client, service, .http11, context)
      }
    } catch {
      reject(error.reason, context)
    }
  }

  private func encrypt(
    _ client: Client, _ encryption: ServerContext, _ context: ChannelHandlerContext
  ) throws {
    phase = .handshake
    timer?.cancel()
    timer = nil
    let (statistics, logger) = (self.context.statistics, self.context.logger)
    try encryption.encrypt(context.channel, by: deadline) { [self, channel = context.channel] result in
      switch result {
      case .success(let agreement):
        statistics.handshakes.increment()
        var client = client
        client.tlsVersion = agreement.version
        // A trusted gateway may send all on one connection (RFC 9110 §7.4).
        client.names = client.forwarder.isTrusted ? nil : agreement.names
        take(client, service, agreement.protocolName == "h2" ? .http2 : .http11, channel, isAtSocket: false)
      case .failure(let error):
        end()
        let kind = (error as? TLSFailure)?.kind ?? .ended
        statistics.failedHandshakes[kind]?.increment()
        logger.debug("TLS handshake failed", metadata: ["reason": "\(error)"])
      }
    }
    passOn(context)
  }

  /// Lets a connection without TLS answer.
  private func handOver(
    _ client: Client, _ service: ClientConnection.Service, _ version: HTTPVersion,
    _ context: ChannelHandlerContext
  ) {
    let rest = bytes
    take(client, service, version, context.channel, isAtSocket: true)
    bytes = rest
    passOn(context)
  }

  /// Lets another connection take over.
  private func take(
    _ client: Client, _ service: ClientConnection.Service, _ version: HTTPVersion, _ channel: any Channel,
    isAtSocket: Bool
  ) {
    // A handler that is added may write. If that fails, the channel reads what is left, and must not find the phase before.
    phase = .over(nil)
    do {
      let connection = try install(channel, client, service, version, isAtSocket)
      connection.place = place
      phase = .over(connection)
      // The proxy has stopped meanwhile.
      if context.isDraining.load(ordering: .relaxed) { connection.drain(isPatient: true) }
    } catch {
      channel.close(promise: nil)
    }
    // This opening leaves the channel, and does not see its end.
    end()
  }

  /// Passes the bytes to the handlers that were added, and leaves the channel to them.
  private func passOn(_ context: ChannelHandlerContext) {
    let rest = bytes
    bytes = ByteBuffer()
    if rest.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(rest)) }
    context.fireChannelReadComplete()
    context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
  }
}
