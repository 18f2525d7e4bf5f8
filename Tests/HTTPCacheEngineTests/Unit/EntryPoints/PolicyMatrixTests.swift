// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes
import Testing

@testable import HTTPCacheEngine

/// The six policies: what they send, and what they do with HEAD. All of GET is in the table of HTTPCachingTests.
@Suite(.timeLimit(.minutes(10)))
struct PolicyMatrixTests {
  enum State: CaseIterable {
    case nothing
    case fresh
    case stale
    case staleWithoutValidator
    case noCache
    case mustRevalidate
    case otherVariant
  }

  enum Answer {
    case serve
    case serveStale
    case fetch
    case validate
    case fail
  }

  /// In the order of `State.allCases`.
  private static let table: [RequestCachePolicy: [Answer]] = [
    .useProtocolCachePolicy: [.fetch, .serve, .fetch, .fetch, .fetch, .fetch, .fetch],
    .reloadIgnoringLocalCacheData: Array(repeating: .fetch, count: 7),
    .reloadIgnoringLocalAndRemoteCacheData: Array(repeating: .fetch, count: 7),
    .returnCacheDataElseLoad: [
      .fetch, .serve, .serveStale, .serveStale, .serveStale, .serveStale, .fetch,
    ],
    .returnCacheDataDontLoad: [.fail, .serve, .serveStale, .serveStale, .serveStale, .serveStale, .fail],
    .reloadRevalidatingCacheData: [.fetch, .fetch, .fetch, .fetch, .fetch, .fetch, .fetch],
  ]

  private func candidates(_ state: State, _ engine: CacheEngine) throws -> [StoredResponse] {
    let head: HTTPResponse
    switch state {
    case .nothing: return []
    case .fresh: head = response(200, "Cache-Control: max-age=600", "ETag: \"a\"")
    case .stale: head = response(200, "Cache-Control: max-age=60", "ETag: \"a\"")
    case .staleWithoutValidator: head = response(200, "Cache-Control: max-age=60")
    case .noCache: head = response(200, "Cache-Control: max-age=600, no-cache", "ETag: \"a\"")
    case .mustRevalidate: head = response(200, "Cache-Control: max-age=60, must-revalidate", "ETag: \"a\"")
    case .otherVariant: head = response(200, "Cache-Control: max-age=600", "ETag: \"a\"", "Vary: A")
    }
    return [try #require(engine.stored(head, for: state == .otherVariant ? request("A: 1") : request()))]
  }

  @Test(
    "Each policy treats HEAD like GET, but without conditions (§4.3.5)",
    arguments: RequestCachePolicy.allCases, CacheEngine.Configuration.Kind.allCases)
  func head(policy: RequestCachePolicy, kind: CacheEngine.Configuration.Kind) throws {
    let engine = CacheEngine.of(kind)
    let row = try #require(Self.table[policy])
    for (state, expected) in zip(State.allCases, row) {
      let stored = try candidates(state, engine)
      let plan = engine.plan(request(method: .head), stored, after: 120, policy: policy)
      let answer: Answer =
        switch plan {
        case .serve(let service): service.isStale ? .serveStale : .serve
        case .forward(let forwarding): forwarding.isValidation ? .validate : .fetch
        case .fail: .fail
        }
      #expect(answer == expected, "\(state)")
    }
  }

  @Test("A remote reload sends no-cache, a revalidating reload max-age=0, other policies neither")
  func directivesSent() throws {
    let stored = try candidates(.stale, .privately)
    for policy in RequestCachePolicy.allCases where policy != .returnCacheDataDontLoad {
      let plan = CacheEngine.privately.plan(
        request(), policy == .returnCacheDataElseLoad ? [] : stored, after: 120, policy: policy)
      let fields = try #require(plan.forwarding).request.headerFields
      let pragma = try #require(HTTPField.Name("Pragma"))
      #expect((fields[pragma] == "no-cache") == (policy == .reloadIgnoringLocalAndRemoteCacheData))
      switch policy {
      case .reloadIgnoringLocalAndRemoteCacheData: #expect(fields[.cacheControl] == "no-cache")
      case .reloadRevalidatingCacheData: #expect(fields[.cacheControl] == "max-age=0")
      default: #expect(fields[.cacheControl] == nil)
      }
    }
  }

  @Test(
    "A remote reload adds no-cache to the request's Cache-Control once",
    arguments: [
      ("", "no-cache"), ("Cache-Control: no-store", "no-store, no-cache"),
      ("Cache-Control: No-Cache", "No-Cache"),
      ("Cache-Control: max-age=0, no-cache", "max-age=0, no-cache"),
    ])
  func reload(line: String, sent: String) {
    let plan = CacheEngine.shared.plan(request(line), [], policy: .reloadIgnoringLocalAndRemoteCacheData)
    #expect(plan.forwarding?.request.headerFields[.cacheControl] == sent)
  }

  @Test("A response fetched under any policy is stored", arguments: RequestCachePolicy.allCases)
  func stores(policy: RequestCachePolicy) throws {
    guard policy != .returnCacheDataDontLoad else { return }
    let outcome = try #require(
      CacheEngine.privately.exchange(
        request(), [], .response(response(200, "Cache-Control: max-age=60")), policy: policy))
    #expect(outcome.storage.reason == .storedWithLifetime)
  }

  @Test("returnCacheDataDontLoad refuses a request when nothing is stored")
  func neverLoads() {
    let plan = CacheEngine.privately.plan(request(), [], policy: .returnCacheDataDontLoad)
    #expect(plan.refusal?.reason == .policyForbidsNetwork)
  }

  @Test("A failed reload is not answered from the store", arguments: RequestCachePolicy.allCases)
  func reloadFails(policy: RequestCachePolicy) throws {
    let engine = CacheEngine(.init(kind: .private, whenDisconnected: .unlessForbidden))
    let stored = try #require(
      engine.stored(response(200, "Cache-Control: max-age=60, stale-if-error=600", "ETag: \"a\"")))
    let later = arrival.advanced(bySeconds: 120)
    let outcome = engine.exchange(
      request(), [stored], .failure, policy: policy, requestTime: later, responseTime: later)
    guard let outcome else { return }
    #expect((outcome.storedAnswer != nil) == (policy == .useProtocolCachePolicy))
  }
}
