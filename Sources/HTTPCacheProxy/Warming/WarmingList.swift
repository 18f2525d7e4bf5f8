// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes
import NIOCore

/// The requests that fill the cache before clients ask: which is sent when, and what has become of them.
///
/// It has no connections and no clock; ``Warmer`` sends the requests.
struct WarmingList {
  /// A URL to request with GET.
  struct Target: Hashable, Sendable {
    var url: String
    /// The fields of the request, by which an origin may select a variant.
    var fields = HTTPFields()
  }

  /// What has become of a request.
  enum Result: Hashable, Sendable {
    /// The response is stored now, or was validated.
    case stored
    /// A stored response answered it.
    case fresh
    /// The origin's response is not stored.
    ///
    /// - Parameter reason: why, for people.
    case notStored(reason: String)
    /// There was no response, or one that reports an error.
    case failed(reason: String)
  }

  /// A URL whose response is not in the cache, and why.
  struct Problem: Hashable, Sendable {
    var url: String
    var reason: String
  }

  /// The counts since the list was last empty.
  struct Progress: Hashable, Sendable {
    var waiting = 0
    var running = 0
    var stored = 0
    var fresh = 0
    var notStored = 0
    var failed = 0
    /// Requests that were given up before they were sent.
    var dropped = 0
    /// The first problems.
    var problems: [Problem] = []

    var isOver: Bool { waiting == 0 && running == 0 }
    var all: Int { waiting + running + stored + fresh + notStored + failed + dropped }
  }

  enum Step: Hashable {
    /// Send it, and look for the next step at once.
    case start(Target)
    /// Look for the next step at this time.
    case wait(NIODeadline)
    /// The next step follows another event.
    case nothing
  }

  /// Maximum requests that wait: some tens of megabytes, and hours at the usual rate.
  static let capacity = 100_000
  /// Maximum requests at once: an origin that answers slowly gets fewer of them.
  static let concurrency = 16
  /// Requests per second, and what may be asked for.
  static let (usualRate, rates) = (10.0, 0.1...1000.0)
  /// Maximum problems that are kept.
  static let problemLimit = 100

  private var waiting = CircularBuffer<Target>()
  private(set) var progress = Progress()
  private var rate = WarmingList.usualRate
  /// When the next request may be sent.
  private var next = NIODeadline.uptimeNanoseconds(0)
  private var isTimerSet = false

  /// The number of requests that can still be added.
  var room: Int { Self.capacity - waiting.count }

  /// Adds requests at the end.
  ///
  /// - Parameter rate: requests per second, for the whole list.
  /// - Returns: whether there is room for all of them; if not, none is added.
  mutating func add(_ targets: [Target], rate: Double, at now: NIODeadline) -> Bool {
    guard targets.count <= room else { return false }
    if progress.isOver { (progress, next) = (Progress(), now) }
    self.rate = rate
    waiting.append(contentsOf: targets)
    progress.waiting = waiting.count
    return true
  }

  mutating func step(at now: NIODeadline) -> Step {
    guard !waiting.isEmpty, progress.running < Self.concurrency else { return .nothing }
    guard next <= now else {
      if isTimerSet { return .nothing }
      isTimerSet = true
      return .wait(next)
    }
    let interval = TimeAmount.nanoseconds(Int64(1e9 / rate))
    // A timer that fires late costs no request, and a pause gathers none.
    next = Swift.max(next + interval, now)
    progress.running += 1
    progress.waiting -= 1
    return .start(waiting.removeFirst())
  }

  mutating func timerFired() { isTimerSet = false }

  /// Records the end of a request.
  ///
  /// - Returns: the counts, if it was the last.
  mutating func ended(_ target: Target, _ result: Result) -> Progress? {
    progress.running -= 1
    switch result {
    case .stored: progress.stored += 1
    case .fresh: progress.fresh += 1
    case .notStored(let reason):
      progress.notStored += 1
      add(Problem(url: target.url, reason: "not stored: \(reason)"))
    case .failed(let reason):
      progress.failed += 1
      add(Problem(url: target.url, reason: reason))
    }
    return progress.isOver ? progress : nil
  }

  private mutating func add(_ problem: Problem) {
    if progress.problems.count < Self.problemLimit { progress.problems.append(problem) }
  }

  /// Gives up the requests that wait.
  ///
  /// - Returns: their number.
  mutating func drop() -> Int {
    let count = waiting.count
    waiting.removeAll()
    progress.waiting = 0
    progress.dropped += count
    return count
  }
}
