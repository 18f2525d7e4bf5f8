// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes
import SystemPackage
import TestSupport
import Testing

@testable import HTTPCaching

@Suite("No-Vary-Search in the cache", .timeLimit(.minutes(10)))
struct NoVarySearchCacheTests {
  private static func name() throws -> HTTPField.Name { try #require(HTTPField.Name("No-Vary-Search")) }

  /// Answers with the request's path, and this rule.
  private static func origin(_ rule: @escaping @Sendable (Int) -> String? = { _ in "params=(\"utm\")" })
    throws
    -> MemoryOrigin
  {
    let name = try name()
    return MemoryOrigin { request, number in
      if request.method == .post { return .ok("posted", [:]) }
      var fields: HTTPFields = [.cacheControl: "max-age=60"]
      rule(number).map { fields[name] = $0 }
      return .ok("\(number) \(request.path ?? "")", fields)
    }
  }

  private static func setting(isOn: Bool = true, directory: FilePath? = nil) throws -> Setting {
    try Setting(directory: directory) { $0.rules.usesNoVarySearch = isOn }
  }

  @Test("A response serves the queries that its field declares equivalent, and no others")
  func equivalents() async throws {
    let (setting, origin) = (try Self.setting(), try Self.origin())
    _ = try await setting.get("/?id=1&utm=a", from: origin)
    #expect(try await setting.get("/?id=1&utm=b", from: origin).text == "1 /?id=1&utm=a")
    #expect(try await setting.get("/?id=1", from: origin).source == .hit)
    #expect(try await setting.get("/?id=2", from: origin).source == .network)
    #expect(setting.cache.storedResponse(for: .get("/?utm=z&id=2"))?.source == .hit)
    #expect(try await setting.get("/other?id=1", from: origin).source == .network)
  }

  @Test("What URLs share is in no list of requests, as the queries are not known")
  func requests() async throws {
    let (setting, origin) = (try Self.setting(), try Self.origin())
    for path in ["/?id=1&utm=a", "/?id=2"] { _ = try await setting.get(path, from: origin) }
    var found = HTTPCache.StoredRequests(room: (100, 10_000))
    await setting.cache.addRequests(of: .all, to: &found)
    #expect(found.requests.isEmpty && found.left == 2)
    // The target itself is known.
    var one = HTTPCache.StoredRequests(room: (100, 10_000))
    let target = try #require(TargetURI(absolute: "https://example.test/?id=2"))
    await setting.cache.addRequests(of: .target(target), to: &one)
    #expect(one.requests.allSatisfy { $0.url == target.text && $0.fields.isEmpty })
  }

  @Test("No-Vary-Search is ignored by default")
  func offByDefault() async throws {
    let (setting, origin) = (try Self.setting(isOn: false), try Self.origin())
    _ = try await setting.get("/?id=1&utm=a", from: origin)
    #expect(try await setting.get("/?id=1&utm=b", from: origin).source == .network)
    #expect(!CacheEngine.Configuration(kind: .private).usesNoVarySearch)
  }

  @Test("An unsafe request to an equivalent URI invalidates the response")
  func invalidation() async throws {
    let (setting, origin) = (try Self.setting(), try Self.origin())
    _ = try await setting.get("/?id=1&utm=a", from: origin)
    var post = HTTPRequest.get("/?id=1&utm=c")
    post.method = .post
    _ = try await setting.cache.respond(to: post, transport: origin.transport)
    #expect(try await setting.get("/?id=1&utm=a", from: origin).source == .network)
    setting.cache.remove(.target(of: .get("/?utm=q&id=1")))
    #expect(try await setting.get("/?id=1&utm=a", from: origin).source == .network)
  }

  @Test(
    "A response in flight when an equivalent URI was invalidated is not stored", arguments: [false, true])
  func invalidatedMeanwhile(isRuleKnown: Bool) async throws {
    let (setting, gate) = (try Self.setting(), Gate())
    let name = try Self.name()
    let origin = MemoryOrigin { request, number in
      if request.path == "/?id=1&utm=slow" { await gate.wait() }
      return .ok("\(number)", [.cacheControl: "max-age=60", name: "params=(\"utm\")"])
    }
    if isRuleKnown { _ = try await setting.get("/?id=9", from: origin) }
    async let slow = setting.get("/?id=1&utm=slow", from: origin)
    try await origin.reach(isRuleKnown ? 2 : 1)
    setting.cache.remove(.target(of: .get("/?id=1&utm=slow")))
    gate.open()
    _ = try await slow
    #expect(try await setting.get("/?id=1", from: origin).source == .network)
  }

  @Test("Another rule for the path makes responses stored by the old rule unreachable")
  func otherRule() async throws {
    let setting = try Self.setting()
    let origin = try Self.origin { $0 == 1 ? "params=(\"utm\")" : $0 == 2 ? "except=(\"id\")" : nil }
    _ = try await setting.get("/?id=1&utm=a", from: origin)
    _ = try await setting.get("/?id=2&utm=a", from: origin)
    // The rule of the second does not let the first answer; nor is it lost for a wrong answer.
    #expect(try await setting.get("/?id=1&utm=a", from: origin).source == .network)
    #expect(try await setting.get("/?id=2&x=y", from: origin).text == "2 /?id=2&utm=a")
    // The third had no rule: it answers for its own URI alone.
    #expect(try await setting.get("/?id=1&utm=a", from: origin).text == "3 /?id=1&utm=a")
    #expect(try await setting.get("/?id=1&utm=b", from: origin).source == .network)
  }

  @Test("A newer response without the field replaces an older one with it for its URI")
  func newerWithout() async throws {
    let (setting, origin) = (try Self.setting(), try Self.origin { $0 == 1 ? "params=(\"utm\")" : nil })
    _ = try await setting.get("/?id=1&utm=a", from: origin)
    setting.clock.advance(seconds: 61)
    #expect(try await setting.get("/?id=1&utm=a", from: origin).source == .network)
    let again = try await setting.get("/?id=1&utm=a", from: origin)
    #expect(again.source == .hit)
    #expect(again.text == "2 /?id=1&utm=a")
    let old = try await setting.get("/?id=1&utm=a", from: origin, policy: .returnCacheDataDontLoad)
    #expect(old.text == "2 /?id=1&utm=a")
  }

  @Test("After an update of the field, only the new equivalence applies")
  func updated() async throws {
    let (setting, name) = (try Self.setting(), try Self.name())
    let origin = MemoryOrigin { request, number in
      request.headerFields[.ifNoneMatch] == nil
        ? .ok("\(number)", [.cacheControl: "max-age=60", .eTag: "\"1\"", name: "params=(\"utm\")"])
        : .ok(
          "", [.cacheControl: "max-age=60", .eTag: "\"1\"", name: "params=(\"other\")"], status: .notModified)
    }
    _ = try await setting.get("/?utm=a", from: origin)
    setting.clock.advance(seconds: 61)
    #expect(try await setting.get("/?utm=b", from: origin).source == .validated)
    #expect(try await setting.get("/?utm=c", from: origin).source == .network)
  }

  @Test("With a disk, responses in memory are served from memory, with the field or without")
  func residentWithDisk() async throws {
    try await withTemporaryDirectory { directory async throws in
      let setting = try Self.setting(directory: directory)
      let origin = try Self.origin { $0 == 1 ? "params=(\"utm\")" : nil }
      _ = try await setting.get("/?id=1&utm=a", from: origin)
      #expect(setting.cache.storedResponse(for: .get("/?id=1&utm=b"))?.source == .hit)
      _ = try await setting.get("/other", from: origin)
      #expect(setting.cache.storedResponse(for: .get("/other"))?.source == .hit)
      setting.cache.close()
    }
  }

  @Test("The equivalence applies after the directory is reopened")
  func persists() async throws {
    try await withTemporaryDirectory { directory in
      let origin = try Self.origin()
      do {
        let setting = try Self.setting(directory: directory)
        _ = try await setting.get("/?id=1&utm=a", from: origin)
        setting.cache.close()
      }
      let setting = try Self.setting(directory: directory)
      #expect(try await setting.get("/?utm=b&id=1", from: origin).source == .hit)
      setting.cache.close()
    }
  }
}
