// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation

/// The unit of a figure, and how it is printed: with three digits and a unit.
package enum Format: String, Codable, Sendable {
  case count, nanoseconds, perSecond, bytes
  /// A ratio.
  case times
  /// A fraction of 1.
  case share
  /// Hundredths, such as the difference of two shares.
  case points

  package func text(_ value: Double) -> String {
    switch self {
    case .count: abs(value) < 1e15 ? Self.grouped(Int(value.rounded())) : Self.digits(value)
    case .times: Self.digits(value) + "x"
    case .share: String(format: "%.1f %%", value * 100)
    case .points: String(format: "%.2f points", value * 100)
    case .nanoseconds, .perSecond, .bytes: scaled(value, Self.digits)
    }
  }

  package func text(_ value: Int) -> String { text(Double(value)) }

  /// For the marks of an axis, which have little space and only round figures.
  package func mark(_ value: Double) -> String {
    let short = { String(format: "%.4g", $0) }
    return switch self {
    case .count, .times, .points: text(value)
    case .share: short(value * 100) + " %"
    case .nanoseconds, .perSecond, .bytes: scaled(value, short)
    }
  }

  private func scaled(_ value: Double, _ digits: (Double) -> String) -> String {
    let steps: [(size: Double, name: String)] =
      switch self {
      case .nanoseconds: [(1, " ns"), (1e3, " µs"), (1e6, " ms"), (1e9, " s")]
      case .perSecond: [(1, "/s"), (1e3, " k/s"), (1e6, " M/s")]
      default: [(1, " B"), (0x1p10, " KiB"), (0x1p20, " MiB"), (0x1p30, " GiB")]
      }
    let step = steps.last { value >= $0.size } ?? steps[0]
    return digits(value / step.size) + step.name
  }

  private static func digits(_ value: Double) -> String {
    switch abs(value) {
    // Beyond a whole number's range; only a report that was written by hand has such figures.
    case 1e15...: String(format: "%.2e", value)
    case ..<10: String(format: "%.2f", value)
    case ..<100: String(format: "%.1f", value)
    case ..<1e15: grouped(Int(value.rounded()))
    default: "?"  // not a number
    }
  }

  private static func grouped(_ number: Int) -> String {
    var rest = String(number.magnitude)[...]
    var groups: [Substring] = []
    while rest.count > 3 {
      groups.append(rest.suffix(3))
      rest = rest.dropLast(3)
    }
    return (number < 0 ? "-" : "") + ([rest] + groups.reversed()).joined(separator: ",")
  }
}

/// The name of a figure. The name contains the unit, unless the figure is a count.
package enum Metric: String, CaseIterable, Codable, CodingKeyRepresentable, Sendable {
  // Conditions. `capacityEntries` is given if a cache had to hold less than all. `capacityShare` is relative to the
  // distinct keys of a trace, or to their bytes; `capacity` is the same in entries.
  case entries, keyBytes, valueBytes, threads, capacityEntries, capacityBytes, capacityShare, capacity, shards
  case distinctKeys
  // Of an operation: medians of the rounds, and percentiles of all latencies. On a machine with other work, processor
  // time tells more than the wall clock. `nanoseconds` is the median latency if each operation was timed.
  case operations, operationsPerSecond, processorNanoseconds, nanoseconds
  case p50Nanoseconds, p90Nanoseconds, p99Nanoseconds, p999Nanoseconds, maxNanoseconds
  /// The share of lookups that found something. For `mixed` in a workload, it is counted over one pass through the keys
  /// before the timing, so that it does not depend on the duration.
  case hitRatio
  /// By the cache's own account, for each entry: all bytes beyond key and body, and the response's head as part of
  /// these.
  case bytesBeyondKeyAndBody, bytesOfHead
  /// Of a ratio, and its target; then the ratios of single rounds, the least and the greatest.
  case timesAsFast, target, leastTimesAsFast, mostTimesAsFast
  // Of requests and traces. `byteHitRatio` is the share of the requested bytes that were found.
  case requests, originRequests, hits, byteHitRatio, seconds
  // Of all entries: the bytes from `malloc`, the growth of the process, and the cache's own account. Then the same for
  // each entry, without its key and its value.
  case allocatedBytes, residentBytes, accountedBytes, allocatedBeyond, residentBeyond, accountedBeyond
  // Of a disk at capacity: the maximum bytes of the files, absolute and relative to the capacity; bytes of the findable
  // entries relative to the capacity, as the median of many readings and the minimum; bytes written to the system for
  // each stored byte; bytes of the files for each byte of a findable entry.
  case mostBytes, mostShare, liveShare, leastLiveShare, writtenPerByte, spaceAmplification
  /// System calls that read.
  case readCallsPerGet, deviceBytesPerGet
  /// Of an opening; `memoryBytesPerEntry` is the growth of the process, by `malloc`.
  case deviceBytes, memoryBytesPerEntry
  // Of requests to a proxy.
  case connections, systemCallsPerRequest
  // Of a shared tier: requests that are in flight at a time, and round trips to the server.
  case concurrency, roundTripsPerRequest
  // Of a fleet.
  case originRequestsPerURL
  // Of requests that wait for each other: those without a good response, and the p50 as a multiple of the origin's own.
  case failures, timesOfOrigin

  package var unit: Format {
    switch self {
    case .entries, .keyBytes, .threads, .connections, .concurrency, .capacityEntries, .capacity, .shards,
      .distinctKeys,
      .operations,
      .requests, .originRequests, .hits, .failures:
      .count
    case .operationsPerSecond: .perSecond
    case .processorNanoseconds, .nanoseconds, .p50Nanoseconds, .p90Nanoseconds, .p99Nanoseconds,
      .p999Nanoseconds, .maxNanoseconds, .seconds:
      .nanoseconds
    case .capacityShare, .hitRatio, .byteHitRatio, .mostShare, .liveShare, .leastLiveShare: .share
    case .timesAsFast, .target, .leastTimesAsFast, .mostTimesAsFast, .writtenPerByte, .spaceAmplification,
      .readCallsPerGet,
      .systemCallsPerRequest, .roundTripsPerRequest, .originRequestsPerURL, .timesOfOrigin:
      .times
    default: .bytes
    }
  }

  package func text(_ value: Double) -> String { unit.text(self == .seconds ? value * 1e9 : value) }
}
