// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import Synchronization

/// The times of responses that earlier processes stored, in the time of this process.
///
/// The time of a process is monotonic, and begins at the wall clock's (``CacheClock/now``). So the times of two processes
/// differ if the wall clock was wrong when one of them began. Only the wall clock compares them. An entry has both times:
/// its response has that of the process, and ``StoredEntry/storedAt`` is the wall clock's. The earlier of the two counts.
///
/// If the wall clock goes forward in this process, it was behind before: what earlier processes stored is older than it
/// seemed. If it goes back later, it remains unknown which of the two was wrong. Nothing may become fresh again, so the
/// greatest lead counts. What seems stored in the future is validated once. Then it has the time of this process.
final class EarlierTimes: Sendable {
  /// The number of the first insert or update of this process: entries with a lower revision are earlier.
  private let first: UInt64
  /// When this cache was opened.
  private let start: Timestamp
  private let clock: any CacheClock
  /// The greatest lead of the wall clock that was seen, in milliseconds.
  private let greatestLead = Atomic<Int64>(0)

  init(_ store: CacheStore, clock: any CacheClock) {
    first = store.firstNumber
    self.clock = clock
    start = clock.now
  }

  /// Whether an earlier process wrote an entry.
  @inline(__always)
  private func isEarlier(_ entry: StoredEntry) -> Bool { entry.revision < first }

  private var lead: Int64 {
    let lead = clock.wallTime.millisecondsSince(clock.now)
    return Swift.max(lead, greatestLead.max(lead, ordering: .relaxed).oldValue)
  }

  /// Returns the time of a response in the time of this process; the greatest time if it seems stored in the future.
  private func converted(_ time: Timestamp, in entry: StoredEntry) -> Timestamp {
    let ahead = Swift.max(0, time.millisecondsSince(Timestamp(milliseconds: entry.storedAt)))
    let converted = time.advanced(byMilliseconds: -ahead).advanced(byMilliseconds: -lead)
    return converted > start ? Timestamp(milliseconds: .max) : converted
  }

  /// Returns the present time for a decision about the response of an entry, whose own time is not converted; `nil` if the
  /// entry must be decoded for that.
  @inline(__always)
  func now(for entry: StoredEntry) -> Timestamp? {
    isEarlier(entry) ? now(forEarlier: entry) : clock.now
  }

  private func now(forEarlier entry: StoredEntry) -> Timestamp? {
    var time: Timestamp?
    entry.withMetadata { time = StoredResponse.responseTime(in: $0) }
    guard let time else { return nil }
    let converted = converted(time, in: entry)
    guard converted <= time else { return nil }
    return clock.now.advanced(byMilliseconds: time.millisecondsSince(converted))
  }

  /// Converts the times of stored responses to the time of this process.
  func convert(_ lookup: inout Lookup) {
    for (index, entry) in lookup.entries.enumerated() where isEarlier(entry) {
      lookup.responses[index].facts.responseTime = converted(
        lookup.responses[index].facts.responseTime, in: entry)
    }
  }
}
