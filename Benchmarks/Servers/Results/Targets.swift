// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness

extension Report {
  /// Entries of the comparison with URLCache.
  static let fewEntries = 10_000

  /// The targets of the hot path, each with the report's figure.
  var memoryTargets: [Target] {
    func find(_ action: Action, _ contender: Contender = .ours, threads: Double = 1) -> Measurement? {
      measurements.first(action, contender, .throughput, [.threads: threads])
    }
    func pair(_ action: Action, _ one: Contender, _ other: Contender) -> Pair {
      Pair(one: find(action, one), other: find(action, other))
    }
    // With the body untouched, the floor needs only its table; ours keeps the key with the body. A caller that reads
    // the body waits for that memory anyway. The floor with its entries apart shows the cost of a table whose entries
    // must outlive their places.
    func againstFloor(_ action: Action) -> (times: Double?, note: String) {
      let apart = shown(pair(action, .floorApart, .ours).times)
      return (
        pair(action, .floor, .ours).times,
        "\(pair(action, .ours, .floor).note ?? "?"); against the floor with its entries apart \(apart)"
      )
    }
    func gain(_ contender: Contender, _ action: Action = .getAndRead) -> Double? {
      Pair(one: find(action, contender, threads: 2), other: find(action, contender))
        .ratio(.operationsPerSecond)
    }
    // What two threads would gain if each had its own processor; waiting for a lock does not appear in it.
    func gainIfAlone(_ contender: Contender) -> String {
      let two = find(.getAndRead, contender, threads: 2)
      return shown(
        Pair(one: find(.getAndRead, contender), other: two).ratio(.processorNanoseconds).map { 2 * $0 })
    }
    func beyondDictionary(_ action: Action) -> Double? {
      Pair(one: find(action, threads: 2), other: find(action, .dictionary, threads: 2))
        .ratio(.operationsPerSecond)
    }
    let few = min(Self.fewEntries, parameters.keys ?? Self.fewEntries)
    func some(_ action: Action, _ entries: Int, _ contender: Contender = .ours) -> Measurement? {
      // `decide` also contains the lookup from the request, with another number of entries unless there are few keys.
      measurements.last {
        $0.action == action && $0.contender == contender && $0.kind == .throughput
          && $0[.entries] == Double(entries)
      }
    }
    func besideURLCache(_ title: String, _ action: Action, _ limit: Double) -> Target {
      let pair = Pair(one: some(action, few), other: some(action, few, .urlCache))
      return Target("\(title): speed against URLCache", .atLeast, limit, pair.times, pair.note)
    }
    func hitRatio(_ policy: Contender) -> Double? {
      measurements.first { $0.kind == .replay && $0.contender == policy }?[.hitRatio]
    }
    let (read, untouched) = (againstFloor(.getAndRead), againstFloor(.getByKey))
    let floorGain = gain(.floor)
    let (count, fourfold) = (Format.count.text(few), Format.count.text(4 * few))
    let growth = Pair(one: some(.storeAgain, few), other: some(.storeAgain, 4 * few))
    let decide = find(.decide)
    let get = measurements.first(
      .get, .ours, .throughput, decide?.figures.filter { $0.key == .entries } ?? [:])
    let mixed = pair(.mixed, .oursS3FIFO, .ours)
    let latency = measurements.first(.mixed, .ours, .latency)
    let space = measurements.first(.occupy, .ours, .memory)
    let churn = pair(.churn, .ours, .nodes)
    let (lru, exact, s3fifo) = (hitRatio(.ours), hitRatio(.exactLRU), hitRatio(.oursS3FIFO))
    return [
      Target(
        "get and read a byte of the body, 1 thread: time against the floor", .atMost, 1.25, read.times,
        "\(read.note); body untouched \(shown(untouched.times)), \(untouched.note)"),
      Target(
        "get and read a byte of the body, 2 threads: throughput against 1 thread", .atLeast,
        min(1.8, max(1.2, floorGain ?? 1.8)),
        // If the floor gains almost nothing, other work had the second processor.
        floorGain.map { $0 < 1.2 } == true ? nil : gain(.ours),
        floorGain.map {
          "the floor gains \(Format.times.text($0)); by processor time: \(gainIfAlone(.ours)), the floor "
            + "\(gainIfAlone(.floor)); body untouched \(shown(gain(.ours, .getByKey))), the floor "
            + shown(gain(.floor, .getByKey))
        }),
      Target(
        "get and read a byte of the body, 2 threads: throughput against a locked Dictionary", .atLeast, 3,
        beyondDictionary(.getAndRead), "body untouched \(shown(beyondDictionary(.getByKey)))"),
      besideURLCache("get at \(count), key built from the request", .get, 8),
      besideURLCache("store at \(count)", .storeAgain, 25),
      Target(
        "store: time at \(fourfold) entries against \(count)", .atMost, 2, growth.times,
        "4.00x would be linear growth; includes more misses of the processor's cache"),
      Target(
        "decide: time against get alone", .atMost, 1.2, Pair(one: get, other: decide).times,
        Pair(one: decide, other: get).note),
      Target(
        "decide: time beyond get alone", .atMost, 40, in: .nanoseconds,
        Pair(one: decide, other: get).both { $0.cost - $1.cost }),
      Target("judging a new response of 10 fields", .atMost, 400, in: .nanoseconds, find(.judge)?.cost),
      Target("mixed, S3-FIFO: throughput against LRU", .atLeast, 0.9, mixed.times, mixed.note),
      Target(
        "mixed, S3-FIFO: hit ratio", .atLeast, 0.795, in: .share, mixed.one?[.hitRatio],
        mixed.other?[.hitRatio].map { "LRU \(Format.share.text($0))" }),
      Target(
        "mixed: p99.9 against p50", .atMost, 20,
        latency.flatMap { one in
          one[.p50Nanoseconds].flatMap { p50 in p50 > 0 ? one[.p999Nanoseconds].map { $0 / p50 } : nil }
        },
        latency.map { "\($0.text(.p999Nanoseconds)) and \($0.text(.p50Nanoseconds))" }),
      Target(
        "bytes of an entry in addition to key and value, by malloc", .atMost, 64, in: .bytes,
        space?[.allocatedBeyond],
        space?[.residentBeyond].map { "by process growth \(Format.bytes.text($0))" }),
      Target("churn: throughput against an LRU of nodes, locked", .atLeast, 3, churn.times, churn.note),
      Target(
        "hit ratio on the trace, LRU: distance from exact LRU", .atMost, 0.005, in: .points,
        lru.flatMap { lru in exact.map { abs($0 - lru) } },
        lru.map { "\(Format.share.text($0)), exact \(shown(exact, .share))" }),
      Target(
        "hit ratio on the trace, S3-FIFO: distance from 58.1 % (of web07)", .atMost, 0.007, in: .points,
        s3fifo.map { max(0, 0.581 - $0) }, s3fifo.map(Format.share.text)),
    ]
  }

  /// The targets of the disk tier, each with the report's figure.
  var diskTargets: [Target] {
    /// Compares ours with a yardstick that did the same with as many entries.
    func beside(
      _ yardstick: Contender, _ action: Action, _ what: String, _ limit: Double,
      _ bound: Target.Bound = .atLeast, size: Double = 16 * 1024
    ) -> Target {
      let other = measurements.first(action, yardstick, .throughput, [.valueBytes: size])
      let conditions = other?.figures.filter { $0.key == .valueBytes || $0.key == .entries } ?? [:]
      let pair = Pair(one: measurements.first(action, .ours, .throughput, conditions), other: other)
      let note = pair.both { "\($0.text(.nanoseconds)) and \($1.text(.nanoseconds)) by the clock" }
      return Target(what, bound, limit, pair.times.map { bound == .atMost ? 1 / $0 : $0 }, note)
    }
    func reopen(_ action: Action, _ valueBytes: Int, _ limit: Double) -> Target {
      let one = measurements.first(action, .ours, .reopen, [.valueBytes: Double(valueBytes)])
      return Target(
        "reopen, \(one?.text(.entries) ?? "?") of \(valueBytes >> 10) KB, \(action.rawValue), page cache cold",
        .atMost, limit, in: .nanoseconds, one.flatMap { $0.byRound.isEmpty ? nil : $0[.nanoseconds] },
        one.map { "\($0.text(.deviceBytes)) from the device" })
    }
    func cold(_ contender: Contender) -> Measurement? { measurements.first(.coldGet, contender, .cold) }
    let raw = cold(.rawFile)?.text(.deviceBytesPerGet) ?? "?"
    let churn = measurements.first(.diskChurn, .ours, .churn)
    let largest = measurements.filter { $0.kind == .reopen }.max { ($0[.entries] ?? 0) < ($1[.entries] ?? 0) }
    return [
      beside(
        .rawFile, .diskGet, "get, 16 KB, warm, checksum verified: time against raw pread", 1.7, .atMost),
      beside(.sqlite, .diskGet, "get, 16 KB, warm: speed against SQLite", 2.5),
      beside(.files, .diskGet, "get, 16 KB, warm: speed against a file per entry", 2),
      beside(.rawFile, .diskStore, "put, 16 KB: throughput against a raw append", 0.8),
      beside(.sqlite, .diskStore, "put, 16 KB: speed against SQLite", 8),
      beside(.files, .diskStore, "put, 16 KB: speed against a file per entry", 5),
      Target(
        "cold get, 16 KB: reads", .atMost, 1, cold(.ours)?[.readCallsPerGet],
        cold(.ours).map { "\($0.text(.deviceBytesPerGet)) from the device, raw \(raw)" }),
      reopen(.reopenClosed, 16 << 10, 50e6), reopen(.reopenClosed, 1024, 0.6e9),
      reopen(.reopenKilled, 1024, 1.5e9),
      Target("churn: maximum share of the capacity used", .atMost, 1, in: .share, churn?[.mostShare]),
      Target(
        "churn: live share of the capacity", .atLeast, 0.85, in: .share, churn?[.liveShare],
        churn.map { "least \($0.text(.leastLiveShare)), files by live \($0.text(.spaceAmplification))" }),
      Target("churn: bytes written for each byte stored", .atMost, 1.3, churn?[.writtenPerByte]),
      Target(
        "memory for each entry on disk, by malloc", .atMost, 40, in: .bytes, largest?[.memoryBytesPerEntry],
        largest.map { "at \($0.text(.entries)) entries" }),
      beside(.urlCache, .diskGet, "get, 100 entries of 1 KB: speed against URLCache", 200, size: 1024),
      beside(.urlCache, .diskStore, "store, 100 entries of 1 KB: speed against URLCache", 500, size: 1024),
    ]
  }

  /// The maximum processor time of a request to the proxy, relative to another server, for each measured case.
  var proxyTargets: [Target] {
    ProxyCase.allCases.compactMap { one in
      guard let (contender, limit) = one.limit,
        let own = measurements.first(one.action, .ours, .proxy)
      else { return nil }
      let pair = Pair(one: own, other: measurements.first(one.action, contender, .proxy))
      return Target(
        "\(one.action.rawValue): processor time of a request against \(contender.rawValue)", .atMost, limit,
        pair.times.map { 1 / $0 }, pair.note)
    }
  }

  /// What a hit through AsyncHTTPClient may cost beyond the cache itself.
  var clientTargets: [Target] {
    let hit = measurements.first { $0.action == .clientHit }
    let least = measurements.first { $0.action == .respond }
    guard let hit = hit?[.p50Nanoseconds], let least = least?[.p50Nanoseconds] else { return [] }
    return [
      Target(
        "a fresh hit through CachingHTTPClient, beyond HTTPCache.respond", .atMost, 1500, in: .nanoseconds,
        hit - least)
    ]
  }

  /// What a response from the shared tier may cost, against the same bytes without a cache, and what the tier may cost a
  /// local hit.
  var sharedTargets: [Target] {
    let found = measurements.filter { $0.action == .sharedHit }
    let bySize = found.flatMap { one -> [Target] in
      let conditions = one.figures.filter { [.valueBytes, .concurrency].contains($0.key) }
      let what = "\(one.title), \(one.text(.concurrency)) at a time"
      let times = [Contender.redisClient, .hiredis].map { contender in
        let bare = measurements.first(.fetchFromRedis, contender, .shared, conditions)?[.nanoseconds]
        let times = bare.flatMap { bare in one[.nanoseconds].map { $0 / bare } }
        return Target("\(what): time against \(contender.rawValue) alone", .atMost, 1.3, times)
      }
      return times + [Target("\(what): round trips", .atMost, 1.05, one[.roundTripsPerRequest])]
    }
    let local = measurements.first(.localHit, .ours, .shared)
    let beside = measurements.first(.localHitBesideTier, .ours, .shared)
    let times = local?[.nanoseconds].flatMap { plain in beside?[.nanoseconds].map { $0 / plain } }
    return bySize + [Target("local hit with a shared tier: time against one without", .atMost, 1.05, times)]
  }

  /// What a fleet with a shared tier may ask the origin, what the tier may cost a local hit, and how soon each proxy
  /// applies a removal.
  var fleetTargets: [Target] {
    func find(_ action: Action, _ label: String) -> Measurement? {
      measurements.first { $0.kind == .fleet && $0.action == action && $0.label == label }
    }
    let alone = find(.coldFleet, FleetLabel.privateCaches)
    let origin = Target(
      "cold fleet: origin requests for each URL", .atMost, 1.02,
      find(.coldFleet, FleetLabel.sharedTier)?[.originRequestsPerURL],
      alone.map { "\($0.text(.originRequestsPerURL)) with private caches" })
    let hits = ProxyCase.allCases.flatMap { one -> [Target] in
      let all = measurements.filter { $0.kind == .proxy && $0.action == one.action }
      if one.reachesOrigin || all.isEmpty { return [] }
      let pair = Pair(one: all.first { $0.label != nil }, other: all.first { $0.label == nil })
      return [
        Target(
          "\(one.action.rawValue): processor time with the tier against without", .atMost, 1.05,
          pair.times.map { 1 / $0 }, pair.note),
        Target(
          "\(one.action.rawValue): throughput with the tier against without", .atLeast, 0.95,
          pair.ratio(.operationsPerSecond),
          pair.both { "\($0.text(.operationsPerSecond)) and \($1.text(.operationsPerSecond))" }),
      ]
    }
    let removals = [FleetLabel.idle, FleetLabel.underLoad].map { label in
      let one = find(.removal, label)
      return Target(
        "removal, \(label): p99 until another proxy has removed", .atMost, 50e6, in: .nanoseconds,
        one?[.p99Nanoseconds],
        one.map { "p50 \($0.text(.p50Nanoseconds)), maximum \($0.text(.maxNanoseconds))" })
    }
    return [origin] + hits + removals
  }

  /// What clients may wait for each other, and what they may ask the origin.
  func waitingTargets(_ loads: [WaitingLoad]) -> [Target] {
    loads.flatMap { load in
      let (clients, label) = (Double(load.clients), load.rules.isEmpty ? nil : "rules")
      let own = measurements.first {
        $0.action == load.action && $0.contender == .ours && $0.label == label && $0[.concurrency] == clients
      }
      return load.limits.map { limit in
        let what =
          ": \(limit.metric.waitingTitle), \(load.clients) at a time" + (label.map { ", with \($0)" } ?? "")
        return Target(
          load.action.rawValue + what, limit.bound, limit.value, in: limit.metric.unit, own?[limit.metric])
      }
    }
  }

  /// What a cached route may cost against a route with a constant response, and one that is not stored against the same
  /// route without the cache.
  var routeTargets: [Target] {
    let pairs: [(Contender, against: Contender, String)] = [
      (.ours, .constantRoute, "a cached route against a constant response"),
      (.passedRoute, .encodingRoute, "a route that is not stored against the same without the cache"),
    ]
    return pairs.compactMap { contender, other, what in
      guard let own = measurements.first(.route, contender, .proxy) else { return nil }
      let pair = Pair(one: own, other: measurements.first(.route, other, .proxy))
      return Target("processor time of \(what)", .atMost, 1.15, pair.times.map { 1 / $0 }, pair.note)
    }
  }
}

extension Metric {
  fileprivate var waitingTitle: String {
    switch self {
    case .timesOfOrigin: "p50 against the origin's"
    case .maxNanoseconds: "longest time"
    case .p50Nanoseconds: "p50"
    case .hitRatio: "hits"
    case .failures: "failed requests"
    default: "origin requests"
    }
  }
}
