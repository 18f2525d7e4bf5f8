// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import HTTPCacheStore

/// Keys in the order of their requests.
///
/// Each key has its own memory, one after the other, like the keys of requests that have just arrived. Reading them
/// costs little and is the same for every cache. The measurement covers the way from there to the entry.
struct Arrivals: Sendable {
  let keys: [StoreKey]
  /// 0, 1, … for the measured loop.
  let positions: [UInt32]

  init(_ numbers: ArraySlice<UInt32>) {
    keys = numbers.map { Keys.key(Int($0)) }
    positions = Array(0..<UInt32(numbers.count))
  }
}

/// A cache with a workload, which keeps its entries from round to round.
struct Lane: Sendable {
  var name: Contender
  var action: Action
  /// Called once before the measurement. Returns the hit ratio, if it is counted there.
  var prepare: @Sendable () throws -> Double? = { nil }
  /// Called before each run over a sequence of keys.
  var begin: @Sendable ([Arrivals]) -> Void = { _ in }
  /// The operation of a thread, on the position of a key in its arrivals.
  var operation: @Sendable (Arrivals) -> Operation

  /// - Parameter arrivals: keys for each thread. A round continues where the previous round ended.
  func entrant(over arrivals: [Arrivals], hitRatio: Double? = nil) -> Contest.Entrant {
    begin(arrivals)
    let track = Track(arrivals.map { (positions: $0.positions, operation: operation($0)) })
    return Contest.Entrant(name, action, track, figures: hitRatio.map { [.hitRatio: $0] } ?? [:])
  }
}

// Generic, instead of over `any KeyedCache`, so that the compiler makes a separate loop for each cache.
extension Lane {
  /// Makes lookups that leave the bodies untouched, or read a byte of each; the cache is filled first.
  static func get(
    _ name: Contender, _ cache: some KeyedCache, _ filling: [(key: StoreKey, body: [UInt8])], readsBody: Bool,
    valueSize: Int
  ) -> Lane {
    // No byte is greater, but the compiler does not know that, and so does not remove the reading.
    let most = UInt8(clamping: 255 + valueSize)
    return Lane(name: name, action: readsBody ? .getAndRead : .getByKey) {
      for (key, body) in filling where !cache.put(key, body) {
        throw BenchError.unprepared("\(name.rawValue) refused an entry")
      }
      return nil
    } operation: { arrivals in
      let read: Operation = { cache.bodyByte(of: arrivals.keys[$0]).map { $0 <= most } ?? false }
      let find: Operation = { cache.bodyCount(of: arrivals.keys[$0]) == valueSize }
      return readsBody ? read : find
    }
  }

  /// The number of `mixed` operations of which the last is a store.
  static let mixedPeriod = 10

  /// - Parameters:
  ///   - warming: the first requests, so that the cache is full of the entries it keeps.
  ///   - counting: the next requests, which count the hits.
  static func mixed(
    _ name: Contender, _ cache: some KeyedCache, warming: [Arrivals], counting: Arrivals, _ bodies: Bodies
  ) -> Lane {
    @Sendable func isStore(_ position: Int) -> Bool { position % mixedPeriod == mixedPeriod - 1 }
    @Sendable func step(_ position: Int, _ arrivals: Arrivals) -> Bool {
      let key = arrivals.keys[position]
      if !isStore(position), cache.bodyCount(of: key) != nil { return true }
      _ = cache.put(key, bodies.fresh())
      return false
    }
    return Lane(name: name, action: .mixed) {
      for some in warming {
        for position in some.keys.indices { _ = step(position, some) }
      }
      let hits = counting.keys.indices.count { step($0, counting) }
      let lookups = counting.keys.indices.count { !isStore($0) }
      return lookups > 0 ? Double(hits) / Double(lookups) : nil
    } operation: { arrivals in
      { step($0, arrivals) }
    }
  }

  static func churn(_ name: Contender, _ cache: some KeyedCache, capacity: Int, _ bodies: Bodies) -> Lane {
    @Sendable func begin(_ arrivals: [Arrivals]) {
      // The last keys of each thread, which are stored again only after all others.
      for some in arrivals {
        for key in some.keys.suffix(capacity / arrivals.count + 1) { _ = cache.put(key, bodies.fresh()) }
      }
    }
    return Lane(name: name, action: .churn, begin: begin) { arrivals in
      { cache.put(arrivals.keys[$0], bodies.fresh()) }
    }
  }
}
