// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation

/// Says what grew.
struct Verdict: Sendable {
  /// The most that each column may show after the first tenth of the run.
  var limits: [Column: Int]
  /// How much the content of large responses moves the memory from one moment to the next, in bytes.
  var noise = 8 << 20
  /// What must have been counted at some time: a count that nothing keeps never exceeds its limit.
  var counted: [Column] = []

  /// - Returns: a line for each column that went above its limit or grew; none if all is well.
  func problems(_ samples: [Sample], duration: Double) -> [String] {
    exceeded(samples.filter { $0.time >= duration / 10 }) + growth(samples, duration) + uncounted(samples)
  }

  private func uncounted(_ samples: [Sample]) -> [String] {
    let missing = counted.filter { column in samples.allSatisfy { $0.values[column] ?? 0 == 0 } }
    return missing.isEmpty ? [] : ["never counted: " + missing.map(\.title).joined(separator: ", ")]
  }

  /// What is above a limit in any of the samples.
  func exceeded(_ samples: [Sample]) -> [String] {
    Column.allCases.compactMap { column in
      guard let limit = limits[column],
        let worst = samples.max(by: { $0.values[column] ?? 0 < $1.values[column] ?? 0 }),
        let value = worst.values[column], value > limit
      else { return nil }
      return "\(column.title) \(column.text(value)) after \(Int(worst.time)) s (limit: \(column.text(limit)))"
    }
  }

  /// Memory that grows slowly reaches its limit after hours. So the last fifth of the run is compared with the second, in
  /// runs of 100 seconds or more. What the store holds is left out, as it fills during the run.
  private func growth(_ samples: [Sample], _ duration: Double) -> [String] {
    func median(_ fifth: Double) -> Int? {
      let part = samples.filter { $0.time >= fifth * duration / 5 && $0.time < (fifth + 1) * duration / 5 }
        .compactMap { sample in sample.values[.rss].map { $0 - (sample.values[.memory] ?? 0) } }.sorted()
      return part.isEmpty ? nil : part[part.count / 2]
    }
    guard duration >= 100, let early = median(1), let late = median(4), late > early + early / 10 + noise
    else {
      return []
    }
    let (from, to) = (Column.rss.text(early), Column.rss.text(late))
    return [
      "\(Column.rss.title) outside the store grew from \(from) in the second fifth of the run to \(to) in the last"
    ]
  }
}

/// The sizes that the entry points are configured with, and what follows for their limits.
struct EntryPointSizes: Sendable {
  static let transit = 32 << 20
  static let disk = 128 << 20
  static let writeBuffer = 1 << 20
  static let idleOriginConnections = 16
  /// Content of 5 MB that a entry point collects for its own clients at a time: they get it whole.
  static let largeAtOnce = 2

  /// The memory capacity of the cache in bytes.
  var memory: Int
  var clients: Int
  var kind: EntryPoint.Kind
  /// Descriptors of the entry point before its first request.
  var baseDescriptors: Int?
  var hasTier: Bool
  /// Whether its origin has HTTP/2.
  var usesHTTP2: Bool
  /// Whether another process stores what it is going to ask for.
  var findsInTier: Bool

  /// Each client has one request under way, and may have left another a moment ago. In the background, each hot resource may
  /// be revalidated once; new ones are hardly ever stale when they are asked for again.
  private var requests: Int { clients * 2 + Draws.hotCount }
  private var files: Int { 64 }
  /// What may wait in the windows of a connection of HTTP/2 to the origin: 256 KiB for each of 100 requests. Frames that wait
  /// take up to twice their bytes, and allocators keep what a moment took.
  private var originWindows: Int { usesHTTP2 ? 2 * 100 * (256 << 10) : 0 }
  /// Responses wait to be stored in the tier, and lookups bring what they find.
  private var tierMemory: Int { hasTier ? 48 << 20 : 0 }

  var whileRunning: Verdict {
    var rss = (memory + Self.transit + Self.writeBuffer) / 4 * 5 + 40 << 20
    rss += tierMemory + originWindows
    // A content is in the cache's hands, the task's and the client's, and one more is on the way between them.
    if kind.runsClients { rss += Self.largeAtOnce * 2 * Cell.large }
    var limits: [Column: Int] = [
      .rss: rss, .memory: memory, .disk: Self.disk, .transit: Self.transit + requests * 64 << 10,
      .fetch: requests, .transfer: requests, .reader: requests, .writer: requests,
      .clients: clients * 2, .origins: requests + Self.idleOriginConnections, .threads: 64,
    ]
    // The server of the routes has a connection to the origin for each request, too.
    limits[.fds] = baseDescriptors.map {
      $0 + clients * 2 + requests * (kind == .routes ? 2 : 1) + Self.idleOriginConnections + files
    }
    let counted: [Column] =
      [.fetch, .transfer, .reader, .writing] + (hasTier && findsInTier ? [.tier] : [])
      + (kind == .proxy ? [.clients, .origins] : [])
    return Verdict(
      limits: limits, noise: kind.runsClients ? Self.largeAtOnce * 2 * Cell.large : (8 << 20) + originWindows,
      counted: counted)
  }

  var atRest: Verdict {
    var limits: [Column: Int] = [
      .fetch: 0, .transfer: 0, .reader: 0, .writer: 0, .clients: 0, .streams: 0, .originStreams: 0,
      .origins: Self.idleOriginConnections, .transit: 0,
    ]
    limits[.fds] = baseDescriptors.map { $0 + Self.idleOriginConnections + files }
    return Verdict(limits: limits)
  }
}
