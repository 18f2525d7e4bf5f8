// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes
import Testing

@testable import HTTPCacheEngine

/// What is stored of a 206 to a request of a range; `Cache-Control`, `ETag` and `Date` are given unless others are.
func part(
  _ range: String, _ lines: String..., engine: CacheEngine = .privately,
  defaults: [String] = ["Cache-Control: max-age=60", "ETag: \"a\"", "Date: \(arrivalDate)"]
) throws -> StoredResponse {
  var head = response(206, "Content-Range: bytes \(range)")
  head.headerFields += HTTPFields(lines: defaults + lines)
  return try #require(engine.stored(head, for: request("Range: bytes=0-")))
}

/// What becomes of a 206 that comes where something is stored.
func outcome(
  _ range: String, _ lines: String..., meeting stored: [StoredResponse], asked: HTTPRequest? = nil,
  after: Int64 = 1
) throws -> CacheEngine.Outcome {
  var head = response(
    206, range.isEmpty ? "" : "Content-Range: bytes \(range)", "Cache-Control: max-age=60")
  head.headerFields += HTTPFields(lines: lines)
  let now = arrival.advanced(bySeconds: after)
  return try #require(
    CacheEngine.privately.exchange(
      asked ?? request("Range: bytes=0-999", "Cache-Control: no-cache"), stored, .response(head),
      requestTime: now, responseTime: now))
}

func storing(_ outcome: CacheEngine.Outcome) -> StoredResponse? {
  if case .store(let stored, _) = outcome.storage { stored } else { nil }
}
