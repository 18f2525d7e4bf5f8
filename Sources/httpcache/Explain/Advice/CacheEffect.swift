// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine

/// The effect of storing or not storing a response, for one kind of cache.
enum CacheEffect: Hashable {
  /// Not stored.
  case refused(CacheEngine.Reason)
  /// Served for this many seconds without the origin.
  case fresh(seconds: Int64, isGuess: Bool)
  /// Stale at once, and served for this many seconds while it is revalidated.
  case staleFor(seconds: Int64)
  /// Every use revalidates it with the origin.
  case revalidated
  /// Every use refetches it, so that storing it has no benefit.
  case refetched

  var isRefusal: Bool { if case .refused = self { true } else { false } }

  /// As a part of a sentence.
  var phrase: String {
    switch self {
    case .refused(let reason): "not stored (\(reason.keyword))"
    case .fresh(0, let isGuess): "cached for less than a second" + (isGuess ? ", by a heuristic" : "")
    case .fresh(let seconds, let isGuess):
      "cached for \(Phrases.duration(seconds))" + (isGuess ? ", by a heuristic" : "")
    case .staleFor(let seconds): "served stale for \(Phrases.duration(seconds)) while it is revalidated"
    case .revalidated: "stored, and revalidated at every use"
    case .refetched: "effectively not cached: every use refetches it"
    }
  }

  /// Returns one line for all requested kinds of cache.
  static func verdict(_ effects: [CacheEngine.Configuration.Kind: CacheEffect]) -> String {
    switch (effects[.private], effects[.shared]) {
    case (let own?, let shared?) where own == shared: "Private and shared caches: \(own.phrase)."
    case (let own?, let shared?): "Private caches: \(own.phrase). Shared caches: \(shared.phrase)."
    case (let own?, nil): "Private caches: \(own.phrase)."
    case (nil, let shared?): "Shared caches: \(shared.phrase)."
    case (nil, nil): "No kind of cache was chosen."
    }
  }
}

extension Question {
  /// Returns the effect for a response that is stored, or not.
  ///
  /// - Parameter refusal: why nothing is stored.
  func effect(of stored: StoredResponse?, refusal: CacheEngine.Reason) -> CacheEffect {
    guard let stored else { return .refused(refusal) }
    switch withoutDirectives.plan([stored], after: 0) {
    case .serve(let service) where service.isStale:
      return .staleFor(seconds: engine.staleSeconds(of: stored).whileRevalidate)
    case .serve:
      return .fresh(
        seconds: stored.facts.remainingLifetime(at: arrival) / 1000,
        isGuess: stored.facts.lifetime.source == .heuristic)
    case .forward(let forwarding): return forwarding.isValidation ? .revalidated : .refetched
    case .fail(let refusal): return .refused(refusal.reason)
    }
  }
}

extension CacheEngine.Reason {
  /// One or two words, for a line without room for the sentence.
  fileprivate var keyword: String {
    switch self {
    case .responseNoStore: "no-store"
    case .requestNoStore: "the request's no-store"
    case .privateInSharedCache: "private"
    case .authorizedInSharedCache: "the request's Authorization"
    case .cookiesNotShared, .cookiesBypassed: "Set-Cookie"
    case .methodNotStored: "the method"
    case .statusNotFinal, .statusNotUnderstood, .notDeclaredCacheable: "the status code"
    case .partNotPlaced: "a part of unknown position"
    case .onlyIfCached: "only-if-cached"
    default: rawValue
    }
  }
}
