// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// A bound that the package has to keep, and what was measured.
struct Target: Codable, Hashable, Sendable {
  enum Bound: String, Codable, Sendable {
    case atMost
    case atLeast
  }

  var what: String
  var bound: Bound
  var limit: Double
  var unit = Format.times
  /// `nil` if it was not measured.
  var figure: Double?
  var note: String?

  init(
    _ what: String, _ bound: Bound, _ limit: Double, in unit: Format = .times, _ figure: Double?,
    _ note: String? = nil
  ) {
    (self.what, self.bound, self.limit, self.unit) = (what, bound, limit, unit)
    (self.figure, self.note) = (figure, note)
  }

  var isMet: Bool? {
    figure.map { bound == .atMost ? $0 <= limit : $0 >= limit }
  }

  var verdict: String { isMet.map { $0 ? "met" : "NOT MET" } ?? "not measured" }

  /// The style of a verdict on a page.
  static let styles = ["met": "met", "NOT MET": "unmet", "MISSED": "unmet", "not measured": "open"]
}

extension Report {
  var targetTable: Table {
    var table = Table(
      title: "Targets", header: ["what", "target", "", "figure"], textColumns: 4, style: "targets")
    table.rows = targets.map { one in
      [
        one.what, (one.bound == .atMost ? "at most " : "at least ") + one.unit.text(one.limit), one.verdict,
        (one.figure.map(one.unit.text) ?? "") + (one.note.map { " (\($0))" } ?? ""),
      ].map(Printable.text)
    }
    return table
  }
}

/// What targets are computed from. Each is `nil` where something was not measured.
enum Figures {
  /// How many times as fast one is: by the processor's time on one thread, and by the wall clock on more.
  static func times(_ one: Measurement?, asFastAs other: Measurement?) -> Double? {
    guard let one, let other else { return nil }
    return one.ratio(to: other)?[.timesAsFast]
  }

  /// The ratio of two figures.
  static func ratio(_ metric: Metric, _ one: Measurement?, to other: Measurement?) -> Double? {
    guard let one = one?[metric], let other = other?[metric], other > 0 else { return nil }
    return one / other
  }

  static func pair(_ one: Measurement?, _ other: Measurement?) -> String? {
    guard let one, let other else { return nil }
    return "\(Format.nanoseconds.text(one.cost)) and \(Format.nanoseconds.text(other.cost))"
  }

  static func text(_ figure: Double?, _ format: Format = .times) -> String { figure.map(format.text) ?? "?" }
}

extension Report {
  /// Entries of the comparison with URLCache.
  static let fewEntries = 10_000

  /// The targets of the hot path, each with what the report has of it.
  var memoryTargets: [Target] {
    getTargets + fewTargets + decideTargets + mixedTargets + spaceTargets + churnTargets + replayTargets
  }

  private func find(_ action: Action, _ contender: Contender, threads: Double = 1) -> Measurement? {
    measurements.first(action, contender, .throughput, [.threads: threads])
  }

  private var getTargets: [Target] {
    // With the body untouched, the floor has all it needs in its table; ours keeps the key with the body. A caller that
    // reads the body waits for that memory anyway. The floor with its entries apart shows what a table costs whose
    // entries have to outlive their places.
    func againstFloor(_ action: Action) -> (times: Double?, note: String) {
      let (ours, floor) = (find(action, .ours), find(action, .floor))
      let apart = Figures.times(find(action, .floorApart), asFastAs: ours)
      return (
        Figures.times(floor, asFastAs: ours),
        "\(Figures.pair(ours, floor) ?? "?"); against the floor with its entries apart \(Figures.text(apart))"
      )
    }
    func gain(_ action: Action, _ contender: Contender) -> Double? {
      Figures.ratio(
        .operationsPerSecond, find(action, contender, threads: 2), to: find(action, contender))
    }
    // What two threads would gain if each had a processor for itself; waiting for a lock is not seen in it.
    func gainIfAlone(_ contender: Contender) -> String {
      let (one, two) = (find(.getAndRead, contender), find(.getAndRead, contender, threads: 2))
      return Figures.text(Figures.ratio(.processorNanoseconds, one, to: two).map { 2 * $0 })
    }
    func beyondDictionary(_ action: Action) -> Double? {
      Figures.ratio(
        .operationsPerSecond, find(action, .ours, threads: 2), to: find(action, .dictionary, threads: 2))
    }
    let (read, untouched) = (againstFloor(.getAndRead), againstFloor(.getByKey))
    let floorGain = gain(.getAndRead, .floor)
    return [
      Target(
        "get and read a byte of the body, 1 thread: time against the floor", .atMost, 1.25, read.times,
        "\(read.note); body untouched \(Figures.text(untouched.times)), \(untouched.note)"),
      Target(
        "get and read a byte of the body, 2 threads: throughput against 1 thread", .atLeast,
        min(1.8, max(1.2, floorGain ?? 1.8)),
        // Where the floor gains next to nothing, other work had the second processor.
        floorGain.map { $0 < 1.2 } == true ? nil : gain(.getAndRead, .ours),
        floorGain.map {
          "the floor gains \(Format.times.text($0)); by the processor's time: \(gainIfAlone(.ours)), the floor "
            + "\(gainIfAlone(.floor)); body untouched \(Figures.text(gain(.getByKey, .ours))), the floor "
            + Figures.text(gain(.getByKey, .floor))
        }),
      Target(
        "get and read a byte of the body, 2 threads: throughput against a locked Dictionary", .atLeast, 3,
        beyondDictionary(.getAndRead), "body untouched \(Figures.text(beyondDictionary(.getByKey)))"),
    ]
  }

  private var fewTargets: [Target] {
    let few = min(Self.fewEntries, parameters.keys ?? Self.fewEntries)
    func some(_ action: Action, _ contender: Contender, _ entries: Int) -> Measurement? {
      // The lookup from the request is in `decide` too, at another number of entries unless there are few keys.
      measurements.last { one in
        one.action == action && one.contender == contender && one.kind == .throughput
          && one[.entries] == Double(entries)
      }
    }
    func besideURLCache(_ title: String, _ action: Action, _ limit: Double) -> Target {
      let (own, other) = (some(action, .ours, few), some(action, .urlCache, few))
      return Target(
        "\(title): speed against URLCache", .atLeast, limit, Figures.times(own, asFastAs: other),
        Figures.pair(own, other))
    }
    let count = Format.count.text(few)
    return [
      besideURLCache("get at \(count), key built from the request", .get, 8),
      besideURLCache("store at \(count)", .storeAgain, 25),
      Target(
        "store: time at \(Format.count.text(4 * few)) entries against \(count)", .atMost, 2,
        Figures.times(some(.storeAgain, .ours, few), asFastAs: some(.storeAgain, .ours, 4 * few)),
        "4.00x if it grew with the count; more misses of the processor's cache count too"),
    ]
  }

  private var decideTargets: [Target] {
    let decide = find(.decide, .ours)
    let get = measurements.first(
      .get, .ours, .throughput, decide?.figures.filter { $0.key == .entries } ?? [:])
    var more: Double?
    if let decide, let get { more = decide.cost - get.cost }
    return [
      Target(
        "decide: time against get alone", .atMost, 1.2, Figures.times(get, asFastAs: decide),
        Figures.pair(decide, get)),
      Target("decide: time beyond get alone", .atMost, 60, in: .nanoseconds, more),
      Target(
        "judging a new response of 10 fields", .atMost, 500, in: .nanoseconds, find(.judge, .ours)?.cost),
    ]
  }

  private var mixedTargets: [Target] {
    let (lru, s3fifo) = (find(.mixed, .ours), find(.mixed, .oursS3FIFO))
    let latency = measurements.first(.mixed, .ours, .latency)
    var tail: Double?
    if let p50 = latency?[.p50Nanoseconds], let p999 = latency?[.p999Nanoseconds], p50 > 0 {
      tail = p999 / p50
    }
    return [
      Target(
        "mixed, S3-FIFO: throughput against LRU", .atLeast, 0.9, Figures.times(s3fifo, asFastAs: lru),
        Figures.pair(s3fifo, lru)),
      Target(
        "mixed, S3-FIFO: hit ratio", .atLeast, 0.795, in: .share, s3fifo?[.hitRatio],
        lru?[.hitRatio].map { "LRU \(Format.share.text($0))" }),
      Target(
        "mixed: p99.9 against p50", .atMost, 20, tail,
        latency.map { "\($0.text(.p999Nanoseconds)) and \($0.text(.p50Nanoseconds))" }),
    ]
  }

  private var spaceTargets: [Target] {
    let ours = measurements.first(.occupy, .ours, .memory)
    return [
      Target(
        "bytes of an entry beyond key and value, by malloc", .atMost, 64, in: .bytes, ours?[.allocatedBeyond],
        ours?[.residentBeyond].map { "by growth of the process \(Format.bytes.text($0))" })
    ]
  }

  private var churnTargets: [Target] {
    let (ours, nodes) = (find(.churn, .ours), find(.churn, .nodes))
    return [
      Target(
        "churn: throughput against an LRU of nodes, locked", .atLeast, 3,
        Figures.times(ours, asFastAs: nodes),
        Figures.pair(ours, nodes))
    ]
  }

  private var replayTargets: [Target] {
    func ratio(_ policy: Contender) -> Double? {
      measurements.first { $0.kind == .replay && $0.contender == policy }?[.hitRatio]
    }
    let (lru, exact, s3fifo) = (ratio(.ours), ratio(.exactLRU), ratio(.oursS3FIFO))
    var below: Double?
    if let lru, let exact { below = abs(exact - lru) }
    return [
      Target(
        "hit ratio on the trace, LRU: distance from exact LRU", .atMost, 0.005, in: .points, below,
        lru.map { "\(Format.share.text($0)), exact \(Figures.text(exact, .share))" }),
      Target(
        "hit ratio on the trace, S3-FIFO: distance from 58.1 % (of web07)", .atMost, 0.007, in: .points,
        s3fifo.map { max(0, 0.581 - $0) }, s3fifo.map(Format.share.text)),
    ]
  }
}

extension Report {
  /// The targets of the disk tier, each with what the report has of it.
  var diskTargets: [Target] {
    let size = 16 << 10
    return [
      beside(
        .rawFile, .diskGet, "get, 16 KB, warm, checksum verified: time against raw pread", 1.7, isTime: true),
      beside(.sqlite, .diskGet, "get, 16 KB, warm: speed against SQLite", 2.5),
      beside(.files, .diskGet, "get, 16 KB, warm: speed against a file per entry", 2),
      beside(.rawFile, .diskStore, "put, 16 KB: throughput against a raw append", 0.8),
      beside(.sqlite, .diskStore, "put, 16 KB: speed against SQLite", 8),
      beside(.files, .diskStore, "put, 16 KB: speed against a file per entry", 5),
      coldTarget, reopenTarget(.reopenClosed, size, 50e6), reopenTarget(.reopenClosed, 1024, 0.6e9),
      reopenTarget(.reopenKilled, 1024, 1.5e9),
    ] + atCapacityTargets + [
      indexTarget,
      beside(.urlCache, .diskGet, "get, 100 entries of 1 KB: speed against URLCache", 200, size: 1024),
      beside(.urlCache, .diskStore, "store, 100 entries of 1 KB: speed against URLCache", 500, size: 1024),
    ]
  }

  /// Ours beside a yardstick that did the same with as many entries.
  private func beside(
    _ yardstick: Contender, _ action: Action, _ what: String, _ limit: Double, size: Int = 16 << 10,
    isTime: Bool = false
  ) -> Target {
    let other = measurements.first(action, yardstick, .throughput, [.valueBytes: Double(size)])
    let own = other.flatMap { other in
      measurements.first(
        action, .ours, .throughput, other.figures.filter { $0.key == .valueBytes || $0.key == .entries })
    }
    let times = Figures.times(own, asFastAs: other)
    var note: String?
    if let own, let other {
      note = "\(own.text(.nanoseconds)) and \(other.text(.nanoseconds)) by the clock"
    }
    return Target(what, isTime ? .atMost : .atLeast, limit, isTime ? times.map { 1 / $0 } : times, note)
  }

  private var coldTarget: Target {
    let (ours, raw) = (
      measurements.first(.coldGet, .ours, .cold), measurements.first(.coldGet, .rawFile, .cold)
    )
    return Target(
      "cold get, 16 KB: reads", .atMost, 1, ours?[.readCallsPerGet],
      ours.map {
        "\($0.text(.deviceBytesPerGet)) from the device, raw \(raw?.text(.deviceBytesPerGet) ?? "?")"
      })
  }

  private func reopenTarget(_ action: Action, _ valueBytes: Int, _ limit: Double) -> Target {
    let one = measurements.first(action, .ours, .reopen, [.valueBytes: Double(valueBytes)])
    return Target(
      "reopen, \(one?.text(.entries) ?? "?") of \(valueBytes >> 10) KB, \(action.rawValue), page cache cold",
      .atMost, limit, in: .nanoseconds, one.flatMap { $0.byRound.isEmpty ? nil : $0[.nanoseconds] },
      one.map { "\($0.text(.deviceBytes)) from the device" })
  }

  private var atCapacityTargets: [Target] {
    let one = measurements.first(.diskChurn, .ours, .churn)
    return [
      Target("churn: most of the capacity that was ever used", .atMost, 1, in: .share, one?[.mostShare]),
      Target(
        "churn: live share of the capacity", .atLeast, 0.85, in: .share, one?[.liveShare],
        one.map { "least \($0.text(.leastLiveShare)), files by live \($0.text(.spaceAmplification))" }),
      Target("churn: bytes written for each byte stored", .atMost, 1.3, one?[.writtenPerByte]),
    ]
  }

  /// Of the largest index that was opened.
  private var indexTarget: Target {
    let one = measurements.filter { $0.kind == .reopen }.max { ($0[.entries] ?? 0) < ($1[.entries] ?? 0) }
    return Target(
      "memory for each entry on disk, by malloc", .atMost, 40, in: .bytes, one?[.memoryBytesPerEntry],
      one.map { "at \($0.text(.entries)) entries" })
  }

  /// What the cache must save end to end, by the medians of one run.
  var sessionTargets: [Target] {
    func times(_ what: String, _ slow: Action, _ fast: Action, _ limit: Double) -> Target {
      let (slow, fast) = (measurements.first { $0.action == slow }, measurements.first { $0.action == fast })
      return Target(what, .atLeast, limit, Figures.ratio(.p50Nanoseconds, slow, to: fast))
    }
    return [
      times(
        "a fresh hit through URLSession, against a request to a loopback server", .plainRequest, .hitRequest,
        2),
      times("HTTPCache.respond, against a request to a loopback server", .plainRequest, .respond, 20),
      times(
        "HTTPCache.storedResponse, against a request to a loopback server", .plainRequest, .storedResponse, 20
      ),
      times("HTTPCache.respond, against a fresh hit through URLSession", .hitRequest, .respond, 20),
    ]
  }
}
