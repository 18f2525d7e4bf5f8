// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore

/// A connection to the origin that is ready for a request.
enum OriginLink: PooledConnection {
  case http1(OriginConnection.Handle)
  case http2(OriginHTTP2Connection.Handle)

  var channel: any Channel {
    switch self {
    case .http1(let handle): handle.channel
    case .http2(let handle): handle.channel
    }
  }

  var loop: ObjectIdentifier { ObjectIdentifier(channel.eventLoop) }

  func isUsable(at now: NIODeadline) -> Bool {
    switch self {
    case .http1(let handle): handle.channel.isActive && handle.deadline > now
    case .http2(let handle): handle.channel.isActive
    }
  }

  static func == (one: OriginLink, other: OriginLink) -> Bool { one.channel === other.channel }

  /// Begins the exchange for a request that may use the connection.
  ///
  /// - Precondition: this is its event loop.
  func begin() -> OriginReference {
    switch self {
    case .http1(let handle): handle.reference
    case .http2(let handle): OriginReference(OriginStream(handle.connection.value), on: channel.eventLoop)
    }
  }

  /// Gives up a connection that was made for a request.
  func abandon() {
    guard case .http2(let handle) = self else { return close() }
    handle.channel.eventLoop.execute { handle.connection.value.requestEnded() }
  }

  /// Closes a connection that serves no request.
  func close() {
    switch self {
    case .http1(let handle): handle.reference.close()
    case .http2(let handle): handle.channel.close(promise: nil)
    }
  }
}
