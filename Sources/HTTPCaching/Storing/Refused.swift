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

extension Refused {
  /// Whether the response is the latest all the same, and complete: what it supersedes must not answer any more.
  var supersedes: Bool {
    switch reason {
    case .overtaken, .removedMeanwhile, .incompleteContent, .partNotCombined, .storeClosed: false
    default: true
    }
  }
}

extension CacheEngine.Reason {
  init(_ refusal: RefusalReason) {
    switch refusal {
    case .tooLarge: self = .tooLarge
    case .tooLargeForMemory: self = .tooLargeForMemory
    case .tooLargeForDisk: self = .tooLargeForDisk
    case .removedSince: self = .removedMeanwhile
    case .lengthMismatch, .cancelled: self = .incompleteContent
    case .overtaken, .superseded: self = .overtaken
    case .noRoom: self = .storeBusy
    case .noTier: self = .tierWithoutCapacity
    case .noCapacity: self = .noCapacity
    case .diskUnavailable: self = .diskUnavailable
    case .inputOutput: self = .diskFailing
    case .closed: self = .storeClosed
    default: self = .storeFailed
    }
  }
}
