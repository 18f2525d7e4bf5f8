// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes
import Testing

@testable import HTTPCacheEngine

@Suite("immutable (RFC 8246)", .timeLimit(.minutes(10)))
struct ImmutableTests {
  private func secure(_ lines: String..., scheme: String = "https") -> HTTPRequest {
    HTTPRequest(
      method: .get, scheme: scheme, authority: "a.example", path: "/r", headerFields: HTTPFields(lines: lines)
    )
  }

  private func stored(
    _ engine: CacheEngine, cacheControl: String = "max-age=600, immutable",
    framing: String = "Content-Length: 3",
    request: HTTPRequest? = nil
  ) throws -> StoredResponse {
    let head = response(200, "Cache-Control: \(cacheControl)", "ETag: \"a\"", framing)
    return try #require(engine.stored(head, for: request ?? secure()))
  }

  struct Row: CustomTestStringConvertible {
    var policy = RequestCachePolicy.useProtocolCachePolicy
    var field = ""
    /// `nil` where the origin is asked.
    var served: CacheEngine.Reason?
    var asked: CacheEngine.Reason?
    var testDescription: String { "\(policy) \(field)" }
  }

  /// Fresh, and 100 seconds old.
  private static let rows = [
    Row(served: .fresh),
    Row(field: "Cache-Control: max-age=0", served: .immutable),
    Row(field: "Cache-Control: max-age=99", served: .immutable),
    Row(field: "Cache-Control: max-age=200", served: .fresh),
    Row(field: "Cache-Control: no-cache", asked: .requestNoCache),
    Row(field: "Pragma: no-cache", asked: .requestNoCache),
    Row(field: "Cache-Control: min-fresh=500", served: .fresh),
    Row(field: "Cache-Control: min-fresh=501", asked: .requestMinFresh),
    Row(field: "Cache-Control: max-age=0, min-fresh=500", served: .immutable),
    Row(field: "Cache-Control: max-age=0, no-cache", asked: .requestNoCache),
    Row(policy: .reloadRevalidatingCacheData, served: .immutable),
    Row(policy: .reloadRevalidatingCacheData, field: "Cache-Control: max-age=0", served: .immutable),
    Row(policy: .reloadRevalidatingCacheData, field: "Cache-Control: no-cache", asked: .policyRevalidates),
    Row(policy: .reloadRevalidatingCacheData, field: "Pragma: no-cache", asked: .policyRevalidates),
    Row(
      policy: .reloadRevalidatingCacheData, field: "Cache-Control: min-fresh=501", asked: .policyRevalidates),
    Row(policy: .reloadIgnoringLocalCacheData, asked: .policyIgnoresStored),
    Row(policy: .reloadIgnoringLocalAndRemoteCacheData, asked: .policyIgnoresStored),
    Row(policy: .returnCacheDataElseLoad, served: .fresh),
    Row(policy: .returnCacheDataDontLoad, served: .fresh),
  ]

  @Test(
    "A fresh immutable response is revalidated only if a reload is forced (RFC 8246 §2)",
    arguments: rows, CacheEngine.Configuration.Kind.allCases)
  func fresh(row: Row, kind: CacheEngine.Configuration.Kind) throws {
    let engine = CacheEngine.of(kind)
    let plan = engine.plan(secure(row.field), [try stored(engine)], after: 100, policy: row.policy)
    #expect(plan.service?.reason == row.served)
    #expect(plan.forwarding?.reason == row.asked)
    #expect(plan.service?.isStale != true)
  }

  @Test("A client that reloads with its own condition gets 304 (RFC 8246 §2.1)")
  func notModified() throws {
    let request = secure("Cache-Control: max-age=0", "If-None-Match: \"a\"")
    let plan = CacheEngine.shared.plan(request, [try stored(.shared)], after: 100)
    #expect(plan.service?.content == .notModified)
  }

  @Test("A stale immutable response is revalidated like any other (RFC 8246 §2)")
  func stale() throws {
    let engine = CacheEngine.privately
    let stored = try stored(engine)
    #expect(engine.plan(secure(), [stored], after: 599).service?.reason == .fresh)
    #expect(engine.plan(secure(), [stored], after: 600).forwarding?.reason == .stale)
    #expect(engine.plan(secure(), [stored], after: 600).forwarding?.isValidation == true)
    let reload = engine.plan(secure(), [stored], after: 600, policy: .reloadRevalidatingCacheData)
    #expect(reload.forwarding?.reason == .policyRevalidates)
    // Nor is it fresh where the clock has gone back.
    let early = engine.plan(secure(), [stored], after: -1, policy: .reloadRevalidatingCacheData)
    #expect(early.forwarding?.reason == .policyRevalidates)
  }

  @Test("no-cache and an invalidation mark override immutable")
  func noCache() throws {
    let engine = CacheEngine.privately
    var stored = try stored(engine, cacheControl: "max-age=600, immutable, no-cache")
    for policy in [RequestCachePolicy.useProtocolCachePolicy, .reloadRevalidatingCacheData] {
      #expect(engine.plan(secure(), [stored], policy: policy).forwarding?.isValidation == true)
    }
    stored = try self.stored(engine)
    stored.facts.flags.insert(.invalidated)
    let plan = engine.plan(secure(), [stored], policy: .reloadRevalidatingCacheData)
    #expect(plan.forwarding?.isValidation == true)
  }

  @Test("Arguments of immutable are ignored, and immutable in a request has no effect (RFC 8246 §2)")
  func arguments() throws {
    let engine = CacheEngine.privately
    let stored = try stored(engine, cacheControl: "max-age=600, immutable=\"x\", Immutable=0")
    #expect(engine.plan(secure("Cache-Control: max-age=0"), [stored], after: 1).service?.reason == .immutable)
    let plain = try self.stored(engine, cacheControl: "max-age=600")
    let plan = engine.plan(secure("Cache-Control: max-age=0, immutable"), [plain], after: 1)
    #expect(plan.forwarding?.reason == .requestMaxAge)
  }

  @Test(
    "immutable applies only over HTTPS and to content with explicit framing (RFC 8246 §3)",
    arguments: [
      ("https", "Content-Length: 3", true), ("https", "Transfer-Encoding: chunked", true),
      ("https", "", false), ("http", "Content-Length: 3", false), ("HTTPS", "Content-Length: 3", true),
    ])
  func authenticated(scheme: String, framing: String, counts: Bool) throws {
    let engine = CacheEngine.privately
    let request = secure(scheme: scheme)
    let stored = try stored(engine, framing: framing, request: request)
    let plan = engine.plan(request, [stored], after: 1, policy: .reloadRevalidatingCacheData)
    #expect((plan.service?.reason == .immutable) == counts)
  }

  @Test("An update keeps the facts about the content and replaces the immutable directive")
  func update() throws {
    let engine = CacheEngine.privately
    let before = try stored(
      engine, cacheControl: "max-age=60, immutable", framing: "Transfer-Encoding: chunked")
    let later = arrival.advanced(bySeconds: 100)
    func updated(_ line: String) throws -> StoredResponse {
      let outcome = engine.exchange(
        secure(), [before], .response(response(304, "ETag: \"a\"", line)), requestTime: later,
        responseTime: later)
      return try #require(outcome?.updates.first?.response)
    }
    let kept = try updated("")
    #expect(kept.facts.flags.contains(.immutable))
    #expect(StoredResponse(decoding: kept.encoded()[...])?.facts.flags == kept.facts.flags)
    #expect(try !updated("Cache-Control: max-age=60").facts.flags.contains(.immutable))
  }
}
