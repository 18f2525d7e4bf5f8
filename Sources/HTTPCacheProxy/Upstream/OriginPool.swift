// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore

/// A connection that several requests use, one after the other.
protocol PooledConnection: Sendable {
  func isUsable(at now: NIODeadline) -> Bool
}

/// Decides which request gets which connection to the origin: an idle one, a new one, or the next one that is free.
///
/// Each connection has a place from before it is made until it is closed: in use, idle, or as a tunnel. So the origin never
/// has more connections than the limit. Requests beyond it wait in the order of their arrival, and no request overtakes
/// them. Only a request that is sent again, because its idle connection was closing, comes first: it has waited before.
///
/// The pool has no connection of its own, no clock and no timer: events have their time, and return what to do.
struct OriginPool<Connection: PooledConnection, Waiter: Sendable> {
  struct Limits: Hashable {
    /// Maximum number of places; `nil` for no limit.
    var connections: Int?
    /// Maximum idle connections.
    var idle: Int
    /// Maximum number of requests that wait, and the time that each waits.
    var queue: Int
    var queueTime: TimeAmount
  }

  /// What a request may do.
  enum Grant {
    case reuse(Connection)
    /// Make a connection, which has its place: ``OriginPool/ended()`` releases it.
    case connect
  }

  enum Decision {
    case grant(Grant)
    /// - Parameter ticket: for ``OriginPool/leave(_:)``.
    case wait(ticket: Int)
    /// Too many requests wait.
    case refuse
  }

  private struct Entry {
    /// What ``OriginPool/leave(_:)`` knows it by. A ticket at the front of the queue may be used again.
    var id: Int
    var waiter: Waiter
    var needsNew: Bool
    var deadline: NIODeadline
  }

  private(set) var limits: Limits
  /// The idle connections; those that were idle longest come first.
  private var idle: [Connection] = []
  /// Number of places that are taken.
  private(set) var connections = 0
  /// The waiting requests by their tickets, which are in order. A request that leaves makes a gap.
  private var queue: [Int: Entry] = [:]
  private var firstTicket = 0
  private var nextTicket = 0
  /// Number of requests that have waited again after they had a connection, and the tickets of those that wait.
  private var repeats = 0
  private var repeated: [Int: Int] = [:]
  private var isTimerSet = false

  init(_ limits: Limits) { self.limits = limits }

  var waiting: Int { queue.count }

  private var hasRoom: Bool { limits.connections.map { connections < $0 } ?? true }

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
  ///   - prefers: whether an idle connection is a better choice than one that was used later.
  ///   - waiter: made if the request must wait.
  mutating func request(
    needsNew: Bool = false, isAgain: Bool = false, at now: NIODeadline,
    prefers: (Connection) -> Bool = { _ in false }, waiter: () -> Waiter
  ) -> Admission {
    var admission = Admission(decision: .refuse)
    // While connections are idle, only requests wait that need a new one.
    while !needsNew, !idle.isEmpty {
      let connection = idle.remove(at: idle.lastIndex(where: prefers) ?? idle.endIndex - 1)
      if connection.isUsable(at: now) {
        admission.decision = .grant(.reuse(connection))
        return admission
      }
      admission.closing.append(connection)
    }
    if queue.isEmpty || isAgain {
      if hasRoom {
        connections += 1
        admission.decision = .grant(.connect)
        return admission
      }
      // The idle one gives its place.
      if needsNew, !idle.isEmpty { admission.closing.append(idle.removeFirst()) }
    }
    guard isAgain || queue.count < limits.queue else { return admission }
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
    queue[ticket] = Entry(id: id, waiter: waiter(), needsNew: needsNew, deadline: deadline)
    admission.decision = .wait(ticket: id)
    if !isTimerSet { admission.timer = deadline }
    isTimerSet = true
    return admission
  }

  /// Takes a place without waiting for one.
  mutating func takePlace() -> Bool {
    guard queue.isEmpty, hasRoom else { return false }
    connections += 1
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

  /// Removes all idle connections.
  mutating func removeIdle() -> [Connection] {
    defer { idle = [] }
    return idle
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

  // MARK: - Connections

  /// Records that a connection can serve another request.
  ///
  /// - Returns: the request that gets it, and connections to close.
  mutating func returned(_ connection: Connection, at now: NIODeadline) -> (Waiter?, closing: [Connection]) {
    if let limit = limits.connections, connections > limit { return (nil, [connection]) }
    if let first {
      // Its place is free when it is closed.
      if first.needsNew || !connection.isUsable(at: now) { return (nil, [connection]) }
      removeFirst()
      return (first.waiter, [])
    }
    var closing: [Connection] = []
    let usable = idle.firstIndex { $0.isUsable(at: now) } ?? idle.endIndex
    if usable > 0 {
      closing += idle[..<usable]
      idle.removeFirst(usable)
    }
    if idle.count >= limits.idle { closing.append(connection) } else { idle.append(connection) }
    return (nil, closing)
  }

  /// Removes a connection that was closed while it was idle. Its place is released by ``ended()``.
  ///
  /// - Returns: the connection, to be released outside a lock.
  mutating func forget(_ isClosed: (Connection) -> Bool) -> Connection? {
    idle.firstIndex(where: isClosed).map { idle.remove(at: $0) }
  }

  /// Records that a connection is closed, or could not be made.
  ///
  /// - Returns: the request that may make a connection now.
  mutating func ended() -> Waiter? {
    connections -= 1
    return grantNext()
  }

  private mutating func grantNext() -> Waiter? {
    guard hasRoom, let first else { return nil }
    removeFirst()
    connections += 1
    return first.waiter
  }

  // MARK: - Settings

  /// - Returns: the requests that may make a connection now.
  mutating func update(_ limits: Limits) -> [Waiter] {
    self.limits = limits
    var granted: [Waiter] = []
    while let waiter = grantNext() { granted.append(waiter) }
    return granted
  }
}
