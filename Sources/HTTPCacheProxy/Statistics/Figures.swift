// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheObserving
import HTTPCaching

/// The counters of a site, or of several, at one moment, or their differences between two moments.
struct Figures: Sendable {
  private var requests: [Int]
  private var contentBytes: [Int]
  var latency: [Int]
  var originLatency: [Int]
  var originRequests: Int
  var originErrors: Int
  var stored: Int
  private var refusals: [CacheEngine.Reason: Int]

  /// Nothing counted.
  init() {
    requests = Array(repeating: 0, count: ResponseTable.count)
    contentBytes = requests
    latency = Array(repeating: 0, count: LatencyHistogram.bounds.count + 1)
    originLatency = latency
    (originRequests, originErrors, stored, refusals) = (0, 0, 0, [:])
  }

  init(_ statistics: SiteStatistics) {
    requests = statistics.responses.requests
    contentBytes = statistics.responses.contentBytes
    latency = statistics.latency.snapshot.counts
    originLatency = statistics.originLatency.snapshot.counts
    originRequests = statistics.originRequests.value
    originErrors = statistics.originErrors.value
    stored = statistics.storage.stored.value
    refusals = statistics.storage.notStored
  }

  static func - (later: Figures, earlier: Figures) -> Figures { later.with(earlier, -) }
  static func + (figures: Figures, others: Figures) -> Figures { figures.with(others, +) }

  private func with(_ other: Figures, _ combine: (Int, Int) -> Int) -> Figures {
    func both(_ of: KeyPath<Figures, [Int]>) -> [Int] {
      zip(self[keyPath: of], other[keyPath: of]).map(combine)
    }
    var figures = self
    figures.requests = both(\.requests)
    figures.contentBytes = both(\.contentBytes)
    figures.latency = both(\.latency)
    figures.originLatency = both(\.originLatency)
    figures.originRequests = combine(originRequests, other.originRequests)
    figures.originErrors = combine(originErrors, other.originErrors)
    figures.stored = combine(stored, other.stored)
    for reason in Set(refusals.keys).union(other.refusals.keys) {
      figures.refusals[reason] = combine(refusals[reason, default: 0], other.refusals[reason, default: 0])
    }
    return figures
  }

  /// Bytes of content sent to clients.
  var sentBytes: Int { contentBytes.reduce(0, +) }

  func requests(_ outcome: RequestOutcome, statusClass: Int) -> Int {
    requests[ResponseTable.index(outcome, statusClass)]
  }

  func requests(_ outcome: RequestOutcome) -> Int {
    ResponseTable.classes.reduce(0) { $0 + requests(outcome, statusClass: $1) }
  }

  func contentBytes(_ outcome: RequestOutcome) -> Int {
    ResponseTable.classes.reduce(0) { $0 + contentBytes[ResponseTable.index(outcome, $1)] }
  }

  /// Responses that were not stored, by the name of the reason, in the order of the names.
  var notStored: [(reason: String, count: Int)] {
    refusals.filter { $0.value > 0 }.map { ($0.key.rawValue, $0.value) }.sorted { $0.0 < $1.0 }
  }

  /// A share of the requests that reached the cache: refused requests never reach it.
  struct Share {
    var requests: Double?
    var contentBytes: Double?
  }

  /// Returns the share of some outcomes. The hit ratio is the share of `.hit` and `.stale`: responses without the
  /// origin. Validated responses cost the origin a request each, and have their own share.
  func share(of outcomes: [RequestOutcome]) -> Share {
    let asked = RequestOutcome.allCases.filter { $0 != .refused }
    func ratio(_ count: (RequestOutcome) -> Int) -> Double? {
      let all = asked.reduce(0) { $0 + count($1) }
      return all == 0 ? nil : Double(outcomes.reduce(0) { $0 + count($1) }) / Double(all)
    }
    return Share(requests: ratio { requests($0) }, contentBytes: ratio { contentBytes($0) })
  }
}

/// The figures of the last minute, from readings of the counters every few seconds. Counting itself costs nothing more.
final class RecentFigures: Sendable {
  /// Seconds between two readings of the counters.
  static let interval: Int64 = 5
  static let span: Int64 = 60

  private let history: Mutex<[(time: Timestamp, figures: Figures)]>
  private let clock: any CacheClock

  /// - Parameter figures: the first reading.
  init(_ figures: Figures, clock: any CacheClock = SystemCacheClock.shared) {
    self.clock = clock
    history = Mutex([(clock.now, figures)])
  }

  /// Records the current counters; called every ``interval`` seconds.
  func note(_ figures: Figures) {
    let now = clock.now
    history.withLock { history in
      history.append((now, figures))
      // Keep one reading that is a minute old, or older.
      while history.count > 1, history[1].time.advanced(bySeconds: Self.span) <= now { history.removeFirst() }
    }
  }

  /// Returns the counts of the last minute, and the number of seconds that they cover.
  func last(_ figures: Figures) -> (figures: Figures, seconds: Int64) {
    let now = clock.now
    let start = history.withLock { history in
      history.last { $0.time.advanced(bySeconds: Self.span) <= now } ?? history[0]
    }
    return (figures - start.figures, now.millisecondsSince(start.time) / 1000)
  }
}
