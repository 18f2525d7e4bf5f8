// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Synchronization

/// A cache that a ``Filling`` measures: operations on keys by their numbers.
package protocol BenchCache: Sendable {
  /// `nil` if this cache has no such operation.
  func operation(_ action: Action) -> Operation?
  /// Brings the input of a store into the processor's cache, as if it had just arrived.
  func warm(_ key: Int)
  /// Bytes of memory for each entry, if the cache reports them.
  var overhead: [Metric: Double] { get }
  /// Closes files.
  func close()
}

extension BenchCache {
  package var overhead: [Metric: Double] { [:] }
  package func close() {}
  package func warm(_ key: Int) {}
}

/// A cache on disk, whose operations run on one thread, one after the other.
package protocol DiskCache: BenchCache {
  var data: Dataset { get }
  func put(_ key: Int) -> Bool
  /// Returns the bytes of the body; `nil` if it is missing.
  func get(_ key: Int) -> Int?
}

extension DiskCache {
  package func warm(_ key: Int) { data.touch(key) }

  package func operation(_ action: Action) -> Operation? {
    let valueSize = data.valueSize
    switch action {
    case .diskStore: return { self.put($0) }
    case .diskGet, .coldGet: return { self.get($0) == valueSize }
    case .diskMixed:
      let turns = Turns()
      return { turns.next().isMultiple(of: 10) ? self.put($0) : self.get($0) == valueSize }
    default: return nil
    }
  }
}

/// Counts the operations of `diskMixed`, of which every tenth is a put.
private final class Turns: Sendable {
  private let count = Atomic<Int>(0)

  func next() -> Int { count.wrappingAdd(1, ordering: .relaxed).oldValue }
}
