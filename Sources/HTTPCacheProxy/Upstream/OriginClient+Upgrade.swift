// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching
import NIOCore

extension OriginClient {
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
      let connection = try await connect(on: call.loop, mayBecomeTunnel: true)
      guard !Task.isCancelled else {
        connection.close()
        throw CancellationError()
      }
      var head = ByteBuffer()
      RequestWriter.write(
        request, .empty, expects: false, via: "\(call.version.number) \(via)", upgrade: protocols, to: &head)
      var pending = connection.start(head, method: request.method, isWhole: true, upgrade: protocols)
      while true {
        let reply = try await withTaskCancellationHandler { [pending] in
          try await pending.get()
        } onCancel: {
          connection.close()
        }
        if reply.head.status.code == 101 { return .switched(reply.head, connection) }
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

extension OriginClient {
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

extension OriginConnection.Handle {
  /// Sends a request, as ``start(_:method:isWhole:upgrade:_:)`` does.
  func start(
    _ request: ByteBuffer, method: HTTPRequest.Method, isWhole: Bool, upgrade: String? = nil
  ) -> EventLoopFuture<OriginConnection.Reply> {
    let promise = channel.eventLoop.makePromise(of: OriginConnection.Reply.self)
    start(request, method: method, isWhole: isWhole, upgrade: upgrade) {
      promise.completeWith($0.mapError { $0 })
    }
    return promise.futureResult
  }

  /// Returns the response after an interim one.
  func next() -> EventLoopFuture<OriginConnection.Reply> {
    let promise = channel.eventLoop.makePromise(of: OriginConnection.Reply.self)
    next { promise.completeWith($0.mapError { $0 }) }
    return promise.futureResult
  }
}
