// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes
import Testing

@testable import HTTPCacheEngine

@Suite("Responses to requests with Authorization in a private cache (RFC 9111 §3.5)")
struct CredentialsTests {
  private func stored(
    _ engine: CacheEngine, _ response: HTTPResponse, for asked: HTTPRequest
  ) throws -> StoredResponse {
    try #require(engine.stored(response, for: asked))
  }

  private static let users = ["Authorization: Basic YTpi", "Authorization: Bearer other", ""]

  @Test(
    "A response to a request with Authorization answers only the same credentials in a private cache",
    arguments: [
      ("Cache-Control: max-age=60", false), ("Cache-Control: max-age=60, private", false),
      ("Cache-Control: max-age=60, must-revalidate", false), ("Cache-Control: max-age=60, public", true),
      ("Cache-Control: max-age=60, s-maxage=60", true),
    ], ["", "Vary: Accept", "Vary: Authorization", "Vary: Cookie, Accept"])
  func separation(directives: (String, isShared: Bool), vary: String) throws {
    let engine = CacheEngine.privately
    let stored = try stored(engine, response(200, directives.0, vary), for: request(Self.users[0]))
    for (position, user) in Self.users.enumerated() {
      let isSelected = position == 0 || (directives.isShared && !vary.contains("Authorization"))
      let reason = engine.plan(request(user), [stored], after: 1).reason
      #expect(reason == (isSelected ? .fresh : .noVariantMatches), "\(user)")
      // The short way never answers more.
      let hit = engine.hit(
        for: request(user), policy: .useProtocolCachePolicy, stored: stored.encoded().span.bytes, now: arrival
      )
      #expect(hit == nil || isSelected)
    }
  }

  @Test("Without separation, and without Authorization in the first request, it answers all credentials")
  func noSeparation() throws {
    var configuration = CacheEngine.Configuration(kind: .private)
    configuration.separatesCredentials = false
    for (engine, first) in [(CacheEngine(configuration), Self.users[0]), (.privately, "")] {
      let stored = try stored(engine, response(200, "Cache-Control: max-age=60"), for: request(first))
      for user in Self.users {
        #expect(engine.plan(request(user), [stored], after: 1).reason == .fresh)
      }
    }
  }

  @Test("An update keeps responses apart, and permits what its public permits")
  func updates() throws {
    let engine = CacheEngine.privately
    let asked = request(Self.users[0])
    let stored = try stored(engine, response(200, "Cache-Control: max-age=60", "ETag: \"a\""), for: asked)
    for (line, isOpened) in [
      ("Cache-Control: max-age=90", false), ("Cache-Control: max-age=90, public", true),
    ] {
      let outcome = try #require(
        engine.exchange(
          asked, [stored], .response(response(304, "ETag: \"a\"", line)),
          requestTime: arrival.advanced(bySeconds: 61), responseTime: arrival.advanced(bySeconds: 61)))
      let updated = try #require(outcome.updates.first).response
      #expect(engine.plan(asked, [updated], after: 62).reason == .fresh)
      #expect(engine.plan(request(), [updated], after: 62).reason == (isOpened ? .fresh : .noVariantMatches))
    }
  }
}
