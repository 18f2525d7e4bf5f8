// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import HTTPCacheEngine
import HTTPTypes

private func ClientFromEngineAndStore_2() async throws {
  func outcome(
    of forwarding: CacheEngine.Forwarding, _ candidates: [StoredResponse], _ head: HTTPResponse?, length: Int64?,
    sent: Timestamp, arrived: Timestamp, by engine: CacheEngine
  ) -> CacheEngine.Outcome {
    engine.outcome(
      of: CacheEngine.Exchange(
        forwarding: forwarding, candidates: candidates, result: head.map { .response($0) } ?? .failure,
        contentLength: length, requestTime: sent, responseTime: arrived))
  }
}
