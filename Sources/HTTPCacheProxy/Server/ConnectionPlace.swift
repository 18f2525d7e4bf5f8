// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore
import Synchronization

/// What a ``ConnectionTable`` needs of a connection, on the connection's event loop.
protocol TabledConnection: AnyObject {
  /// Whether no request is in progress.
  var isIdle: Bool { get }
  /// Its place, which it loses to another while it is idle.
  var place: ConnectionPlace? { get set }
  /// Ends the connection after its request in flight.
  ///
  /// - Parameter isPatient: whether a connection without a request may still get one, which is its last.
  func drain(isPatient: Bool)
}

/// The place of a connection among those of its port: it knows since when the connection is idle.
///
/// The event loop of the connection writes it for each request, without a lock. The table reads it only when a connection
/// must make room for another.
final class ConnectionPlace: Sendable {
  let channel: any Channel
  let connection: NIOLoopBound<any TabledConnection>
  private let table: ConnectionTable
  /// When it was opened, in nanoseconds: since then it is idle, until its first request.
  let opened: UInt64
  /// Since when the connection is idle, in nanoseconds; otherwise ``busy`` or ``parked``.
  private let state: Atomic<UInt64>
  /// A request is in progress.
  private static let busy: UInt64 = 0
  /// A request is in progress, and the table does not look at the connection until it is idle.
  private static let parked: UInt64 = 1

  init(_ channel: any Channel, _ connection: any TabledConnection, in table: ConnectionTable) {
    self.channel = channel
    self.connection = NIOLoopBound(connection, eventLoop: channel.eventLoop)
    self.table = table
    opened = Self.idle(since: channel.eventLoop.now)
    state = Atomic(opened)
  }

  private static func idle(since time: NIODeadline) -> UInt64 { Swift.max(time.uptimeNanoseconds, 2) }

  // MARK: - The connection's calls

  /// Records that a request has begun to arrive.
  func began() {
    if state.load(ordering: .relaxed) > Self.parked { state.store(Self.busy, ordering: .relaxed) }
  }

  /// Records that no request is in progress.
  func becameIdle(at now: NIODeadline) {
    // The table may park a busy connection at any time.
    if state.exchange(Self.idle(since: now), ordering: .acquiringAndReleasing) == Self.parked {
      table.becameIdle(self)
    }
  }

  /// Counts the connection for the address of its client.
  ///
  /// - Returns: whether the client may have the connection.
  func belongs(to client: IPAddress) -> Bool { table.admit(self, of: client) }

  // MARK: - The table's calls

  /// Since when the connection is idle; `nil` if a request is in progress.
  var idleSince: UInt64? {
    let state = state.load(ordering: .acquiring)
    return state > Self.parked ? state : nil
  }

  /// Takes the connection out of the order of idle ones, unless it is idle.
  func park() -> Bool {
    state.compareExchange(
      expected: Self.busy, desired: Self.parked, successOrdering: .acquiringAndReleasing,
      failureOrdering: .acquiring
    ).exchanged
  }

  /// Lets a connection that was chosen to make room be idle since then again. Call it on its event loop.
  func unclaim(idleSince: UInt64) { state.store(idleSince, ordering: .releasing) }

  /// Chooses the connection to make room, if it has been idle since that time.
  func claim(idleSince: UInt64) -> Bool {
    state.compareExchange(
      expected: idleSince, desired: Self.parked, successOrdering: .acquiringAndReleasing,
      failureOrdering: .acquiring
    ).exchanged
  }
}

/// Finds the connection that is idle longest.
///
/// Each connection that is idle is here, and each that has become busy since the last search: a request changes nothing
/// here. A search sorts the idle connections once, and takes the first ones until none is left of them that is still idle
/// since that time. Connections that become idle meanwhile come after all of these. Busy ones leave, until they are idle
/// again. So each step of a search is paid for by a connection or a request.
struct IdleOrder {
  private var places: [ObjectIdentifier: ConnectionPlace] = [:]
  /// Of the last search, those that were idle longest at the end. Many are closed before they are taken, so this keeps
  /// none of them.
  private var sorted: [(since: UInt64, id: ObjectIdentifier)] = []

  mutating func insert(_ place: ConnectionPlace) { places[ObjectIdentifier(place)] = place }
  mutating func remove(_ place: ConnectionPlace) { places[ObjectIdentifier(place)] = nil }

  /// Takes out the connection that is idle longest; it counts as busy, and parked, from then on.
  mutating func takeOldest() -> (since: UInt64, place: ConnectionPlace)? {
    while true {
      while let (since, id) = sorted.popLast() {
        // It may be closed already.
        guard let place = places[id], place.claim(idleSince: since) else { continue }
        remove(place)
        return (since, place)
      }
      for place in Array(places.values) {
        if let since = place.idleSince {
          sorted.append((since, ObjectIdentifier(place)))
        } else if place.park() {
          remove(place)
        }
      }
      if sorted.isEmpty { return nil }
      sorted.sort { $0.since > $1.since }
    }
  }
}
