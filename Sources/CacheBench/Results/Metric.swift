// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation

/// What a figure counts, and how it is printed: with three digits and a unit.
enum Format: String, Codable, Sendable {
  case count, nanoseconds, perSecond, bytes
  /// A ratio.
  case times
  /// A share of 1.
  case share
  /// Hundredths, as the difference of two shares.
  case points

  func text(_ value: Double) -> String {
    switch self {
    case .count: abs(value) < 1e15 ? Self.grouped(Int(value.rounded())) : Self.digits(value)
    case .times: Self.digits(value) + "x"
    case .share: String(format: "%.1f %%", value * 100)
    case .points: String(format: "%.2f points", value * 100)
    case .nanoseconds, .perSecond, .bytes: scaled(value, Self.digits)
    }
  }

  func text(_ value: Int) -> String { text(Double(value)) }

  /// For the marks of an axis, where there is little room and all figures are round.
  func mark(_ value: Double) -> String {
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
    // Beyond what a whole number holds; only a report that was written by hand has such figures.
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

/// The name of a figure. The unit is in the name, unless it is a number of things.
enum Metric: String, CaseIterable, Codable, CodingKeyRepresentable, Sendable {
  // Conditions. `capacityEntries` is given where a cache was to hold less than all. `capacityShare` is of the distinct
  // keys of a trace, or of their bytes; `capacity` is the same in entries.
  case entries, keyBytes, valueBytes, threads, capacityEntries, capacityBytes, capacityShare, capacity, shards
  case distinctKeys
  // Of an operation: medians of the rounds, and percentiles of all latencies. The processor's time tells more than the
  // wall clock on a machine that does other work. `nanoseconds` is the median latency where each operation was timed.
  case operations, operationsPerSecond, processorNanoseconds, nanoseconds
  case p50Nanoseconds, p90Nanoseconds, p99Nanoseconds, p999Nanoseconds, maxNanoseconds
  /// The share of lookups that found something. Of `mixed` in a workload, over one pass through the keys before
  /// anything is timed, so that it does not depend on how far the time reached.
  case hitRatio
  /// By the cache's own account, for each entry: all beyond key and body, and of that the response's head.
  case bytesBeyondKeyAndBody, bytesOfHead
  /// Of a ratio, and what it must be at least.
  case timesAsFast, target
  // Of requests and traces. `byteHitRatio` is the share of the requested bytes that were found.
  case requests, originRequests, hits, byteHitRatio, seconds
  // Of all entries: what `malloc` gave out, by how much the process grew, what the cache itself says. And the same for
  // each entry, less its key and its value.
  case allocatedBytes, residentBytes, accountedBytes, allocatedBeyond, residentBeyond, accountedBeyond
  // Of a disk at capacity: the most that the files occupied, in bytes and by the capacity; bytes of what could be found
  // by the capacity, the median of many looks and the least; bytes handed to the system for each that was stored; bytes
  // of the files for each of what could be found.
  case mostBytes, mostShare, liveShare, leastLiveShare, writtenPerByte, spaceAmplification
  /// Calls of the system that read.
  case readCallsPerGet, deviceBytesPerGet
  /// Of an opening; `memoryBytesPerEntry` is by how much the process grew, by `malloc`.
  case deviceBytes, memoryBytesPerEntry

  var unit: Format {
    switch self {
    case .entries, .keyBytes, .threads, .capacityEntries, .capacity, .shards, .distinctKeys, .operations,
      .requests, .originRequests, .hits:
      .count
    case .operationsPerSecond: .perSecond
    case .processorNanoseconds, .nanoseconds, .p50Nanoseconds, .p90Nanoseconds, .p99Nanoseconds,
      .p999Nanoseconds, .maxNanoseconds, .seconds:
      .nanoseconds
    case .capacityShare, .hitRatio, .byteHitRatio, .mostShare, .liveShare, .leastLiveShare: .share
    case .timesAsFast, .target, .writtenPerByte, .spaceAmplification, .readCallsPerGet: .times
    default: .bytes
    }
  }

  func text(_ value: Double) -> String { unit.text(self == .seconds ? value * 1e9 : value) }
}
