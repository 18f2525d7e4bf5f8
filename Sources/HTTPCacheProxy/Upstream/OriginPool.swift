// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore

/// A connection that several requests use, one after the other, or at once.
protocol PooledConnection: Sendable, Equatable {
  associatedtype Loop: Hashable, Sendable
  /// Its event loop.
  var loop: Loop { get }
  func isUsable(at now: NIODeadline) -> Bool
}

/// What a request may do.
enum OriginGrant<Connection: Sendable>: Sendable {
  case reuse(Connection)
  /// Make a connection, which has its place: ``OriginPool/opened(_:on:at:)`` or ``OriginPool/failed(on:at:)`` follows.
  case connect
}

/// Decides which request gets which connection to the origin: one that has room for it, a new one, or the next one that is
/// free.
///
/// Each connection has a place from before it is made until it is closed: in use, idle, or as a tunnel. On a connection of
/// HTTP/2, which is shared, each request after the first has a place too. So the origin never has more connections than the
/// limit, nor more requests at once. Requests beyond it wait in the order of their arrival, and no request overtakes them.
/// Only a request that is sent again, because its connection was closing, comes first: it has waited before.
///
/// Requests also wait for connections that are being made, if those will be shared: a hundred at once need one handshake.
///
/// The pool has no connection of its own, no clock and no timer: events have their time, and return what to do.
struct OriginPool<Connection: PooledConnection, Waiter: Sendable> {
  struct Limits: Hashable {
    /// Maximum number of places; `nil` for no limit.
    var connections: Int?
    /// Maximum idle connections.
    var idle: Int
    /// Maximum number of requests that wait for a place, and the time that each waits.
    var queue: Int
    var queueTime: TimeAmount
  }

  typealias Grant = OriginGrant<Connection>

  enum Decision {
    case grant(Grant)
    /// - Parameter ticket: for ``OriginPool/leave(_:)``.
    case wait(ticket: Int)
    /// Too many requests wait.
    case refuse
  }

  /// What a connection turned out to be.
  enum Opened {
    /// One request at a time uses it.
    case exclusive
    /// It becomes a tunnel: whether it could be shared was not asked.
    case unasked
    /// - Parameters:
    ///   - limit: maximum requests at once.
    ///   - isRetired: whether it serves only the request that it was made for.
    case shared(Connection, limit: Int, isRetired: Bool)
  }

  /// What follows from an event.
  struct Outcome {
    /// Requests that waited, and what they may do.
    var granted: [(waiter: Waiter, grant: Grant)] = []
    /// Requests that waited for the connection that has failed.
    var failed: [Waiter] = []
    /// Connections to close.
    var closing: [Connection] = []
  }

  private struct Entry {
    /// What ``OriginPool/leave(_:)`` knows it by. A ticket at the front of the queue may be used again.
    var id: Int
    var waiter: Waiter
    var needsNew: Bool
    var loop: Connection.Loop
    var deadline: NIODeadline
  }

  private struct Shared {
    var connection: Connection
    var requests = 1
    var limit: Int
    /// Whether it serves no further requests.
    var isRetired = false

    /// The requests that have a place besides that of the connection.
    var additional: Int { Swift.max(0, requests - 1) }
    var isIdle: Bool { requests == 0 && !isRetired }
  }

  private(set) var limits: Limits
  /// The idle connections that are not shared; those that were idle longest come first.
  private var idle: [Connection] = []
  private var shared: [Shared] = []
  /// Number of connections that have a place, and of requests on shared ones that have one of their own.
  private(set) var connections = 0
  private var additional = 0
  /// Number of connections that are being made, of each event loop, and may be shared.
  private var opening: [Connection.Loop: Int] = [:]
  /// Number of requests that a connection will serve at once, as far as the last one shows.
  private var capacity: Int
  /// The waiting requests by their tickets, which are in order. A request that leaves makes a gap.
  private var queue: [Int: Entry] = [:]
  private var firstTicket = 0
  private var nextTicket = 0
  /// Number of requests that have waited again after they had a connection, and the tickets of those that wait.
  private var repeats = 0
  private var repeated: [Int: Int] = [:]
  private var isTimerSet = false

  /// - Parameter capacity: the number of requests that a connection may serve at once: 1 if none is shared.
  init(_ limits: Limits, capacity: Int = 1) { (self.limits, self.capacity) = (limits, capacity) }

  var waiting: Int { queue.count }

  /// Number of places that are taken.
  var places: Int { connections + additional }

  var hasIdle: Bool { idleCount > 0 }

  /// Number of requests, those that wait included.
  var load: Int { places - idleCount + waiting }

  /// Number of requests on shared connections.
  var sharing: Int { shared.reduce(0) { $0 + $1.requests } }

  /// Whether there is a place for another request.
  var hasRoom: Bool { limits.connections.map { places < $0 } ?? true }

  /// Number of requests that connections which are being made will serve besides those that make them.
  private var coming: Int { capacity == 1 ? 0 : opening.values.reduce(0, +) * (capacity - 1) }

  // MARK: - Requests

  /// The result of a request.
  struct Admission {
    var decision: Decision
    /// Idle connections to close.
    var closing: [Connection] = []
    /// When to call ``OriginPool/expire(at:)``, unless an earlier call is scheduled.
    var timer: NIODeadline?
  }

  /// Finds a connection for a request.
  ///
  /// - Parameters:
  ///   - needsNew: whether the request needs a connection that no other has used.
  ///   - isAgain: whether the request has already had a connection.
  ///   - loop: the event loop of the request: a connection of that one is a better choice than one that was used later.
  ///   - waiter: made if the request must wait.
  mutating func request(
    needsNew: Bool = false, isAgain: Bool = false, on loop: Connection.Loop, at now: NIODeadline,
    waiter: () -> Waiter
  ) -> Admission {
    var admission = Admission(decision: .refuse)
    // Those that wait for connections which are being made do not wait for a place.
    let mayConnect = isAgain || queue.count <= coming
    if let grant = grant(
      needsNew: needsNew, on: loop, besides: queue.count, mayConnect: mayConnect, at: now, &admission.closing)
    {
      admission.decision = .grant(grant)
      return admission
    }
    // The idle one gives its place.
    if needsNew, mayConnect, let connection = takeIdle() { admission.closing.append(connection) }
    guard isAgain || queue.count < limits.queue + (needsNew ? 0 : coming) else { return admission }
    var deadline = now + limits.queueTime
    // Those behind it would otherwise wait for its time.
    if isAgain, let first { deadline = Swift.min(deadline, first.deadline) }
    let (ticket, id): (Int, Int)
    if isAgain {
      firstTicket -= 1
      repeats += 1
      (ticket, id) = (firstTicket, -repeats)
      repeated[id] = ticket
    } else {
      (ticket, id) = (nextTicket, nextTicket)
      nextTicket += 1
    }
    queue[ticket] = Entry(id: id, waiter: waiter(), needsNew: needsNew, loop: loop, deadline: deadline)
    admission.decision = .wait(ticket: id)
    if !isTimerSet { admission.timer = deadline }
    isTimerSet = true
    return admission
  }

  /// Finds what a request may do now; `nil` if it must wait.
  ///
  /// - Parameters:
  ///   - others: number of other requests that wait.
  ///   - mayConnect: whether the request may have a free place.
  private mutating func grant(
    needsNew: Bool, on loop: Connection.Loop, besides others: Int, mayConnect: Bool, at now: NIODeadline,
    _ closing: inout [Connection]
  ) -> Grant? {
    let mayConnect = mayConnect && hasRoom
    if !needsNew {
      // While connections are idle, only requests wait that need a new one.
      while !idle.isEmpty {
        let connection = idle.remove(at: idle.lastIndex { $0.loop == loop } ?? idle.endIndex - 1)
        if connection.isUsable(at: now) { return .reuse(connection) }
        closing.append(connection)
      }
      let usable = shared.indices.filter { isUsable(shared[$0], at: now) }
      var chosen = usable.first { shared[$0].connection.loop == loop } ?? usable.first { shared[$0].isIdle }
      // One connection for each event loop: then no request crosses to another, and no loop has all the work.
      let isServed =
        opening[loop] != nil || shared.contains { !$0.isRetired && $0.connection.loop == loop }
      if isServed || !mayConnect {
        chosen = chosen ?? usable.first
        if chosen == nil, others < coming { return nil }
      }
      if let chosen {
        change(chosen) { $0.requests += 1 }
        return .reuse(shared[chosen].connection)
      }
    }
    // The requests that wait for connections which are being made will have the places that are free.
    let isLeft = needsNew || limits.connections.map { $0 - places > coming } ?? true
    return mayConnect && isLeft ? connect(on: needsNew ? nil : loop) : nil
  }

  private func isUsable(_ shared: Shared, at now: NIODeadline) -> Bool {
    !shared.isRetired && shared.requests < shared.limit && (shared.requests == 0 || hasRoom)
      && shared.connection.isUsable(at: now)
  }

  private mutating func change(_ index: Int, _ body: (inout Shared) -> Void) {
    additional -= shared[index].additional
    body(&shared[index])
    additional += shared[index].additional
  }

  /// - Parameter loop: the event loop whose requests may wait for the connection; `nil` for none.
  private mutating func connect(on loop: Connection.Loop?) -> Grant {
    connections += 1
    if let loop { opening[loop, default: 0] += 1 }
    return .connect
  }

  /// Takes a place for a new connection without waiting for one.
  mutating func takePlace() -> Bool {
    guard queue.isEmpty, hasRoom else { return false }
    _ = connect(on: nil)
    return true
  }

  /// Removes a request that waits.
  ///
  /// - Returns: `nil` if it does not wait any more.
  mutating func leave(_ id: Int) -> Waiter? {
    let ticket = id < 0 ? repeated.removeValue(forKey: id) : id
    guard let ticket, queue[ticket]?.id == id else { return nil }
    return queue.removeValue(forKey: ticket)?.waiter
  }

  /// Removes all requests that wait, in their order.
  mutating func removeWaiting() -> [Waiter] {
    defer {
      (queue, repeated) = ([:], [:])
      firstTicket = nextTicket
    }
    return queue.sorted { $0.key < $1.key }.map(\.value.waiter)
  }

  /// Removes the requests that have waited too long.
  ///
  /// - Returns: them, and when to call this again.
  mutating func expire(at now: NIODeadline) -> (late: [Waiter], timer: NIODeadline?) {
    var late: [Waiter] = []
    while let first, first.deadline <= now {
      late.append(first.waiter)
      removeFirst()
    }
    isTimerSet = first != nil
    return (late, first?.deadline)
  }

  /// The request that comes next.
  private var first: Entry? {
    mutating get {
      while firstTicket < nextTicket {
        if let entry = queue[firstTicket] { return entry }
        firstTicket += 1
      }
      return nil
    }
  }

  private mutating func removeFirst() {
    if let id = queue.removeValue(forKey: firstTicket)?.id, id < 0 { repeated[id] = nil }
    firstTicket += 1
  }

  /// Lets requests in that waited, as far as there is room.
  private mutating func grantWaiting(at now: NIODeadline) -> Outcome {
    var outcome = Outcome()
    while let first {
      guard
        let grant = grant(
          needsNew: first.needsNew, on: first.loop, besides: queue.count - 1, mayConnect: true, at: now,
          &outcome.closing)
      else { break }
      removeFirst()
      outcome.granted.append((first.waiter, grant))
    }
    return outcome
  }

  // MARK: - Connections

  /// Records that a connection was made, which serves the request that it was made for.
  ///
  /// - Parameter loop: the event loop whose requests may wait for it: `nil` if that request needed a new one.
  mutating func opened(_ connection: Opened, on loop: Connection.Loop?, at now: NIODeadline) -> Outcome {
    endOpening(loop)
    switch connection {
    case .unasked: break
    case .exclusive: capacity = 1
    case .shared(let connection, let limit, let isRetired):
      capacity = Swift.max(1, limit)
      shared.append(Shared(connection: connection, limit: limit, isRetired: isRetired))
    }
    return grantWaiting(at: now)
  }

  /// Records that a connection could not be made.
  mutating func failed(on loop: Connection.Loop?, at now: NIODeadline) -> Outcome {
    endOpening(loop)
    connections -= 1
    // Each would have made one, which would have failed at the same time.
    if loop != nil, capacity > 1, opening.isEmpty, shared.isEmpty { return Outcome(failed: removeWaiting()) }
    return grantWaiting(at: now)
  }

  private mutating func endOpening(_ loop: Connection.Loop?) {
    guard let loop else { return }
    let count = opening[loop, default: 1] - 1
    opening[loop] = count == 0 ? nil : count
  }

  /// Records that a connection that is not shared can serve another request.
  mutating func returned(_ connection: Connection, at now: NIODeadline) -> Outcome {
    if isOverfull { return Outcome(closing: [connection]) }
    if let first {
      // Its place is free when it is closed.
      if first.needsNew || !connection.isUsable(at: now) { return Outcome(closing: [connection]) }
      removeFirst()
      return Outcome(granted: [(first.waiter, .reuse(connection))])
    }
    var closing: [Connection] = []
    let usable = idle.firstIndex { $0.isUsable(at: now) } ?? idle.endIndex
    if usable > 0 {
      closing += idle[..<usable]
      idle.removeFirst(usable)
    }
    if idleCount >= limits.idle { closing.append(connection) } else { idle.append(connection) }
    return Outcome(closing: closing)
  }

  /// Whether more places are taken than there are now.
  private var isOverfull: Bool { limits.connections.map { places > $0 } ?? false }

  private var idleCount: Int { idle.count + shared.count { $0.isIdle } }

  /// Records that a request on a shared connection has ended.
  mutating func requestEnded(on connection: Connection, at now: NIODeadline) -> Outcome {
    guard let index = index(of: connection) else { return Outcome() }
    change(index) { $0.requests -= 1 }
    var outcome = grantWaiting(at: now)
    guard shared[index].requests == 0 else { return outcome }
    // One that needs a new connection may wait for the place.
    let isInTheWay = !hasRoom && first?.needsNew == true
    if idleCount > limits.idle || isOverfull || isInTheWay { shared[index].isRetired = true }
    if shared[index].isRetired { outcome.closing.append(connection) }
    return outcome
  }

  /// Records how many requests a shared connection may serve at once.
  mutating func limitChanged(of connection: Connection, to limit: Int, at now: NIODeadline) -> Outcome {
    guard let index = index(of: connection) else { return Outcome() }
    capacity = Swift.max(1, limit)
    shared[index].limit = limit
    return grantWaiting(at: now)
  }

  /// Records that a shared connection serves no further requests.
  ///
  /// - Returns: whether it serves none now, so that it must be closed.
  mutating func retire(_ connection: Connection) -> Bool {
    guard let index = index(of: connection) else { return false }
    shared[index].isRetired = true
    return shared[index].requests == 0
  }

  /// Retires a shared connection that has been idle for long.
  ///
  /// - Returns: whether it serves no request, so that it must be closed.
  mutating func retireIdle(_ connection: Connection) -> Bool {
    guard let index = index(of: connection), shared[index].requests == 0 else { return false }
    return retire(connection)
  }

  /// Retires connections. One that is in use and not shared may still be returned.
  ///
  /// - Returns: those that serve no request.
  mutating func retire(_ isConcerned: (Connection) -> Bool) -> [Connection] {
    var closing = idle.filter(isConcerned)
    idle.removeAll(where: isConcerned)
    for index in shared.indices where isConcerned(shared[index].connection) {
      if shared[index].isIdle { closing.append(shared[index].connection) }
      shared[index].isRetired = true
    }
    return closing
  }

  /// Takes the connection that was idle longest, to be closed.
  private mutating func takeIdle() -> Connection? {
    if !idle.isEmpty { return idle.removeFirst() }
    guard let index = shared.firstIndex(where: { $0.isIdle }) else { return nil }
    shared[index].isRetired = true
    return shared[index].connection
  }

  private func index(of connection: Connection) -> Int? {
    shared.firstIndex { $0.connection == connection }
  }

  /// Removes a connection that was closed while it was idle. Its place is released by ``closed(_:at:)``.
  ///
  /// - Returns: the connection, to be released outside a lock.
  mutating func forget(_ isClosed: (Connection) -> Bool) -> Connection? {
    idle.firstIndex(where: isClosed).map { idle.remove(at: $0) }
  }

  /// Records that a connection is closed.
  mutating func closed(_ connection: Connection, at now: NIODeadline) -> Outcome {
    connections -= 1
    if let index = index(of: connection) { additional -= shared.remove(at: index).additional }
    return grantWaiting(at: now)
  }

  // MARK: - Settings

  mutating func update(_ limits: Limits, at now: NIODeadline) -> Outcome {
    self.limits = limits
    return grantWaiting(at: now)
  }
}
