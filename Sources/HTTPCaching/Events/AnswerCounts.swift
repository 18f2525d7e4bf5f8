// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex

extension HTTPCache {
  /// The number of requests that were answered, by where the response came from.
  ///
  /// ```swift
  /// let counts = cache.counts
  /// print(counts[.hit], counts[.network], counts.total)    // 812 44 861
  /// ```
  public struct AnswerCounts: Sendable, Hashable {
    fileprivate var hit = 0
    fileprivate var stale = 0
    fileprivate var validated = 0
    fileprivate var network = 0
    fileprivate var generated = 0

    /// The number of requests that were answered from a source.
    public subscript(source: CachedResponse.Source) -> Int {
      switch source {
      case .hit: hit
      case .stale: stale
      case .validated: validated
      case .network: network
      case .generated: generated
      }
    }

    /// The number of requests that were answered from any source.
    public var total: Int { hit + stale + validated + network + generated }
  }

  /// What the cache has answered since it was opened.
  ///
  /// A request that is coalesced with another counts as well. A revalidation in the background does not, nor does a request
  /// that fails or that the application keeps from the cache. Counting needs no listener, and costs one atomic addition for
  /// each request. To report to swift-metrics, use `CacheMetrics` of HTTPCacheObserving.
  public var counts: AnswerCounts { hub.answers.counts }
}

/// Counts answered requests.
///
/// An object of its own, so that a count does not take the memory that every hit reads from other processors.
final class AnswerCounters: Sendable {
  private let hit = Atomic<Int>(0)
  private let stale = Atomic<Int>(0)
  private let validated = Atomic<Int>(0)
  private let network = Atomic<Int>(0)
  private let generated = Atomic<Int>(0)

  @inline(__always)
  func count(_ source: CachedResponse.Source) {
    switch source {
    case .hit: hit.add(1, ordering: .relaxed)
    case .stale: stale.add(1, ordering: .relaxed)
    case .validated: validated.add(1, ordering: .relaxed)
    case .network: network.add(1, ordering: .relaxed)
    case .generated: generated.add(1, ordering: .relaxed)
    }
  }

  var counts: HTTPCache.AnswerCounts {
    HTTPCache.AnswerCounts(
      hit: hit.load(ordering: .relaxed), stale: stale.load(ordering: .relaxed),
      validated: validated.load(ordering: .relaxed), network: network.load(ordering: .relaxed),
      generated: generated.load(ordering: .relaxed))
  }
}
