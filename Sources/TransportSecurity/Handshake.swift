// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

#if TLS || Redis
  import NIOCore
  import NIOSSL
  import NIOTLS

  /// Waits for the end of a handshake, and says why a connection has failed.
  final class Handshake: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer

    /// `nil` until a server has chosen its certificate.
    var tls: NIOSSLHandler?
    private let name: String
    private let deadline: NIODeadline
    private let check: (NIOSSLHandler) throws -> Void
    /// `nil` after the handshake.
    private var done: ((Result<Agreement, any Error>) -> Void)?
    private var timer: Scheduled<Void>?
    /// Whether this side has ended the connection.
    private var isClosing = false

    /// - Parameters:
    ///   - name: the name that the peer's certificate must have, for the text of an error.
    ///   - check: throws if the peer is not the expected one.
    ///   - done: called once, on the event loop, before the first bytes after the handshake.
    init(
      _ tls: NIOSSLHandler? = nil, name: String = "", by deadline: NIODeadline,
      check: @escaping (NIOSSLHandler) throws -> Void = { _ in },
      done: @escaping (Result<Agreement, any Error>) -> Void
    ) {
      self.tls = tls
      self.name = name
      self.deadline = deadline
      self.check = check
      self.done = done
    }

    func handlerAdded(context: ChannelHandlerContext) {
      if context.channel.isActive { begin(context) }
    }

    func channelActive(context: ChannelHandlerContext) {
      begin(context)
      context.fireChannelActive()
    }

    private func begin(_ context: ChannelHandlerContext) {
      let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
      timer = context.eventLoop.scheduleTask(deadline: deadline) {
        let (handshake, context) = bound.value
        handshake.fail(TLSFailure(.timeout, "the TLS handshake has not ended in time"), context)
      }
      context.read()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
      if case TLSUserEvent.handshakeCompleted(let protocolName) = event, let tls {
        do {
          try check(tls)
        } catch {
          return errorCaught(context: context, error: error)
        }
        let version = tls.tlsVersion == .tlsv13 ? "1.3" : "1.2"
        end(.success(Agreement(protocolName: protocolName, version: version)))
      }
      context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      if isClosing { return }
      let failure = TLSFailure(
        error, certificate: tls?.peerCertificate, name: name, isInHandshake: done != nil)
      guard done != nil else { return context.fireErrorCaught(failure ?? error) }
      fail(failure ?? TLSFailure(.ended, "the connection ended during the TLS handshake: \(error)"), context)
    }

    /// Ends a handshake that failed. What the handlers have already written, such as a password, must not be sent to a peer
    /// that is not the expected one: so nothing is flushed.
    private func fail(_ failure: TLSFailure, _ context: ChannelHandlerContext) {
      isClosing = true
      end(.failure(failure))
      closeSocket(context, nil)
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
      guard mode == .all else { return context.close(mode: mode, promise: promise) }
      if !isClosing {
        isClosing = true
        // It tells the peer. To wait for its answer is not required (RFC 8446 §6.1), and would keep the descriptor.
        context.close(mode: .output, promise: nil)
      }
      closeSocket(context, promise)
    }

    func triggerUserOutboundEvent(
      context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?
    ) {
      guard event is AbruptEnd else { return context.triggerUserOutboundEvent(event, promise: promise) }
      isClosing = true
      closeSocket(context, promise)
    }

    private func closeSocket(_ context: ChannelHandlerContext, _ promise: EventLoopPromise<Void>?) {
      guard let tls, let inner = try? context.pipeline.syncOperations.context(handler: tls) else {
        return context.close(promise: promise)
      }
      inner.close(promise: promise)
    }

    func channelInactive(context: ChannelHandlerContext) {
      end(.failure(TLSFailure(.ended, "the connection ended during the TLS handshake")))
      context.fireChannelInactive()
    }

    /// A channel that lost to another address of the same host was never active.
    func handlerRemoved(context: ChannelHandlerContext) {
      end(.failure(ChannelError.ioOnClosedChannel))
    }

    private func end(_ result: Result<Agreement, any Error>) {
      timer?.cancel()
      timer = nil
      done.take()?(result)
    }
  }
#endif
