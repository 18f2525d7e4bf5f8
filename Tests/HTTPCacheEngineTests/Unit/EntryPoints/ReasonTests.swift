// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Testing

@testable import HTTPCacheEngine

@Suite(.timeLimit(.minutes(10)))
struct ReasonTests {
  @Test("Every reason has a section and one sentence of text", arguments: CacheEngine.Reason.allCases)
  func texts(reason: CacheEngine.Reason) {
    let others = ["Policy", "Application", "Rule", "Store", "QUERY draft", "Clear-Site-Data", "Shared tier"]
    #expect(reason.section.hasPrefix("RFC ") || others.contains(reason.section))
    if reason.section.hasPrefix("RFC ") { #expect(reason.section.contains(" §")) }
    #expect(reason.sentence.count > 15)
    #expect(reason.sentence.last == ".")
    #expect(reason.sentence.first?.isUppercase == true)
    #expect(!reason.sentence.contains("\n"))
    #expect(reason.description == "\(reason.sentence) (\(reason.section))")
  }

  @Test("Every reason has its own sentence")
  func distinct() {
    #expect(Set(CacheEngine.Reason.allCases.map(\.sentence)).count == CacheEngine.Reason.allCases.count)
  }

  @Test("Every reason to forward has an fwd value for Cache-Status (RFC 9211 §2.2)")
  func forwards() {
    let asking: [CacheEngine.Reason: CacheStatus.Forward] = [
      .nothingStored: .uriMiss, .noVariantMatches: .varyMiss, .stale: .stale, .staleMustRevalidate: .stale,
      .noLifetime: .stale, .storedNoCache: .stale, .storedInvalidated: .stale, .storedInTheFuture: .stale,
      .storedUnconfirmed: .stale,
      .requestNoCache: .request, .requestMaxAge: .request, .requestMinFresh: .request,
      .originPrecondition: .bypass, .targetNotCacheable: .bypass, .requestContent: .bypass,
      .policyIgnoresStored: .bypass, .policyRevalidates: .request, .methodNotCacheable: .method,
      .unsafeMethod: .method, .contentIncomplete: .partial, .completionUnusable: .partial,
    ]
    for (reason, forward) in asking { #expect(reason.forward == forward, "\(reason)") }
    #expect(CacheEngine.Reason.fresh.forward == nil)
  }

  @Test("A Cache-Status member has the format of RFC 9211")
  func cacheStatus() {
    #expect(CacheStatus(cache: "c", isHit: true, timeToLive: .seconds(-5)).fieldValue == "c; hit; ttl=-5")
    #expect(
      CacheStatus(
        cache: "c", forward: .uriMiss, forwardStatus: 200, isStored: true, isCollapsed: true,
        reason: .storedWithLifetime
      ).fieldValue
        == "c; fwd=uri-miss; fwd-status=200; stored; collapsed; detail=storedWithLifetime")
  }
}
