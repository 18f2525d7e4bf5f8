// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes
import TestSupport
import Testing

@testable import HTTPCaching

@Suite("Variants learned from a 304", .timeLimit(.minutes(10)))
struct LearnedVariantTests {
  /// An origin with one representation for all.
  private func origin(tag: String, _ fields: HTTPFields = [:]) -> MemoryOrigin {
    MemoryOrigin { request, _ in
      var own = fields
      own[.cacheControl] = own[.cacheControl] ?? "max-age=60"
      own[.vary] = "Accept-Encoding, Accept-Language"
      own[.eTag] = tag
      return .ok("content", own).confirmed(by: request)
    }
  }

  @Test(
    "A variant chosen by a 304 is a hit afterwards and shares the stored content",
    arguments: ["\"strong\"", "W/\"weak\""], [false, true])
  func learned(tag: String, onDisk: Bool) async throws {
    func run(_ setting: Setting, reopen: () throws -> Setting) async throws {
      let origin = origin(tag: tag)
      _ = try await setting.get(from: origin)
      let languages = ["de", "fr", "en"]
      for language in languages {
        let chosen = try await setting.get(from: origin, fields: [.acceptLanguage: language])
        #expect(chosen.source == .validated && chosen.text == "content")
        #expect(chosen.response.cacheStatus.isStored)
      }
      #expect(setting.log.reasons(.updated) == languages.map { _ in .variantLearned })
      #expect(origin.requests.count == 4)
      #expect(setting.cache.store.usage.memoryEntries == 1)
      let setting = try reopen()
      for language in languages + languages {
        let hit = try await setting.get(from: origin, fields: [.acceptLanguage: language])
        #expect(hit.source == .hit && hit.text == "content")
        #expect(
          setting.cache.storedResponse(for: .get(fields: [.acceptLanguage: language]))?.source == .hit)
      }
      #expect(try await setting.get(from: origin).source == .hit)
      #expect(origin.requests.count == 4)
      setting.cache.close()
    }
    if onDisk {
      try await withTemporaryDirectory { directory in
        let setting = try Setting(directory: directory)
        try await run(setting) {
          setting.cache.close()
          return try Setting(directory: directory)
        }
      }
    } else {
      let setting = try Setting()
      try await run(setting) { setting }
    }
  }

  @Test("A learned variant does not freshen the variant it was learned from")
  func staysStale() async throws {
    let setting = try Setting()
    let origin = origin(tag: "\"1\"")
    _ = try await setting.get(from: origin)
    setting.clock.advance(seconds: 61)
    #expect(try await setting.get(from: origin, fields: [.acceptLanguage: "de"]).source == .validated)
    #expect(try await setting.get(from: origin, fields: [.acceptLanguage: "de"]).source == .hit)
    #expect(try await setting.get(from: origin).source == .validated)
    #expect(origin.requests.count == 3)
    #expect(try await setting.get(from: origin).source == .hit)
  }

  @Test("Many variants that a 304 chose are all known, with one copy of the content for eight of them")
  func many() async throws {
    let setting = try Setting()
    let origin = origin(tag: "\"1\"")
    _ = try await setting.get(from: origin)
    for number in 0..<100 {
      #expect(
        try await setting.get(from: origin, fields: [.acceptLanguage: "x-\(number)"]).source == .validated)
    }
    for number in (0..<100).reversed() {
      let hit = try await setting.get(from: origin, fields: [.acceptLanguage: "x-\(number)"])
      #expect(hit.source == .hit && hit.text == "content", "\(number)")
    }
    #expect(origin.requests.count == 101)
    var contents = 0
    _ = setting.cache.store.sweep({ _, _ in true }, in: nil) { entry in
      contents += StoredResponse(decoding: entry.metadata[...]) == nil ? 0 : 1
      return .keep
    }
    #expect((12...20).contains(contents))
    #expect(setting.cache.store.usage.memoryBytes < 100_000)
  }

  @Test("A full response replaces a learned variant, even with an older date")
  func replaced() async throws {
    let setting = try Setting()
    let learning = origin(
      tag: "\"1\"", [.date: HTTPDate(setting.clock.now.advanced(bySeconds: 1000)).fieldValue])
    _ = try await setting.get(from: learning)
    _ = try await setting.get(from: learning, fields: [.acceptLanguage: "de"])
    let new = MemoryOrigin { _, _ in
      .ok("new", [.cacheControl: "max-age=60", .vary: "Accept-Encoding, Accept-Language", .eTag: "\"2\""])
    }
    _ = try await setting.get(
      from: new, policy: .reloadIgnoringLocalCacheData, fields: [.acceptLanguage: "de"])
    let hit = try await setting.get(from: new, fields: [.acceptLanguage: "de"])
    #expect(hit.source == .hit && hit.text == "new")
    #expect(try await setting.get(from: learning).text == "content")
  }

  @Test("Variants learned at the same time are all kept")
  func together() async throws {
    let setting = try Setting()
    let gate = Gate()
    let inner = origin(tag: "\"1\"")
    _ = try await setting.get(from: inner)
    let origin = MemoryOrigin(holding: [gate]) { request, _ in try await inner.transport(request, .empty) }
    try await withThrowingTaskGroup(of: CachedResponse.Source.self) { group in
      for number in 0..<6 {
        group.addTask {
          // A revalidation is not coalesced with another.
          try await setting.get(
            from: origin, policy: .reloadRevalidatingCacheData, fields: [.acceptLanguage: "x-\(number)"]
          ).source
        }
      }
      await gate.arrived(6)
      gate.open()
      for try await source in group { #expect(source == .validated) }
    }
    for number in 0..<6 {
      #expect(try await setting.get(from: origin, fields: [.acceptLanguage: "x-\(number)"]).source == .hit)
    }
  }

  struct Refused: Sendable {
    var kind: CacheEngine.Configuration.Kind
    var directives: String
    var fields: HTTPFields = [:]
  }

  @Test(
    "A variant that must not be stored is not learned",
    arguments: [
      Refused(kind: .shared, directives: "private"), Refused(kind: .private, directives: "no-store"),
      Refused(kind: .shared, directives: "max-age=60", fields: [.authorization: "Basic YTpi"]),
      Refused(kind: .private, directives: "max-age=60", fields: [.cacheControl: "no-store"]),
    ])
  func notStorable(trial: Refused) async throws {
    let setting = try Setting(kind: trial.kind)
    _ = try await setting.get(from: origin(tag: "\"1\""))
    let origin = origin(tag: "\"1\"", [.cacheControl: trial.directives])
    var asked = trial.fields
    asked[.acceptLanguage] = "de"
    for _ in 0..<2 {
      let answer = try await setting.get(from: origin, fields: asked)
      #expect(answer.source == .validated && !answer.response.cacheStatus.isStored)
    }
    #expect(origin.requests.count == 2)
  }
}
