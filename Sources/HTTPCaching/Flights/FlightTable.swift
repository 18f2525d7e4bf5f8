// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import Synchronization

/// What requests must have in common to share a fetch.
struct FetchKey: Hashable, Sendable {
  let key: CacheKey
  /// The variants that the request selects, one for each list of names that `Vary` is known to nominate: a response to a
  /// request for another variant would be of no use.
  var variants: [VariantID] = []
}

/// The flights that other requests may join, by what these must have in common: see ``Flight``.
package final class FlightTable: Sendable {
  private let flights = Monitor<[FetchKey: Flight]>([:])
  private let clock: any CacheClock
  private let patience: Duration
  /// Which of the last responses could be shared.
  let memory: SharingMemory
  /// The keys of the fetches that ended last, as hashes, each at the index of its number.
  private let ended = Mutex([Int](repeating: 0, count: 64))
  private let endings = Atomic<Int>(0)

  /// - Parameter patience: maximum time that a request waits for another.
  init(clock: any CacheClock, patience: Duration = .seconds(5)) {
    self.clock = clock
    self.patience = patience
    memory = SharingMemory(clock: clock)
  }

  /// Joins the fetch for a key, or makes a new one that the caller leads.
  ///
  /// A fetch that began before an invalidation continues for the callers that have joined it. The next request starts a
  /// new one.
  ///
  /// - Parameters:
  ///   - token: the present moment, for a new fetch.
  ///   - isOutdated: whether the key may have been removed since a fetch began.
  func join(
    _ key: FetchKey, at token: RemovalToken? = nil, isOutdated: (RemovalToken) -> Bool = { _ in false }
  ) -> (claim: Flight.Claim, isLeader: Bool) {
    flights.withLock { flights in
      if let flight = flights[key], flight.start.map(isOutdated) != true, let claim = flight.claim() {
        return (claim, false)
      }
      let claim = Flight.make(for: key, at: token, on: clock, patience: patience)
      flights[key] = claim.flight
      return (claim, true)
    }
  }

  /// Starts a fetch that no caller waits for; returns `nil` if the key already has one that began after its last
  /// invalidation.
  func startInBackground(
    _ key: FetchKey, at token: RemovalToken, isOutdated: (RemovalToken) -> Bool = { _ in false }
  ) -> Flight.Claim? {
    flights.withLock { flights in
      if let flight = flights[key], !flight.isAbandoned, flight.start.map(isOutdated) != true { return nil }
      let claim = Flight.make(for: key, hasLeader: false, at: token, on: clock, patience: patience)
      flights[key] = claim.flight
      return claim
    }
  }

  /// Lets no further requests join: the next request for the key starts a new fetch.
  func close(_ flight: Flight) {
    guard let key = flight.key else { return }
    flights.withLock { flights in
      guard let index = flights.index(forKey: key), flights[index].value === flight else { return }
      flights.remove(at: index)
      ended.withLock { ended in
        let number = endings.load(ordering: .relaxed)
        ended[number % ended.count] = key.hashValue
        endings.store(number + 1, ordering: .releasing)
      }
    }
  }

  /// The number of fetches that have ended: a moment to record before the store is looked up.
  var endCount: Int {
    @inline(__always) get { endings.load(ordering: .acquiring) }
  }

  /// Whether a fetch for a key may have ended since a moment.
  ///
  /// The response of a fetch is stored before the fetch ends. A request that found neither a stored response nor a
  /// fetch may have looked up the store before that, so it looks again. If more fetches have ended than the table
  /// records, any of them may have been for the key.
  func mayHaveEnded(_ key: FetchKey, since endCount: Int) -> Bool {
    guard self.endCount != endCount else { return false }
    return ended.withLock { ended in
      let newer = endings.load(ordering: .relaxed) - endCount
      if newer > ended.count { return true }
      let hash = key.hashValue
      return (endCount..<endCount + newer).contains { ended[$0 % ended.count] == hash }
    }
  }

  /// Calls `body` with each fetch in flight.
  func each(_ body: (Flight) -> Void) { flights.withLock { $0.values.forEach(body) } }

  /// The number of fetches in flight.
  var count: Int { flights.withLock { $0.count } }

  /// The number of requests that are coalesced with another.
  package var followerCount: Int { flights.withLock { Self.followers($0) } }

  private static func followers(_ flights: [FetchKey: Flight]) -> Int {
    flights.values.reduce(0) { $0 + $1.followerCount }
  }

  // MARK: - Waiting, for tests

  /// Returns when no fetch is in flight.
  package func emptied() async throws { try await flights.wait { $0.isEmpty } }

  /// Returns when this many requests are coalesced with another.
  package func followers(_ count: Int) async throws {
    try await flights.wait { Self.followers($0) >= count }
  }
}
