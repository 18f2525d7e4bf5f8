// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// The fetches in whose transports the current task runs, by their numbers: a task that outlives a fetch must not retain
/// it.
///
/// A transport may send requests through the cache itself. Such a request must not wait for a fetch that waits for this
/// transport.
package struct EnclosingFetches: Sendable {
  @TaskLocal package static var current = EnclosingFetches()

  /// The number of the innermost fetch; 0 for none. Apart, because most requests need no array.
  private var innermost = 0
  private var others: [Int] = []

  func adding(_ number: Int) -> EnclosingFetches {
    var added = self
    if innermost != 0 { added.others.append(innermost) }
    added.innermost = number
    return added
  }

  func contains(_ number: Int) -> Bool { innermost == number || others.contains(number) }
}
