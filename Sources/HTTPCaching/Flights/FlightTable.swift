import HTTPCacheEngine
import Synchronization

/// The requests under way that others may share, by cache key.
final class FlightTable: Sendable {
  private let flights = Mutex<[CacheKey: Flight]>([:])
  private let endings = Atomic<Int>(0)

  /// The flight under way for a key, or a new one of which the caller is the leader.
  func join(_ key: CacheKey) -> (flight: Flight, isLeader: Bool) {
    flights.withLock { flights in
      if let flight = flights[key], !flight.isAbandoned { return (flight, false) }
      let flight = Flight()
      flights[key] = flight
      return (flight, true)
    }
  }

  /// A flight that nobody waits for; `nil` if there is one for the key already.
  func startBehind(_ key: CacheKey) -> Flight? {
    flights.withLock { flights in
      if let flight = flights[key], !flight.isAbandoned { return nil }
      let flight = Flight(isPinned: true)
      flights[key] = flight
      return flight
    }
  }

  /// Lets nobody join any more: the next request for the key is a new one.
  func close(_ flight: Flight, for key: CacheKey) {
    flights.withLock { flights in
      if flights[key] === flight {
        flights[key] = nil
        endings.wrappingAdd(1, ordering: .releasing)
      }
    }
  }

  /// How many have ended.
  ///
  /// What one of them brings is stored before it ends. Who found nothing stored, and then no flight to join, may have looked
  /// at the store before that: it looks again, if this is another number than before the first look.
  var endCount: Int {
    @inline(__always) get { endings.load(ordering: .acquiring) }
  }

  /// How many there are.
  var count: Int { flights.withLock { $0.count } }

  /// How many requests wait for another's.
  var followerCount: Int { flights.withLock { $0.values.reduce(0) { $0 + $1.followerCount } } }
}
