// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching

/// Values in the order of their arrival, for a test that waits for some of them.
package final class Recorder<Value: Sendable>: Sendable {
  private let values = Monitor<[Value]>([])

  package init() {}

  /// All values so far.
  package var all: [Value] { values.withLock { $0 } }

  /// - Returns: the number of values, including this one.
  @discardableResult
  package func add(_ value: Value) -> Int {
    values.withLock { values in
      values.append(value)
      return values.count
    }
  }

  /// Returns when this many values that satisfy a condition have arrived.
  ///
  /// - Throws: `CancellationError`
  package func reach(
    _ count: Int, where isCounted: @escaping @Sendable (Value) -> Bool = { _ in true }
  ) async throws {
    try await values.wait { $0.count(where: isCounted) >= count }
  }
}
