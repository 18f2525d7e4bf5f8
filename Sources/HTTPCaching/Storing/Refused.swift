// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore

/// The response was not stored.
struct Refused: Error {
  let reason: CacheEngine.Reason
  /// The store's refusal, if it refused.
  let refusal: InsertRefusal?

  init(_ reason: CacheEngine.Reason) {
    self.reason = reason
    refusal = nil
  }

  init(_ refusal: InsertRefusal) {
    reason = CacheEngine.Reason(refusal.reason)
    self.refusal = refusal
  }
}
