// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import HTTPCacheEngine
import HTTPTypes

private func HTTPCacheEngine_1() async throws {
  let engine = CacheEngine(.init(kind: .private))
  let request = HTTPRequest(method: .get, scheme: "https", authority: "example.com", path: "/")
  let plan = engine.plan(
    for: request, policy: .useProtocolCachePolicy, candidates: [], now: Timestamp(secondsSince1970: 1_800_000_000))
  print(plan.reason)  // Nothing is stored for this URI. (RFC 9111 §4)
  _ = engine
  _ = request
  _ = plan
}
