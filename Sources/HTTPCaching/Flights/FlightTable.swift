import HTTPCacheEngine
import HTTPCacheStore
import Synchronization

/// The requests under way that others may share, by cache key.
final class FlightTable: Sendable {
  private let flights = Mutex<[CacheKey: Flight]>([:])
  /// Of which keys the latest ended, by their hashes, each in the place of its number.
  private let ended = Mutex([Int](repeating: 0, count: 64))
  private let endings = Atomic<Int>(0)

  /// The flight under way for a key, or a new one of which the caller is the leader.
  ///
  /// Who comes after an invalidation does not get what the origin was asked for before it: the flight goes on for those
  /// who have joined it, and the next request is a new one.
  ///
  /// - Parameters:
  ///   - token: the present moment, for a new one.
  ///   - isOutdated: whether the key may have been removed since a flight began.
  func join(
    _ key: CacheKey, at token: RemovalToken? = nil, isOutdated: (RemovalToken) -> Bool = { _ in false }
  ) -> (flight: Flight, isLeader: Bool) {
    flights.withLock { flights in
      if let flight = flights[key], !flight.isAbandoned, flight.start.map(isOutdated) != true {
        return (flight, false)
      }
      let flight = Flight(at: token)
      flights[key] = flight
      return (flight, true)
    }
  }

  /// A flight that nobody waits for; `nil` if there is one for the key already that began after its last invalidation.
  func startBehind(
    _ key: CacheKey, at token: RemovalToken, isOutdated: (RemovalToken) -> Bool = { _ in false }
  ) -> Flight? {
    flights.withLock { flights in
      if let flight = flights[key], !flight.isAbandoned, flight.start.map(isOutdated) != true { return nil }
      let flight = Flight(isPinned: true, at: token)
      flights[key] = flight
      return flight
    }
  }

  /// Lets nobody join any more: the next request for the key is a new one.
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

  /// How many have ended: a moment to be taken before the store is asked.
  var endCount: Int {
    @inline(__always) get { endings.load(ordering: .acquiring) }
  }

  /// Whether one of a key may have ended since a moment.
  ///
  /// What a flight brings is stored before it ends. Who found nothing stored, and then no flight to join, may have asked the
  /// store before that, and asks again. When more have ended than are remembered, one of them may be of the key.
  func mayHaveEnded(_ key: CacheKey, since endCount: Int) -> Bool {
    guard self.endCount != endCount else { return false }
    return ended.withLock { ended in
      let newer = endings.load(ordering: .relaxed) - endCount
      if newer > ended.count { return true }
      let hash = key.hashValue
      return (endCount..<endCount + newer).contains { ended[$0 % ended.count] == hash }
    }
  }

  /// How many there are.
  var count: Int { flights.withLock { $0.count } }

  /// How many requests wait for another's.
  var followerCount: Int { flights.withLock { $0.values.reduce(0) { $0 + $1.followerCount } } }
}
