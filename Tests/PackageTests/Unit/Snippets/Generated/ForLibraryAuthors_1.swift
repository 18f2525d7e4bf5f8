// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import HTTPCacheEngine
import HTTPTypes

private func ForLibraryAuthors_1() async throws {
  let engine = CacheEngine(.init(kind: .private))
  let request = HTTPRequest(method: .get, scheme: "https", authority: "example.com", path: "/")
  let start = Timestamp(secondsSince1970: 1_800_000_000)

  // Decide: nothing is stored, so the request goes to the origin.
  guard case .forward(let forwarding) = engine.plan(for: request, policy: .useProtocolCachePolicy, candidates: [], now: start)
  else { fatalError("nothing is stored") }

  // Store: the response has a lifetime and a validator.
  let head = HTTPResponse(status: .ok, headerFields: [.cacheControl: "max-age=60", .eTag: "\"1\""])
  let first = engine.outcome(
    of: .init(
      forwarding: forwarding, candidates: [], result: .response(head), contentLength: 5, requestTime: start,
      responseTime: start))
  guard case .store(let made, let reason) = first.storage,
    let stored = StoredResponse(decoding: made.encoded()[...], contentLength: 5)
  else { fatalError("it may be stored") }
  print(reason)  // Stored, with a freshness lifetime that the origin gave. (RFC 9111 §3)

  // Validate: after a minute, the request names the stored response.
  let later = start.advanced(by: .seconds(90))
  guard
    case .forward(let validation) = engine.plan(
      for: request, policy: .useProtocolCachePolicy, candidates: [stored], now: later)
  else { fatalError("it is stale") }
  print(validation.request.headerFields[.ifNoneMatch] ?? "")  // "1"

  // Freshen: a 304 gives the stored response a new lifetime.
  let confirmed = engine.outcome(
    of: .init(
      forwarding: validation, candidates: [stored],
      result: .response(HTTPResponse(status: .notModified, headerFields: [.cacheControl: "max-age=600", .eTag: "\"1\""])),
      requestTime: later, responseTime: later))
  print(confirmed.updates.map { $0.response.remainingLifetime(at: later) })  // [600.0 seconds]

  // Explain: every decision has a reason, with its section of a standard.
  print(confirmed.reason)  // The origin validated the stored response. (RFC 9111 §4.3.3)
  _ = engine
  _ = request
  _ = start
  _ = head
  _ = first
  _ = later
  _ = confirmed
}
