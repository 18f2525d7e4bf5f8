// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Synchronization

/// Keeps a tier within its capacity: bytes are reserved here before they are added.
///
/// Usage and limit change under one lock. So a limit that one thread lowers applies to the reservations of all threads
/// from that moment on.
final class ByteBudget: Sendable {
  private struct State {
    var used = 0
    var limit: Int
  }

  private let state: Mutex<State>

  init(limit: Int) {
    state = Mutex(State(limit: limit))
  }

  var used: Int { state.withLock { $0.used } }
  var limit: Int { state.withLock { $0.limit } }

  /// The usage above the limit, after the limit was lowered.
  var excess: Int { state.withLock { max(0, $0.used - $0.limit) } }

  func reserve(_ bytes: Int) -> Bool {
    state.withLock { state in
      guard bytes <= state.limit - state.used else { return false }
      state.used += bytes
      return true
    }
  }

  func release(_ bytes: Int) {
    guard bytes > 0 else { return }
    state.withLock { $0.used -= bytes }
  }

  func setLimit(_ limit: Int) {
    state.withLock { $0.limit = limit }
  }
}
