// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching
import NIOCore

extension OriginServer {
  /// The origin's response to a request for another protocol.
  enum UpgradeResult: Sendable {
    /// The origin has switched; the caller owns the connection.
    case switched(HTTPResponse, OriginConnection.Handle)
    /// The origin has sent another final response.
    case refused(TransportResponse)
  }

  /// Asks the origin to switch to another protocol (RFC 9110 §7.8), over its own connection. That has the event loop of the
  /// client's, so that bytes pass directly from one to the other.
  ///
  /// - Parameters:
  ///   - request: a request without content.
  ///   - protocols: the value of `Upgrade`.
  func upgrade(
    _ request: HTTPRequest, to protocols: String, _ call: OriginCall
  ) async throws -> UpgradeResult {
    try await admit(request, call)
    return try await counting {
      let link = try await connect(on: call.loop, isAwaited: false, mayBecomeTunnel: true)
      guard case .http1(let handle) = link, !Task.isCancelled else {
        link.close()
        throw CancellationError()
      }
      let (connection, sent) = (
        handle.reference, OriginRequest(request: request, via: via(call.version), upgrade: protocols)
      )
      var pending = call.loop.flatSubmit { connection.start(sent) }
      while true {
        let reply = try await withTaskCancellationHandler { [pending] in
          try await pending.get()
        } onCancel: {
          connection.close()
        }
        if reply.head.status.code == 101 { return .switched(reply.head, handle) }
        guard reply.isInterim else { return .refused(final(reply, call)) }
        if reply.head.status.code != 100 {
          call.interim(reply.head)
          await call.interimWritten()
        }
        pending = connection.next()
      }
    }
  }
}

extension OriginServer {
  /// Waits for the place of a new connection.
  private func admit(_ request: HTTPRequest, _ call: OriginCall) async throws {
    try await withTaskCancellationHandler {
      _ = try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Grant, any Error>) in
        let admission = admit(request, call, needsNew: true) { { continuation.resume(with: $0) } }
        if let admission { continuation.resume(with: admission) }
      }
    } onCancel: {
      call.cancel()
    }
  }
}

extension OriginReference {
  /// Sends a request, as ``OriginHandler/start(_:_:)`` does.
  ///
  /// - Precondition: this is the event loop of the exchange.
  func start(_ request: OriginRequest) -> EventLoopFuture<OriginReply> {
    let promise = loop.makePromise(of: OriginReply.self)
    handler.value.start(request) { promise.completeWith($0.mapError { $0 }) }
    return promise.futureResult
  }

  /// Returns the response after an interim one.
  func next() -> EventLoopFuture<OriginReply> {
    let promise = loop.makePromise(of: OriginReply.self)
    next { promise.completeWith($0.mapError { $0 }) }
    return promise.futureResult
  }
}
