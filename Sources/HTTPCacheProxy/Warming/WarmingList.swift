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

    /// The bytes that it takes in the list, about.
    var size: Int { 128 + url.utf8.count + fields.reduce(0) { $0 + 64 + $1.value.utf8.count } }
  }

  /// What has become of a request.
  enum Result: Hashable, Sendable {
    /// The response is stored now, or was validated.
    case stored
    /// A stored response, which is fresh, answers it.
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

  /// What has become of the requests since the list began.
  struct Progress: Hashable, Sendable {
    /// Tells lists apart, also those of other processes.
    var list: UInt32 = 0
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

  /// What becomes of requests that are to be added.
  enum Addition: Hashable {
    /// - Parameter count: how many there was room for: all, unless fewer are wanted, too.
    case added(count: Int)
    case full
    /// The list to continue is over, or was another process's.
    case over
    /// The proxy stops.
    case closed
  }

  /// Maximum requests that wait, which take hours at the usual rate, and maximum bytes of them.
  static let (capacity, byteCapacity) = (100_000, 64 << 20)
  /// Maximum requests at once: an origin that answers slowly gets fewer of them.
  static let concurrency = 16
  /// Requests per second, and what may be asked for.
  static let (usualRate, rates) = (10.0, 0.1...1000.0)
  /// Maximum problems that are kept.
  static let problemLimit = 100

  private var waiting = CircularBuffer<Target>()
  private var waitingBytes = 0
  private(set) var progress = Progress()
  private var rate = WarmingList.usualRate
  /// When the next request may be sent.
  private var next = NIODeadline.uptimeNanoseconds(0)
  /// When the next step is looked for in any case.
  private var timer: NIODeadline?
  private var isClosed = false

  /// The number of requests that can still be added, and their bytes.
  var room: (count: Int, bytes: Int) { (Self.capacity - waiting.count, Self.byteCapacity - waitingBytes) }

  private var interval: TimeAmount { .nanoseconds(Int64(1e9 / rate)) }

  /// Adds requests at the end.
  ///
  /// - Parameters:
  ///   - rate: maximum requests per second; while others wait, theirs holds if it is lower.
  ///   - list: the list that must still be the present one; `nil` for any. Its counts go on even if all is loaded.
  ///   - number: tells the list apart that begins with these requests.
  ///   - isPart: whether as many may be added as there is room for.
  mutating func add(
    _ targets: [Target], rate: Double, to list: UInt32? = nil, number: UInt32, isPart: Bool = false,
    at now: NIODeadline
  ) -> Addition {
    if isClosed { return .closed }
    if let list, list != progress.list { return .over }
    let room = room
    var (count, bytes) = (0, 0)
    for target in targets {
      guard count < room.count, bytes + target.size <= room.bytes else {
        if isPart { break }
        return .full
      }
      (count, bytes) = (count + 1, bytes + target.size)
    }
    if progress.isOver {
      if list == nil { progress = Progress(list: number) }
      (self.rate, next) = (rate, now)
    } else {
      self.rate = Swift.min(self.rate, rate)
    }
    waiting.append(contentsOf: targets.prefix(count))
    waitingBytes += bytes
    progress.waiting = waiting.count
    return .added(count: count)
  }

  mutating func step(at now: NIODeadline) -> Step {
    guard !waiting.isEmpty, progress.running < Self.concurrency else { return .nothing }
    guard next <= now else {
      if let timer, timer <= next { return .nothing }
      timer = next
      return .wait(next)
    }
    // A timer that fires late costs no request, and a pause gathers none.
    next = Swift.max(next + interval, now)
    progress.running += 1
    let target = waiting.removeFirst()
    waitingBytes -= target.size
    progress.waiting = waiting.count
    return .start(target)
  }

  mutating func timerFired(at now: NIODeadline) {
    // An earlier one may have been set since.
    if let timer, timer <= now { self.timer = nil }
  }

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
    (waitingBytes, progress.waiting) = (0, 0)
    progress.dropped += count
    return count
  }

  /// Takes no more requests, and gives up those that wait.
  ///
  /// - Returns: the number of those that have no response yet.
  mutating func close() -> Int {
    isClosed = true
    return drop() + progress.running
  }
}
