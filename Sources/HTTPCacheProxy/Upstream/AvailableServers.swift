// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Synchronization

/// The number of servers of an origin that are available, which its servers keep and requests read without a lock.
final class AvailableServers: Sendable {
  private let number = Atomic(0)

  var count: Int { number.load(ordering: .relaxed) }

  func change(by change: Int) { number.wrappingAdd(change, ordering: .relaxed) }
}
