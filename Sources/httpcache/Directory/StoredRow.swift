// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import HTTPCaching
import HTTPTypes

/// One entry of a directory, as `inspect` shows it. Times are in seconds, sizes in bytes.
struct StoredRow: Encodable {
  enum Freshness: String, Encodable {
    case fresh
    case stale
    /// Used only after revalidation.
    case invalidated
    /// The entry is not a response: it leads to others.
    case none
  }

  var url: String
  var kind: StoredKey.Kind
  var partition: String?
  var status: Int?
  var bodyBytes: Int
  var diskBytes: Int
  var storedAt: Int64
  var age: Int64?
  var freshness: Freshness
  /// The remaining time of freshness; negative once it is stale.
  var remaining: Int64?
  /// Whether it was hit while it was in its first segment. Other hits are not recorded on disk.
  var wasHit: Bool
  var isPartial: Bool?
  var groups: [String]?
  var tags: [String]?

  init(_ entry: StoreInspection.Entry, in inspection: StoreInspection, now: Timestamp) {
    let key = StoredKey(entry.key)
    url = key.url
    kind = key.kind
    partition = key.partition.isEmpty ? nil : key.partition
    bodyBytes = entry.bodyCount
    diskBytes = entry.diskBytes
    storedAt = Timestamp(milliseconds: entry.storedAt).seconds
    wasHit = entry.wasCarried
    guard let response = StoredResponse(decoding: entry.metadata[...]) else {
      freshness = .none
      // The index of a resource with many variants.
      if kind == .get { kind = .other }
      return
    }
    let facts = response.facts
    status = response.status.code
    age = facts.currentAge(at: now) / 1000
    isPartial = response.parts == nil ? nil : true
    groups = response.groups.isEmpty ? nil : response.groups
    tags = response.tags.isEmpty ? nil : response.tags.all
    let scopes = Self.scopes(of: response, key)
    remaining = facts.remainingLifetime(at: now) / 1000
    if facts.flags.contains(.invalidated) || scopes.contains(where: { inspection.isMarked(entry.id, in: $0) })
    {
      freshness = .invalidated
    } else {
      let isFresh = facts.remainingLifetime(at: now) > 0 && !facts.isFromTheFuture(at: now)
      freshness = isFresh ? .fresh : .stale
    }
  }

  /// Returns the scopes in which it may have been invalidated, with its origin or a group.
  private static func scopes(of response: StoredResponse, _ key: StoredKey) -> [StoreScope] {
    guard let target = target(key.url) else { return [] }
    return response.scopes(under: CacheKey(target, partition: key.partition)).map { StoreScope($0) }
  }

  /// Returns the target of an absolute URL.
  static func target(_ text: String) -> TargetURI? {
    TargetURI(absolute: text)
  }

  /// `fresh, 5 m left`.
  var freshnessText: String {
    let remaining = remaining ?? 0
    return switch freshness {
    case .fresh: "fresh, \(Brief.duration(remaining)) left"
    case .stale: remaining > 0 ? "stale" : "stale for \(Brief.duration(-remaining))"
    case .invalidated: "invalidated"
    case .none: ""
    }
  }
}

/// Short forms of amounts.
enum Brief {
  static func duration(_ seconds: Int64) -> String {
    switch seconds {
    case ..<120: "\(seconds) s"
    case ..<7200: "\(seconds / 60) m"
    case ..<172_800: "\(seconds / 3600) h"
    default: "\(seconds / 86_400) d"
    }
  }

  static func bytes(_ count: Int) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"]
    var (value, unit) = (Double(count), 0)
    while value >= 1024, unit < units.count - 1 {
      value /= 1024
      unit += 1
    }
    guard unit > 0 else { return "\(count) B" }
    let tenths = Int((value * 10).rounded())
    let figure = tenths < 1000 ? "\(tenths / 10).\(tenths % 10)" : "\((tenths + 5) / 10)"
    return "\(figure) \(units[unit])"
  }

  /// Returns external text without characters that control a terminal.
  static func printable(_ text: String) -> String {
    String(
      String.UnicodeScalarView(
        text.unicodeScalars.map { scalar in
          switch scalar.properties.generalCategory {
          case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: "\u{FFFD}"
          default: scalar
          }
        }))
  }
}
