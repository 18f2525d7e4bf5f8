// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCaching
import HTTPTypes

/// The cache's own report of a step, which the public format does not cover.
struct StepStory {
  var source: String
  var reason: CacheEngine.Reason?
  var storage: CacheEngine.Reason?
  var cacheStatus: [String] = []
  /// Whether the content is complete.
  var isWhole = true
  var originRequests = 0
  /// Whether the cache's own report is unavailable.
  var isFromOutside = false

  init(_ response: CachedResponse) {
    source = response.source.rawValue
    reason = response.reason
    storage = response.intent
    cacheStatus = response.cacheStatus.fieldValue.split(separator: ";").map {
      String($0.drop { $0 == " " })
    }
  }

  /// Makes a report from what a client can see: `Cache-Status`, and whether the content is complete.
  init(_ head: HTTPResponse, isWhole: Bool) {
    source = isWhole ? "" : "error"
    self.isWhole = isWhole
    isFromOutside = true
    let members = head.headerFields[named: "Cache-Status"] ?? ""
    cacheStatus = (members.split(separator: ",").last ?? "").split(separator: ";").map {
      String($0.drop { $0 == " " })
    }
  }

  init(_ error: any Error) {
    source = "error"
    if let reason = (error as? HTTPCacheError)?.reason { self.reason = reason }
  }

  /// Whether the cache made the response because the origin was unreachable.
  func isGenerated(_ head: HTTPResponse) -> Bool {
    isFromOutside ? head.status == .gatewayTimeout : reason == .revalidationImpossible
  }

  func described(_ response: CachedResponse) -> String {
    "\(response.source) \(response.head.status.code), \(response.reason)"
      + (response.intent.map { "; \($0)" } ?? "") + (isWhole ? "" : "; and it ended early")
  }

  func described(_ head: HTTPResponse) -> String {
    "\(head.status.code), \(head.headerFields[named: "Cache-Status"] ?? "no Cache-Status")"
      + (isWhole ? "" : "; and it ended early")
  }

  /// Returns the first difference from the step's expectations, or `nil`.
  func problem(_ step: Step) -> String? {
    let said: [(name: String, came: String?)] = [
      ("expected_source", source), ("expected_reason", reason?.rawValue),
      ("expected_storage", storage?.rawValue),
    ]
    for (name, came) in said where !isFromOutside {
      if let expected = step.text(name), came != expected {
        return "\(name): expected \(expected), got \(came ?? "none")"
      }
    }
    for expected in step.list("expected_cache_status").compactMap(\.text)
    where !cacheStatus.contains(where: {
      $0 == expected || (isFromOutside && CacheStatusText.isSame($0, expected))
    }) {
      return "expected_cache_status: \(expected) is not in \(cacheStatus.joined(separator: "; "))"
    }
    for name in step.list("expected_cache_status_missing").compactMap(\.text)
    where cacheStatus.contains(where: { $0 == name || $0.hasPrefix(name + "=") }) {
      return "expected_cache_status_missing: \(name) is in \(cacheStatus.joined(separator: "; "))"
    }
    if let expected = step["expected_origin_requests"]?.integer, Int64(originRequests) != expected {
      return "expected_origin_requests: expected \(expected), got \(originRequests)"
    }
    return nil
  }
}
