// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes
import Testing

@testable import HTTPCacheEngine

/// What is never stored, and what is stored in its place.
@Suite(.timeLimit(.minutes(10)))
struct WithholdingTests {
  private func stored(
    _ engine: CacheEngine, _ response: HTTPResponse, for request: HTTPRequest = request()
  ) throws -> StoredResponse {
    try #require(engine.stored(response, for: request))
  }

  @Test(
    "Fields that the application withholds are left out of the store (§3.1, §7.3)",
    arguments: [
      ("Set-Cookie: a=b", false, false), ("Set-Cookie: a=b", true, true), ("X-Other: a", false, true),
    ])
  func response_(line: String, isDefault: Bool, isKept: Bool) throws {
    var configuration = CacheEngine.Configuration(kind: .private)
    if !isDefault { configuration.withheldFields += ["Set-Cookie"] }
    let engine = CacheEngine(configuration)
    let stored = try stored(engine, response(200, "Cache-Control: max-age=60", line, "X-End: 1"))
    let name = try #require(HTTPFields(line).first?.name)
    #expect((stored.fields[name] != nil) == isKept)
    #expect(stored.fields[.cacheControl] == "max-age=60")
    #expect(engine.plan(request(), [stored], after: 1).reason == .fresh)
  }

  @Test("Any field can be withheld, except those that decide on reuse")
  func choice() throws {
    var configuration = CacheEngine.Configuration(kind: .private)
    configuration.withheldFields = ["X-Token", "Cache-Control", "Vary"]
    let answer = response(200, "Cache-Control: max-age=60", "Vary: A", "X-Token: t", "Set-Cookie: a")
    let stored = try stored(CacheEngine(configuration), answer)
    #expect(
      stored.fields.map(\.name.canonicalName).sorted() == ["cache-control", "date", "set-cookie", "vary"])
    configuration.withheldFields = []
    #expect(try self.stored(CacheEngine(configuration), answer).fields.count == 5)
  }

  @Test(
    "A withheld validator is not a validator of the stored response (§4.3.1)",
    arguments: [
      (["ETag: \"a\""], [], true), (["ETag: \"a\""], ["etag"], false),
      (["ETag: \"a\"", "Last-Modified: \(date(-60))"], ["etag"], true),
      (["ETag: \"a\"", "Last-Modified: \(date(-60))"], ["etag", "last-modified"], false),
      (["Last-Modified: \(date(-60))"], ["last-modified"], false),
      (["ETag: \"a\"", "Cache-Control: no-cache=\"etag\""], [], false),
      (["ETag: \"a\"", "Cache-Control: private=\"etag\""], [], false),
      (["ETag: \"a\"", "Connection: etag"], [], false), (["ETag: \"a\"", "Connection: close"], [], true),
    ] as [([String], [String], Bool)])
  func validators(lines: [String], withheld: [String], hasValidator: Bool) throws {
    var configuration = CacheEngine.Configuration(kind: .shared)
    configuration.withheldFields += withheld
    let engine = CacheEngine(configuration)
    let answer = HTTPResponse(
      status: .ok, headerFields: HTTPFields(lines: ["Cache-Control: max-age=60"] + lines))
    let stored = try stored(engine, answer)
    #expect(stored.facts.flags.contains(.hasValidator) == hasValidator)
    let decoded = try #require(StoredResponse(decoding: stored.encoded()[...]))
    #expect(decoded.facts.flags.contains(.hasValidator) == hasValidator)
    // Nor is there anything to ask the origin with.
    guard case .forward(let forwarding) = engine.plan(request(), [stored], after: 100) else {
      Issue.record("A stale response answered.")
      return
    }
    #expect(forwarding.isValidation == hasValidator)
  }

  @Test("Credentials in a 304 reach the client and not the store")
  func update() throws {
    var configuration = CacheEngine.Configuration(kind: .private)
    configuration.withheldFields += ["Set-Cookie"]
    let engine = CacheEngine(configuration)
    let kept = try stored(engine, response(200, "ETag: \"a\"", "Cache-Control: max-age=60"))
    let later = arrival.advanced(bySeconds: 61)
    let outcome = try #require(
      engine.exchange(
        request(), [kept], .response(response(304, "ETag: \"a\"", "Set-Cookie: user")), requestTime: later,
        responseTime: later))
    #expect(outcome.storedAnswer?.response.fields[.setCookie] == "user")
    #expect(outcome.updates.first?.response.fields[.setCookie] == nil)
  }

  @Test(
    "Credentials that a response varies on are stored as a digest that selects it",
    arguments: ["Authorization: Bearer secret-token", "Cookie: session=secret-token; a=b"])
  func selecting(line: String) throws {
    let engine = CacheEngine.privately
    let name = line.prefix { $0 != ":" }
    let asked = request(line)
    let stored = try stored(
      engine, response(200, "Cache-Control: max-age=60", "Vary: \(name), Accept"), for: asked)
    let bytes = stored.encoded()
    #expect(!String(decoding: bytes, as: UTF8.self).contains("secret-token"))
    let decoded = try #require(StoredResponse(decoding: bytes[...]))
    #expect(decoded == stored)
    #expect(engine.plan(asked, [decoded], after: 1).reason == .fresh)
    #expect(engine.plan(request(line + "x"), [decoded], after: 1).reason == .noVariantMatches)
    #expect(engine.plan(request(), [decoded], after: 1).reason == .noVariantMatches)
    // The short way leaves it to the long one.
    let hit = engine.hit(
      for: asked, policy: .useProtocolCachePolicy, stored: bytes.span.bytes, now: arrival)
    #expect(hit == nil)
  }

  @Test("Digests distinguish variants, even from values that spell a digest")
  func variants() {
    let fields = { (value: String) -> HTTPFields in [.authorization: value] }
    let vary = VaryField.names(["authorization"])
    let digest = SelectingFields(vary, of: fields("a"), withholding: ["authorization"])
    let other = SelectingFields(vary, of: fields("b"), withholding: ["authorization"])
    let absent = SelectingFields(vary, of: [:], withholding: ["authorization"])
    let spelt = SelectingFields(vary, of: fields(digest.fields[0].value?.description ?? ""))
    #expect(Set([digest, other, absent, spelt].map(\.variantKey)).count == 4)
    #expect(Set([digest, other, absent, spelt]).count == 4)
    #expect(digest.match(fields("a")) && !digest.match(fields(digest.fields[0].value?.description ?? "")))
    #expect(absent.match([:]) && !absent.match(fields("a")))
  }
}
