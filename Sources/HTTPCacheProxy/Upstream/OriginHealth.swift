// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore

/// The state of the origin: whether it responded recently, and whether it accepts connections.
///
/// Exchanges give the best information. If there were none recently, because there is no traffic or all of it is served
/// from the store, a probe opens a connection, and closes it without a request.
struct OriginHealth: Sendable {
  /// How long a finished exchange counts as recent.
  static let memory = TimeAmount.seconds(10)
  /// How long the result of a probe is used.
  static let probeMemory = TimeAmount.seconds(1)
  static let probeTime = Duration.seconds(1)

  private var lastSuccess: NIODeadline?
  private var lastFailure: (time: NIODeadline, kind: OriginError.Kind)?
  private var lastProbe: (time: NIODeadline, kind: OriginError.Kind?)?

  /// The result of ``OriginServer/health()``.
  enum State: Hashable, Sendable {
    /// The origin sent a response, or accepted a connection.
    case ready
    /// Why the origin is unreachable.
    case unreachable(OriginError.Kind)
  }

  /// - Parameter kind: `nil` for a response that counts.
  mutating func exchangeEnded(_ kind: OriginError.Kind?, at now: NIODeadline) {
    if let kind { lastFailure = (now, kind) } else { lastSuccess = now }
  }

  mutating func probeEnded(_ kind: OriginError.Kind?, at now: NIODeadline) {
    lastProbe = (now, kind)
  }

  /// Returns the state; `nil` if nothing recent is known: then a probe finds out.
  ///
  /// One recent success outweighs failures: a single page of the origin may be broken or slow.
  func state(at now: NIODeadline) -> State? {
    if let lastSuccess, now - lastSuccess <= Self.memory { return .ready }
    if let lastFailure, now - lastFailure.time <= Self.memory { return .unreachable(lastFailure.kind) }
    if let lastProbe, now - lastProbe.time <= Self.probeMemory {
      return lastProbe.kind.map { .unreachable($0) } ?? .ready
    }
    return nil
  }
}
