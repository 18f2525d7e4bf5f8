// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Synchronization

/// What the connections of a tier did so far, and what they hold now.
public struct RedisStatistics: Hashable, Sendable {
  /// Commands that were sent.
  public var commands = 0
  /// Requests that were sent: one for each pipeline, with any number of commands.
  public var roundTrips = 0
  /// Bytes that were sent.
  public var bytesSent = 0
  /// Bytes that were received.
  public var bytesReceived = 0
  /// Callers that stopped waiting at their time limit.
  public var timeouts = 0
  /// Connections that were opened.
  public var connectionsOpened = 0
  /// Connections that are open.
  public var connections = 0
  /// Callers that wait for a reply.
  public var waiting = 0
  /// Connections that ended because of invalid or too large replies.
  public var protocolViolations = 0
  /// Commands that a node of a cluster sent to another node (`MOVED`, `ASK`).
  public var redirections = 0
}

/// The counters behind ``RedisStatistics``, shared by all connections of a client.
final class RedisCounters: Sendable {
  let commands = Atomic(0)
  let roundTrips = Atomic(0)
  let bytesSent = Atomic(0)
  let bytesReceived = Atomic(0)
  let timeouts = Atomic(0)
  let connectionsOpened = Atomic(0)
  let connections = Atomic(0)
  let waiting = Atomic(0)
  let protocolViolations = Atomic(0)
  let redirections = Atomic(0)

  func noteSent(_ request: Request) {
    commands.wrappingAdd(request.commands, ordering: .relaxed)
    roundTrips.wrappingAdd(1, ordering: .relaxed)
    bytesSent.wrappingAdd(request.size, ordering: .relaxed)
  }

  var snapshot: RedisStatistics {
    RedisStatistics(
      commands: commands.load(ordering: .relaxed),
      roundTrips: roundTrips.load(ordering: .relaxed),
      bytesSent: bytesSent.load(ordering: .relaxed),
      bytesReceived: bytesReceived.load(ordering: .relaxed),
      timeouts: timeouts.load(ordering: .relaxed),
      connectionsOpened: connectionsOpened.load(ordering: .relaxed),
      connections: connections.load(ordering: .relaxed),
      waiting: waiting.load(ordering: .relaxed),
      protocolViolations: protocolViolations.load(ordering: .relaxed),
      redirections: redirections.load(ordering: .relaxed))
  }
}
