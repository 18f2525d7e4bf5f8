// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness

/// Belady's algorithm with sizes: evicts the entry with the greatest size × distance to its next request.
///
/// It knows the future of the trace, so no cache can do the same. With entries of one size and at most ``sampleSize`` entries,
/// it has the most hits possible. In a larger cache it chooses among random entries, as libCacheSim does with 128.
final class BeladySize: ReplayedCache {
  private static let sampleSize = 1024

  private struct Entry {
    var key: Int
    var bytes: Int
    /// The number of the next request.
    var next: Int
  }

  private let capacity: Int
  private var bytes = 0
  private var entries: [Entry] = []
  private var places: [Int: Int] = [:]
  /// The number of the next request for the same key, for each request; `nil` after the last.
  private let nextRequests: [Int?]
  private var request = 0
  private var random = SplitMix64(seed: 1)

  /// - Parameter keys: the keys of all requests, in order.
  init(capacity: Int, keys: [Int]) {
    self.capacity = capacity
    var seen: [Int: Int] = [:]
    nextRequests = keys.indices.reversed().map { seen.updateValue($0, forKey: keys[$0]) }.reversed()
  }

  func access(_ key: Int, bytes newBytes: Int) -> Bool {
    defer { request += 1 }
    let next = nextRequests[request]
    if let place = places[key] {
      if let next { entries[place].next = next } else { remove(place) }
      return true
    }
    // An entry without another request is not worth any bytes.
    guard let next, newBytes <= capacity else { return false }
    places[key] = entries.count
    entries.append(Entry(key: key, bytes: newBytes, next: next))
    bytes += newBytes
    // The new entry may be the one to evict.
    while bytes > capacity { remove(victim()) }
    return false
  }

  private func victim() -> Int {
    let isSampled = entries.count > Self.sampleSize
    var victim = 0
    var greatest = -1
    for number in 0..<min(entries.count, Self.sampleSize) {
      let place = isSampled ? Int.random(in: 0..<entries.count, using: &random) : number
      let product = max(1, entries[place].bytes) * (entries[place].next - request)
      if product > greatest { (victim, greatest) = (place, product) }
    }
    return victim
  }

  private func remove(_ place: Int) {
    let last = entries.removeLast()
    let removed = place < entries.count ? entries[place] : last
    bytes -= removed.bytes
    places[removed.key] = nil
    guard place < entries.count else { return }
    entries[place] = last
    places[last.key] = place
  }
}
