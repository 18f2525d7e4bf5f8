// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheObserving
import Logging
import NIOCore

/// The open connections of a port, and its limits.
///
/// At the limit, the connection that is idle longest is closed to let a new one in. A connection with a request in
/// progress keeps its place. If all have one, new connections wait. The same is done among the connections of one
/// client, if there is a limit for each.
final class ConnectionTable: Sendable {
  struct Limits: Equatable {
    /// Maximum connections.
    var connections: Int
    /// Maximum connections of a client's address.
    var perAddress: Int?
  }

  private struct State {
    var limits: Limits
    /// Places that are taken: by the connections in ``places``, and by those that have just been accepted.
    var count = 0
    var places: [ObjectIdentifier: ConnectionPlace] = [:]
    var idle = IdleOrder()
    /// Connections that were chosen to make room, and are not closed yet.
    var leaving = 0
    /// The connections of each client, and the client of each; only while there is a limit.
    var clients: [IPAddress: [ObjectIdentifier: ConnectionPlace]] = [:]
    var clientOf: [ObjectIdentifier: IPAddress] = [:]
    var draining = Draining.no
    /// Of each port that waits for room: what to call, and the number of its connections that wait.
    var onRoom: [ObjectIdentifier: @Sendable () -> Void] = [:]
    var waiting: [ObjectIdentifier: Int] = [:]
    var onEmpty: [EventLoopPromise<Void>] = []

    mutating func takeOnRoom() -> [@Sendable () -> Void] {
      defer { onRoom = [:] }
      return Array(onRoom.values)
    }

    mutating func join(_ client: IPAddress, _ place: ConnectionPlace) {
      let id = ObjectIdentifier(place)
      guard places[id] != nil else { return }
      clients[client, default: [:]][id] = place
      clientOf[id] = client
    }

    mutating func leaveClient(_ id: ObjectIdentifier) {
      guard let client = clientOf.removeValue(forKey: id) else { return }
      clients[client]?[id] = nil
      if clients[client]?.isEmpty == true { clients[client] = nil }
    }
  }

  private enum Draining {
    case no
    /// Connections without a request may get one more.
    case patiently
    case now
  }

  /// The time between the choice of a connection and its end: the event loop reads what has arrived. Without it, a
  /// connection that was accepted together with the one that needs its place would lose its first request.
  static let grace = TimeAmount.milliseconds(1)
  /// The time that a connection has for its first request before it may be closed to make room. Without it, new clients
  /// would take each other's places while all others have requests in progress, and get empty replies.
  static let firstRequest = TimeAmount.seconds(1)

  private let state: Mutex<State>
  /// Counts the connections of clients; `nil` for those of administrators.
  private let statistics: ProxyStatistics?
  /// Logs when all places are taken, and when connections cannot be accepted.
  private let (roomLog, acceptLog): (FailureLog, FailureLog)
  private let name: String

  /// - Parameters:
  ///   - name: what the log calls the connections.
  ///   - statistics: counts the connections.
  init(_ limits: Limits, of name: String, statistics: ProxyStatistics?, logger: Logger) {
    self.statistics = statistics
    self.name = name
    roomLog = FailureLog(logger, recovery: "there is room for \(name) again")
    acceptLog = FailureLog(logger, recovery: "\(name) are accepted again")
    state = Mutex(State(limits: limits))
  }

  func setLimits(_ limits: Limits) {
    // Check again, whatever the new limits are.
    let onRoom = state.withLock { state in
      state.limits = limits
      return state.takeOnRoom()
    }
    for call in onRoom { call() }
  }

  // MARK: - Opening and closing

  /// Takes a place for a connection that was accepted, until its channel is closed.
  ///
  /// - Parameters:
  ///   - port: what accepts the connections of a port: several ports may share the places.
  ///   - waiting: the number of its connections that wait for a place, with this one. So many others are closed.
  ///   - onRoom: if all places are taken, called once when the call may succeed.
  /// - Returns: whether there is a place.
  func admit(
    _ channel: any Channel, of port: ObjectIdentifier = ObjectIdentifier(ConnectionTable.self),
    waiting: Int = 1, else onRoom: @escaping @Sendable () -> Void
  ) -> Bool {
    enum Decision {
      case admitted
      case makesRoom(ConnectionPlace, since: UInt64)
      case allBusy
      case waits
    }
    let (decision, limit): (Decision, Int) = state.withLock { state in
      let limit = Swift.max(1, state.limits.connections)
      if state.count < limit {
        state.count += 1
        state.waiting[port] = waiting > 1 ? waiting - 1 : nil
        return (.admitted, limit)
      }
      state.onRoom[port] = onRoom
      state.waiting[port] = waiting
      guard state.leaving < state.waiting.values.reduce(0, +) else { return (.waits, limit) }
      guard let victim = state.idle.takeOldest() else {
        return (state.leaving > 0 ? .waits : .allBusy, limit)
      }
      state.leaving += 1
      return (.makesRoom(victim.place, since: victim.since), limit)
    }
    switch decision {
    case .admitted:
      acceptLog.recovered()
      statistics?.connectionOpened()
      channel.closeFuture.whenComplete { [self] _ in release() }
      return true
    case .makesRoom(let victim, let since):
      roomLog.failed(
        "idle_closed", "more than \(limit) \(name): those that are idle longest are closed to make room")
      close(victim, idleSince: since, for: nil)
    case .allBusy:
      roomLog.failed("all_busy", "more than \(limit) \(name), all with a request in progress: new ones wait")
    case .waits: break
    }
    return false
  }

  /// Takes a place for one of the last connections, although there may be none.
  func admitLast(_ channel: any Channel) {
    state.withLock { $0.count += 1 }
    statistics?.connectionOpened()
    channel.closeFuture.whenComplete { [self] _ in release() }
  }

  /// Gives a place free, after its connection is closed.
  private func release() {
    statistics?.connectionClosed()
    let (onRoom, hasMuchRoom) = state.withLock { state in
      state.count -= 1
      return (state.takeOnRoom(), state.count < state.limits.connections - state.limits.connections / 8)
    }
    if hasMuchRoom { roomLog.recovered() }
    for call in onRoom { call() }
  }

  /// Adds a connection that was admitted, until its channel is closed.
  func add(_ channel: any Channel, _ connection: any TabledConnection) -> ConnectionPlace {
    let place = ConnectionPlace(channel, connection, in: self)
    let draining = state.withLock { state in
      state.places[ObjectIdentifier(place)] = place
      state.idle.insert(place)
      return state.draining
    }
    // The connection was accepted just before the port was closed.
    if draining != .no {
      channel.eventLoop.execute { place.connection.value.drain(isPatient: draining == .patiently) }
    }
    channel.closeFuture.whenComplete { [self] _ in remove(place) }
    return place
  }

  private func remove(_ place: ConnectionPlace) {
    let onEmpty = state.withLock { state in
      state.places[ObjectIdentifier(place)] = nil
      state.idle.remove(place)
      state.leaveClient(ObjectIdentifier(place))
      guard state.places.isEmpty else { return [] as [EventLoopPromise<Void>] }
      defer { state.onEmpty = [] }
      return state.onEmpty
    }
    for promise in onEmpty { promise.succeed() }
  }

  // MARK: - Idle connections

  /// Puts a parked connection, which is idle again, back into the order.
  func becameIdle(_ place: ConnectionPlace) {
    let onRoom: [@Sendable () -> Void] = state.withLock { state in
      guard state.places[ObjectIdentifier(place)] != nil else { return [] }
      state.idle.insert(place)
      return state.takeOnRoom()
    }
    for call in onRoom { call() }
  }

  /// Closes a connection that was chosen to make room, unless a request has arrived meanwhile, or another place is free.
  ///
  /// - Parameters:
  ///   - since: since when it is idle.
  ///   - client: the client for whose other connection it makes room; `nil` for that of any client.
  private func close(_ place: ConnectionPlace, idleSince since: UInt64, for client: IPAddress?) {
    let loop = place.channel.eventLoop
    let first =
      since == place.opened ? NIODeadline.uptimeNanoseconds(since) + Self.firstRequest : .distantPast
    let soon = loop.now + Self.grace
    loop.scheduleTask(deadline: Swift.max(soon, first)) { [self] in
      let unsent = (try? place.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
      let isIdle = place.connection.value.isIdle && unsent == 0
      let isWanted = first <= soon || client != nil || state.withLock { !$0.onRoom.isEmpty }
      let isClosed = isIdle && isWanted
      if isIdle, !isClosed { place.unclaim(idleSince: since) }
      if isClosed {
        statistics?.idleClosed.increment()
        place.channel.close(promise: nil)
      }
      // Otherwise, the search goes on. This connection keeps its place until it is idle again.
      let onRoom = state.withLock { state in
        if client == nil { state.leaving -= 1 }
        if isIdle, !isClosed, state.places[ObjectIdentifier(place)] != nil { state.idle.insert(place) }
        if !isClosed, let client { state.join(client, place) }
        return state.takeOnRoom()
      }
      for call in onRoom { call() }
    }
  }

  // MARK: - Clients

  /// Counts a connection for its client. If the client has too many, closes the one that is idle longest.
  ///
  /// A client with IPv6 has a network of 64 bits, and may use any address in it.
  ///
  /// - Returns: whether the client may have the connection.
  func admit(_ place: ConnectionPlace, of address: IPAddress) -> Bool {
    let client = address.ofOneClient
    let id = ObjectIdentifier(place)
    let (isAdmitted, limit, victim): (Bool, Int, (since: UInt64, place: ConnectionPlace)?) = state.withLock {
      state in
      guard let limit = state.limits.perAddress, state.places[id] != nil else { return (true, 0, nil) }
      var victim: (since: UInt64, place: ConnectionPlace)?
      if let others = state.clients[client], others.count >= limit {
        let idle = others.values.compactMap { place in place.idleSince.map { (since: $0, place: place) } }
          .sorted { $0.since < $1.since }
        guard let oldest = idle.first(where: { $0.place.claim(idleSince: $0.since) }) else {
          return (false, limit, nil)
        }
        victim = oldest
        state.idle.remove(oldest.place)
        state.leaveClient(ObjectIdentifier(oldest.place))
      }
      state.join(client, place)
      return (true, limit, victim)
    }
    if let victim {
      roomLog.failed(
        "address_idle_closed",
        "\(client.textOfOneClient) has more than \(limit) \(name): those that are idle longest are closed")
      close(victim.place, idleSince: victim.since, for: client)
    } else if !isAdmitted {
      roomLog.failed(
        "address_refused",
        "\(client.textOfOneClient) has \(limit) \(name), all with a request in progress: others are closed")
      statistics?.connectionsRefused.increment()
    }
    return isAdmitted
  }

  // MARK: - Failures

  /// Counts a connection that could not be accepted, because the process has no descriptor left, or the kernel no memory.
  func acceptFailed(_ error: IOError) {
    statistics?.acceptFailures.increment()
    acceptLog.failed("accept", "cannot accept \(name): \(DescriptorLimit.text(of: error))")
  }

  // MARK: - The end

  /// Ends all connections after their requests in flight, and closes those that take too long.
  ///
  /// - Parameter isPatient: whether connections without a request may get one more.
  func drain(within time: TimeAmount, isPatient: Bool = false) async {
    let all = state.withLock { state in
      state.draining = isPatient ? .patiently : .now
      // The port is closed.
      (state.onRoom, state.waiting) = ([:], [:])
      return Array(state.places.values)
    }
    for place in all {
      place.channel.eventLoop.execute { place.connection.value.drain(isPatient: isPatient) }
    }
    guard let loop = all.first?.channel.eventLoop else { return }
    let promise = loop.makePromise(of: Void.self)
    let isEmpty = state.withLock { state in
      if !state.places.isEmpty { state.onEmpty.append(promise) }
      return state.places.isEmpty
    }
    if isEmpty { promise.succeed() }
    let timer = loop.scheduleTask(in: time) { [self] in closeAll() }
    try? await promise.futureResult.get()
    timer.cancel()
  }

  /// Closes all connections, even with requests in flight.
  func closeAll() {
    for place in state.withLock({ Array($0.places.values) }) { place.channel.close(promise: nil) }
  }
}
