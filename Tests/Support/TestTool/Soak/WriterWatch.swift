// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheStore
import Synchronization

/// Looks for writers of the store in this process, each millisecond from its first use on.
final class WriterWatch: Sendable {
  static let shared = WriterWatch()

  private let met = Atomic(0)

  private init() {
    Thread.detachNewThread { [self] in
      while true {
        if LiveCount.Kind.writer.count > 0 { met.wrappingAdd(1, ordering: .relaxed) }
        Thread.sleep(forTimeInterval: 0.001)
      }
    }
  }

  /// How many looks have met one so far.
  var meetings: Int { met.load(ordering: .relaxed) }
}
