// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// What ``eventually(within:_:)`` throws: the condition still does not hold.
package struct NeverReached: Error, CustomStringConvertible {
  package var description: String { "the condition did not come to hold in time" }
}

/// Waits until a condition holds that no event announces.
///
/// Nothing depends on the time limit where the code is right: it is for what never comes, on the slowest of machines.
///
/// - Throws: ``NeverReached`` when the time is over, which fails the test, and `CancellationError`.
package func eventually(
  within limit: Duration = .seconds(240), _ condition: () async throws -> Bool
) async throws {
  let deadline = ContinuousClock.now + limit
  while try await !condition() {
    guard ContinuousClock.now < deadline else { throw NeverReached() }
    try await Task.sleep(for: .milliseconds(1))
  }
}
