// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore
import NIOPosix
import Synchronization

/// The open client connections.
final class ConnectionTable: Sendable {
  private struct State {
    var limit: Int
    var channels: [ObjectIdentifier: (channel: any Channel, connection: NIOLoopBound<ClientConnection>)] = [:]
    var isDraining = false
    var onRoom: (@Sendable () -> Void)?
    var onEmpty: [EventLoopPromise<Void>] = []
  }

  private let state: Mutex<State>
  private let statistics: ProxyStatistics

  init(_ settings: CurrentConfiguration, statistics: ProxyStatistics) {
    self.statistics = statistics
    state = Mutex(State(limit: settings.value.limits.connections))
    settings.onChange { [weak self] in self?.setLimit($0.limits.connections) }
  }

  private func setLimit(_ limit: Int) {
    let onRoom = state.withLock { state in
      state.limit = limit
      defer { state.onRoom = nil }
      return state.onRoom
    }
    // Check again, whatever the new limit is.
    onRoom?()
  }

  func add(_ channel: any Channel, _ connection: ClientConnection) {
    statistics.connectionOpened()
    let bound = NIOLoopBound(connection, eventLoop: channel.eventLoop)
    let isDraining = state.withLock { state in
      state.channels[ObjectIdentifier(channel)] = (channel, bound)
      return state.isDraining
    }
    // The connection was accepted just before the port was closed.
    if isDraining { channel.eventLoop.execute { bound.value.drain() } }
    channel.closeFuture.whenComplete { [self] _ in remove(channel) }
  }

  private func remove(_ channel: any Channel) {
    statistics.connectionClosed()
    let (onRoom, onEmpty) = state.withLock { state in
      state.channels[ObjectIdentifier(channel)] = nil
      defer {
        if state.channels.isEmpty { state.onEmpty = [] }
        state.onRoom = nil
      }
      return (state.onRoom, state.channels.isEmpty ? state.onEmpty : [])
    }
    onRoom?()
    for promise in onEmpty { promise.succeed() }
  }

  /// Returns `false` if the limit is reached; then calls `onRoom` when a connection closes.
  func hasRoom(else onRoom: @escaping @Sendable () -> Void) -> Bool {
    state.withLock { state in
      if state.channels.count < Swift.max(1, state.limit) { return true }
      state.onRoom = onRoom
      return false
    }
  }

  /// Ends all connections after their requests in flight, and closes those that take too long.
  func drain(within time: TimeAmount) async {
    let all = state.withLock { state in
      state.isDraining = true
      return Array(state.channels.values)
    }
    for (channel, connection) in all { channel.eventLoop.execute { connection.value.drain() } }
    guard let loop = all.first?.channel.eventLoop else { return }
    let promise = loop.makePromise(of: Void.self)
    let isEmpty = state.withLock { state in
      if !state.channels.isEmpty { state.onEmpty.append(promise) }
      return state.channels.isEmpty
    }
    if isEmpty { promise.succeed() }
    let timer = loop.scheduleTask(in: time) { [self] in closeAll() }
    try? await promise.futureResult.get()
    timer.cancel()
  }

  /// Closes all connections, even with requests in flight.
  func closeAll() {
    for (channel, _) in state.withLock({ Array($0.channels.values) }) { channel.close(promise: nil) }
  }
}

/// Accepts connections only while there is room: more wait in the kernel's queue.
final class AcceptGate: ChannelDuplexHandler {
  typealias InboundIn = any Channel
  typealias OutboundIn = any Channel

  private let connections: ConnectionTable
  private let channel: any Channel

  init(_ connections: ConnectionTable, _ channel: any Channel) {
    self.connections = connections
    self.channel = channel
  }

  func read(context: ChannelHandlerContext) {
    let channel = channel
    if connections.hasRoom(else: { channel.read() }) { context.read() }
  }
}
