// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheEngine
import HTTPTypes

/// Judging by the rules that concern a request. The engine is not passed on: to copy its configuration would cost a request
/// without rules more than the decision.
extension HTTPCache {
  @inline(__always)
  func plan(
    for request: HTTPRequest, by ruled: RuledRequest?, policy: RequestCachePolicy,
    candidates: [StoredResponse], now: Timestamp, revalidatesInBackground: Bool = true,
    isReloadMet: Bool = false
  ) -> CacheEngine.Plan {
    guard let ruled else {
      return engine.plan(
        for: request, policy: policy, candidates: candidates, now: now,
        revalidatesInBackground: revalidatesInBackground, isReloadMet: isReloadMet)
    }
    return ruled.engine.plan(
      for: request, policy: policy, candidates: candidates, now: now,
      revalidatesInBackground: revalidatesInBackground, isReloadMet: isReloadMet)
  }

  @inline(__always)
  func outcome(of exchange: CacheEngine.Exchange, by ruled: RuledRequest?) -> CacheEngine.Outcome {
    if exchange.storesUndeclared {
      guard let ruled else { return engine.outcome(of: exchange) }
      return ruled.engine.outcome(of: exchange)
    }
    guard let ruled else { return localEngine.outcome(of: exchange) }
    return ruled.localEngine.outcome(of: exchange)
  }
}

extension HTTPCache {
  /// The rules by host and path that the cache follows: at first ``Configuration/cacheRules``.
  ///
  /// A request that has begun keeps the rules it began with. Responses stay stored as they are: a setting for storing, such
  /// as ``CacheRule/lifetime``, has an effect when a response is next stored or validated, and one for stale responses at
  /// once.
  public var cacheRules: CacheRules {
    get { currentRules.table?.rules ?? CacheRules() }
    set { currentRules.set(RuleTable(newValue, configuration.rules)) }
  }

  /// Returns a request that goes to the origin without the cache, without the fields that rules remove.
  package func uncached(_ request: HTTPRequest) -> HTTPRequest {
    currentRules.table?.ruled(request, isCounted: false)?.rewrittenUncached(request) ?? request
  }

  /// Returns the response that a server makes itself, with the fields that rules remove and set.
  package func generated(_ head: HTTPResponse, length: Int, for request: HTTPRequest) -> HTTPResponse {
    currentRules.table?.ruled(request, isCounted: false)?.generated(head, length: length) ?? head
  }

  /// Whether one of the rules makes partitions, so that a removal without one concerns all.
  package var makesPartitions: Bool { currentRules.table?.makesPartitions ?? false }

  /// How many requests each of the rules has matched since they were set, in their order.
  public var ruleCounts: [(name: String, requests: Int)] { currentRules.table?.counts.all ?? [] }
}

/// The rules of a cache, which may be exchanged.
final class CurrentRules: Sendable {
  /// What requests must know before they take the lock.
  private enum Extent: UInt8, AtomicRepresentable {
    case none
    /// The rules leave keys as they are.
    case keysApart
    case all
  }

  private let extent: Atomic<Extent>
  private let kept: Mutex<RuleTable?>

  init(_ table: RuleTable?) {
    extent = Atomic(Self.extent(of: table))
    kept = Mutex(table)
  }

  /// `nil` without rules.
  var table: RuleTable? {
    @inline(__always)
    get { extent.load(ordering: .acquiring) == .none ? nil : kept.withLock { $0 } }
  }

  /// `nil` if no rule changes a key.
  var tableOfKeys: RuleTable? {
    @inline(__always)
    get { extent.load(ordering: .acquiring) == .all ? kept.withLock { $0 } : nil }
  }

  func set(_ table: RuleTable?) {
    kept.withLock { kept in
      kept = table
      extent.store(Self.extent(of: table), ordering: .releasing)
    }
  }

  private static func extent(of table: RuleTable?) -> Extent {
    table.map { $0.mayChangeKeys ? .all : .keysApart } ?? .none
  }
}
