// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import Synchronization

/// The requests in flight that others may share, by cache key.
final class FlightTable: Sendable {
  private let flights = Mutex<[CacheKey: Flight]>([:])
  /// Of which keys the latest ended, by their hashes, each in the place of its number.
  private let ended = Mutex([Int](repeating: 0, count: 64))
  private let endings = Atomic<Int>(0)

  /// The flight for a key, or a new one that the caller leads.
  ///
  /// A flight that began before an invalidation goes on for those that have joined it. The next request is a new one.
  ///
  /// - Parameters:
  ///   - token: the present moment, for a new flight.
  ///   - isOutdated: whether the key may have been removed since a flight began.
  func join(
    _ key: CacheKey, at token: RemovalToken? = nil, isOutdated: (RemovalToken) -> Bool = { _ in false }
  ) -> (claim: Flight.Claim, isLeader: Bool) {
    flights.withLock { flights in
      if let flight = flights[key], flight.start.map(isOutdated) != true, let claim = flight.claim() {
        return (claim, false)
      }
      let claim = Flight.make(at: token)
      flights[key] = claim.flight
      return (claim, true)
    }
  }

  /// A flight that no caller waits for; `nil` if the key has one already that began after its last invalidation.
  func startInBackground(
    _ key: CacheKey, at token: RemovalToken, isOutdated: (RemovalToken) -> Bool = { _ in false }
  ) -> Flight.Claim? {
    flights.withLock { flights in
      if let flight = flights[key], !flight.isAbandoned, flight.start.map(isOutdated) != true { return nil }
      let claim = Flight.make(hasLeader: false, at: token)
      flights[key] = claim.flight
      return claim
    }
  }

  /// Ends the joining: the next request for the key is a new one.
  func close(_ flight: Flight, for key: CacheKey) {
    flights.withLock { flights in
      if flights[key] === flight {
        flights[key] = nil
        ended.withLock { ended in
          let number = endings.load(ordering: .relaxed)
          ended[number % ended.count] = key.hashValue
          endings.store(number + 1, ordering: .releasing)
        }
      }
    }
  }

  /// How many flights have ended: a moment to be taken before the store is looked up.
  var endCount: Int {
    @inline(__always) get { endings.load(ordering: .acquiring) }
  }

  /// Whether a flight for a key may have ended since a moment.
  ///
  /// What a flight brings is stored before it ends. A request that found nothing stored, and then no flight to join, may
  /// have looked up the store before that, and looks again. When more flights have ended than are remembered, one of them
  /// may have been for the key.
  func mayHaveEnded(_ key: CacheKey, since endCount: Int) -> Bool {
    guard self.endCount != endCount else { return false }
    return ended.withLock { ended in
      let newer = endings.load(ordering: .relaxed) - endCount
      if newer > ended.count { return true }
      let hash = key.hashValue
      return (endCount..<endCount + newer).contains { ended[$0 % ended.count] == hash }
    }
  }

  /// Those in flight now.
  func each(_ body: (Flight) -> Void) { flights.withLock { $0.values.forEach(body) } }

  /// How many there are.
  var count: Int { flights.withLock { $0.count } }

  /// How many requests share another's.
  var followerCount: Int { flights.withLock { $0.values.reduce(0) { $0 + $1.followerCount } } }
}
