import NIOCore
import NIOPosix
import Synchronization

/// The clients' connections that are open.
final class ConnectionTable: Sendable {
  private struct State {
    var channels: [ObjectIdentifier: (channel: any Channel, connection: NIOLoopBound<ClientConnection>)] = [:]
    var onRoom: (@Sendable () -> Void)?
    var onEmpty: [EventLoopPromise<Void>] = []
  }

  private let state = Mutex(State())
  private let limit: Int
  private let statistics: ProxyStatistics

  init(limit: Int, statistics: ProxyStatistics) {
    self.limit = Swift.max(1, limit)
    self.statistics = statistics
  }

  func add(_ channel: any Channel, _ connection: ClientConnection) {
    statistics.connectionOpened()
    let bound = NIOLoopBound(connection, eventLoop: channel.eventLoop)
    state.withLock { $0.channels[ObjectIdentifier(channel)] = (channel, bound) }
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

  /// `false` if there are as many as may be; then `onRoom` is called when there is one less.
  func hasRoom(else onRoom: @escaping @Sendable () -> Void) -> Bool {
    state.withLock { state in
      if state.channels.count < limit { return true }
      state.onRoom = onRoom
      return false
    }
  }

  /// Has all connections end after what is under way, and closes those that take too long.
  func drain(within time: TimeAmount) async {
    let all = state.withLock { Array($0.channels.values) }
    for (channel, connection) in all { channel.eventLoop.execute { connection.value.drain() } }
    guard let loop = all.first?.channel.eventLoop else { return }
    let promise = loop.makePromise(of: Void.self)
    let isEmpty = state.withLock { state in
      if !state.channels.isEmpty { state.onEmpty.append(promise) }
      return state.channels.isEmpty
    }
    if isEmpty { promise.succeed() }
    let timer = loop.scheduleTask(in: time) { [self] in
      for (channel, _) in state.withLock({ Array($0.channels.values) }) { channel.close(promise: nil) }
    }
    try? await promise.futureResult.get()
    timer.cancel()
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
