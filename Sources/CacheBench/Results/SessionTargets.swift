// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness

extension Report {
  /// The required end-to-end savings of the cache, by the medians of one run.
  var sessionTargets: [Target] {
    let request = "a request to a loopback server"
    return [
      ("a fresh hit through URLSession", request, Action.hitRequest, Action.plainRequest, 2.0),
      ("HTTPCache.respond", request, .respond, .plainRequest, 20),
      ("HTTPCache.storedResponse", request, .storedResponse, .plainRequest, 20),
      // Not 20: the faster such a hit becomes, the smaller is this figure.
      ("HTTPCache.respond", "a fresh hit through URLSession", .respond, .hitRequest, 10),
    ].map { what, against, fast, slow, limit in
      let pair = Pair(
        one: measurements.first { $0.action == slow }, other: measurements.first { $0.action == fast })
      return Target("\(what), against \(against)", .atLeast, limit, pair.ratio(.p50Nanoseconds))
    } + overheadTargets
      + [
        processorTarget(
          "a fresh hit of another URL each time, in turns with the constant answer only", .hitAmongConstants,
          "a URLProtocol with a constant answer", .bareAmongHits, 1.3),
        processorTarget(
          "HTTPCacheSession.bytes of long content", .cachedTransfer, "a URLSession with a delegate",
          .plainTransfer, 1.2),
      ]
  }

  private func processorTarget(
    _ what: String, _ action: Action, _ against: String, _ yardstick: Action, _ limit: Double
  ) -> Target {
    let pair = Pair(
      one: measurements.first { $0.action == action }, other: measurements.first { $0.action == yardstick })
    return Target(
      "processor time of \(what), against \(against)", .atMost, limit, pair.ratio(.processorNanoseconds))
  }

  /// The maximum cost of a hit, as a multiple of the least that a `URLProtocol` costs.
  private var overheadTargets: [Target] {
    let least = measurements.first { $0.action == .bareRequest }
    return [
      ("a fresh hit through URLSession", Action.hitRequest),
      ("a fresh hit of another URL each time", .hitElsewhere),
    ].flatMap { what, action in
      let pair = Pair(one: measurements.first { $0.action == action }, other: least)
      return [("time", Metric.p50Nanoseconds), ("processor time", .processorNanoseconds)].map {
        name, metric in
        Target(
          "\(name) of \(what), against a URLProtocol with a constant answer", .atMost, 1.5, pair.ratio(metric)
        )
      }
    }
  }
}
