// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes
import SystemPackage
import TestSupport
import Testing

@testable import HTTPCaching

@Suite("Purging", .timeLimit(.minutes(10)))
struct PurgeTests {
  private let groups: HTTPField.Name

  init() throws {
    groups = try #require(HTTPField.Name("Cache-Groups"))
  }

  /// What a purge is of, in one of the ways to say it.
  private enum Purge: CaseIterable {
    case request, target, glob, prefix, site, group, groupOfAny, origin, partition, since, before, everything

    /// `/a/1` and its like.
    var selection: HTTPCache.Selection {
      let target = TargetURI(scheme: "https", authority: "example.test", path: "/a/1")
      return switch self {
      case .request: .target(of: .get("/a/1"))
      case .target: .target(target)
      case .glob: .patterns([.glob("https://example.test/a/*")])
      case .prefix: .patterns([.prefix("HTTPS://Example.Test:443/a/"), .prefix("https://none.test/")])
      case .site:
        .site(0, in: SiteTable([SiteScope(hosts: ["example.test"], paths: ["/a"]), SiteScope()]))
      case .group: .group("a", of: target)
      case .groupOfAny: .group("a")
      case .origin: .origin(of: target)
      case .partition: .partition("p")
      case .since: .since(Timestamp(seconds: 0))
      case .before: .before(Timestamp(seconds: 1 << 40))
      case .everything: .all
      }
    }

    func run(_ cache: HTTPCache, softly: Bool) -> Int? {
      (softly ? cache.expire(selection) : cache.remove(selection, counting: true)).count
    }

    /// Whether it does not know before the response of what group that is.
    var isOfGroup: Bool { self == .group || self == .groupOfAny }

    /// Which of ``PurgeTests/paths`` it is of.
    var paths: [String] {
      switch self {
      case .request, .target: ["/a/1"]
      case .glob, .prefix, .site: ["/a/1", "/a/2?x=y"]
      case .group, .groupOfAny: ["/a/1", "/a/2?x=y", "/c"]
      case .origin, .partition, .since, .before, .everything: PurgeTests.paths
      }
    }
  }

  private static let paths = ["/a/1", "/a/2?x=y", "/b/1", "/b", "/c"]

  /// Validates by an entity tag, and counts.
  private func origin(_ more: HTTPFields = [:]) -> MemoryOrigin {
    MemoryOrigin { [groups] request, number in
      var fields: HTTPFields = [.cacheControl: "max-age=600", .eTag: "\"1\""]
      let path = request.path ?? ""
      if path.hasPrefix("/a") || path == "/c" { fields[groups] = "\"a\"" }
      for field in more { fields[field.name] = field.value }
      return .ok("\(number)", fields).confirmed(by: request)
    }
  }

  private enum Tier: CaseIterable {
    case memory, disk

    func run(_ body: (FilePath?) async throws -> Void) async throws {
      if self == .memory {
        try await body(nil)
      } else {
        try await withTemporaryDirectory { try await body($0) }
      }
    }
  }

  @Test(
    "A response in flight is stored, however many purges of others there are meanwhile",
    arguments: [false, true])
  func othersPurged(isNamed: Bool) async throws {
    let setting = try Setting()
    let origin = MemoryOrigin { [cache = setting.cache, groups] _, _ in
      let target = TargetURI(scheme: "https", authority: "example.test", path: "/")
      for number in 0..<300 {
        cache.remove(.patterns([.prefix("https://example.test/b/\(number)")]))
        cache.expire(.group("\(number)", of: target))
        cache.remove(.group("other\(number)", of: target))
      }
      if isNamed { cache.remove(.patterns([.glob("https://example.test/*/1")])) }
      return .ok("content", [.cacheControl: "max-age=60", groups: "\"a\""])
    }
    _ = try await setting.get("/a/1", from: origin)
    #expect((setting.cache.storedResponse(for: .get("/a/1")) != nil) == !isNamed)
    #expect(setting.log.reasons(isNamed ? .notStored : .stored).count == 1)
  }

  @Test(
    "A purge removes the matching responses and returns their number", arguments: Purge.allCases,
    Tier.allCases)
  private func removes(purge: Purge, tier: Tier) async throws {
    try await tier.run { directory in
      var setting = try Setting(directory: directory) { $0.partition = "p" }
      let origin = origin()
      for path in Self.paths { #expect(try await setting.get(path, from: origin).source == .network) }
      #expect(purge.run(setting.cache, softly: false) == purge.paths.count)
      #expect(purge.run(setting.cache, softly: false) == 0)
      if directory != nil {
        setting.cache.close()
        setting = try Setting(directory: directory) { $0.partition = "p" }
      }
      for path in Self.paths {
        let source = try await setting.get(path, from: origin).source
        #expect(source == (purge.paths.contains(path) ? .network : .hit), "\(path)")
      }
      setting.cache.close()
    }
  }

  @Test(
    "A soft purge has the matching responses revalidated before their next use", arguments: Purge.allCases,
    Tier.allCases)
  private func expires(purge: Purge, tier: Tier) async throws {
    try await tier.run { directory in
      var setting = try Setting(directory: directory) { $0.partition = "p" }
      let origin = origin()
      for path in Self.paths { _ = try await setting.get(path, from: origin) }
      setting.clock.advance(seconds: 10)
      #expect(purge.run(setting.cache, softly: true) == purge.paths.count)
      if directory != nil {
        setting.cache.close()
        let clock = setting.clock
        setting = try Setting(directory: directory) { $0.partition = "p" }
        setting.clock.advance(seconds: clock.now.seconds - setting.clock.now.seconds)
      }
      for source in [CachedResponse.Source.validated, .hit] {
        for path in Self.paths {
          let answer = try await setting.get(path, from: origin)
          #expect(answer.source == (purge.paths.contains(path) ? source : .hit), "\(path)")
          #expect(answer.text == "\(1 + (Self.paths.firstIndex(of: path) ?? 0))")
        }
      }
      setting.cache.close()
    }
  }

  @Test("A soft purge leaves the stale uses that directives and outages permit", arguments: Purge.allCases)
  private func staleUse(purge: Purge) async throws {
    let unreachable = MemoryOrigin { _, _ in throw Unreachable() }
    for (directives, isServed) in [
      ("max-age=600, stale-while-revalidate=60", true), ("max-age=600, stale-if-error=60", true),
      ("max-age=600, must-revalidate, stale-if-error=60", false), ("max-age=600", false),
    ] {
      let setting = try Setting(kind: .shared) {
        $0.rules.whenDisconnected = .nothing
        $0.partition = "p"
      }
      let origin = origin([.cacheControl: directives])
      _ = try await setting.get("/a/1", from: origin)
      // Not from when it was stored is it counted how long it is stale, but from the purge.
      setting.clock.advance(seconds: 500)
      #expect(purge.run(setting.cache, softly: true) == 1)
      setting.clock.advance(seconds: 50)
      let answer = try? await setting.get("/a/1", from: unreachable)
      #expect((answer?.source == .stale) == isServed, "\(directives)")
      try await setting.cache.fetches.emptied()
      setting.clock.advance(seconds: 20)
      let late = try? await setting.get("/a/1", from: unreachable)
      #expect(late?.source != .stale, "\(directives)")
    }
    let setting = try Setting(kind: .shared) {
      $0.rules.whenDisconnected = .unlessForbidden
      $0.partition = "p"
    }
    _ = try await setting.get("/a/1", from: origin())
    #expect(purge.run(setting.cache, softly: true) == 1)
    #expect(try await setting.get("/a/1", from: unreachable).source == .stale)
    #expect(purge.run(setting.cache, softly: false) == 1)
    await #expect(throws: Unreachable.self) { try await setting.get("/a/1", from: unreachable) }
  }

  @Test(
    "A purge keeps out responses in flight, and later requests do not wait for them",
    arguments: Purge.allCases, [false, true])
  private func underway(purge: Purge, softly: Bool) async throws {
    let setting = try Setting { $0.partition = "p" }
    let gate = Gate()
    let slow = MemoryOrigin { [groups] request, number in
      if number <= 2 { await gate.wait() }
      return .ok("\(number)", [.cacheControl: "max-age=600", groups: "\"a\""])
    }
    let first = Task { try await setting.get("/a/1", from: slow).text }
    await gate.arrived(1)
    let other = Task { try await setting.get("/b/1", from: slow).text }
    await gate.arrived(2)
    #expect(purge.run(setting.cache, softly: softly) == 0)
    if !purge.isOfGroup {
      // It is not known yet of what group the one is that is on its way.
      #expect(try await setting.get("/a/1", from: slow).text == "3")
    }
    gate.open()
    #expect(try await first.value == "1")
    #expect(try await other.value == "2")
    let isGroup = purge.isOfGroup
    let stored = setting.cache.storedResponse(for: .get("/a/1"))?.body.bytes
    #expect(stored.map(Array.init) == (isGroup ? nil : Array("3".utf8)))
    // The other one is in the group, too.
    let areBothRemoved = isGroup || purge.paths.contains("/b/1")
    #expect((setting.cache.storedResponse(for: .get("/b/1")) == nil) == areBothRemoved)
    #expect(
      setting.log.reasons(.notStored) == Array(repeating: .removedMeanwhile, count: areBothRemoved ? 2 : 1))
  }

  @Test("A soft purge is not undone by a revalidation in flight", arguments: Purge.allCases)
  private func validationUnderway(purge: Purge) async throws {
    let (setting, origin, gate) = (try Setting { $0.partition = "p" }, origin(), Gate())
    _ = try await setting.get("/a/1", from: origin)
    setting.clock.advance(seconds: 700)
    let slow = MemoryOrigin(holding: [gate]) { request, _ in try await origin.transport(request, .empty) }
    let first = Task { try await setting.get("/a/1", from: slow).source }
    await gate.arrived(1)
    #expect(purge.run(setting.cache, softly: true) == 1)
    gate.open()
    #expect(try await first.value == .validated)
    #expect(try await setting.get("/a/1", from: origin).source == .validated)
    #expect(try await setting.get("/a/1", from: origin).source == .hit)
  }

  @Test("A purge by time covers what was stored or validated then", arguments: [false, true], Tier.allCases)
  private func times(softly: Bool, tier: Tier) async throws {
    try await tier.run { directory in
      let (setting, origin) = (try Setting(directory: directory), origin())
      for path in ["/1", "/2"] { _ = try await setting.get(path, from: origin) }
      setting.clock.advance(seconds: 700)
      let time = setting.clock.now
      for path in ["/2", "/3"] { _ = try await setting.get(path, from: origin) }
      for (selection, paths) in [
        (HTTPCache.Selection.since(time.advanced(by: .seconds(1))), []), (.since(time), ["/2", "/3"]),
        (.before(time), ["/1"]),
      ] {
        let cache = setting.cache
        #expect((softly ? cache.expire(selection) : cache.remove(selection)).count == paths.count)
        let isRemoved = ["/1", "/2", "/3"].filter { cache.storedCopy(for: .get($0)) == nil }
        #expect(isRemoved == (softly ? [] : paths))
        for path in ["/2", "/3"] {
          let source = try await setting.get(path, from: origin).source
          #expect(source == (paths.contains(path) ? softly ? .validated : .network : .hit))
        }
      }
      setting.cache.close()
    }
  }

  @Test("A purge covers the variants of a target in its partition only")
  func variants() async throws {
    let setting = try Setting()
    let languages = MemoryOrigin.varyingOnLanguage()
    for language in ["de", "fr"] {
      _ = try await setting.get("/a/1", from: languages, fields: [.acceptLanguage: language])
    }
    _ = try await setting.cache.respond(
      to: .get("/a/1"), partition: "other", transport: languages.transport)
    let pattern = TargetPattern.prefix("https://example.test/")
    #expect(setting.cache.expire(.target(of: .get("/a/1"))).count == 2)
    #expect(setting.cache.remove(.patterns([pattern], partition: "none")).count == 0)
    #expect(setting.cache.remove(.patterns([pattern])).count == 2)
    #expect(setting.cache.remove(.patterns([], partition: "other")).count == 0)
    #expect(setting.cache.remove(.patterns([pattern], partition: "other")).count == 1)
  }

  @Test("A purge covers the URLs that No-Vary-Search makes equivalent", arguments: [false, true])
  func noVarySearch(softly: Bool) async throws {
    let field = try #require(HTTPField.Name("No-Vary-Search"))
    let origin = MemoryOrigin { _, number in
      .ok("\(number)", [.cacheControl: "max-age=600", field: "key-order, params=(\"utm\")"])
    }
    for pattern in [
      TargetPattern.glob("*/a?id=1*"), .prefix("https://example.test/a?id=1"),
      .prefix("https://example.test/a"),
      .glob("https://*/a*"),
    ] {
      let setting = try Setting { $0.rules.usesNoVarySearch = true }
      _ = try await setting.get("/a?id=1&utm=x", from: origin)
      #expect(try await setting.get("/a?utm=y&id=1", from: origin).source == .hit)
      let none = TargetPattern.glob("https://example.test/b*")
      #expect(setting.cache.remove(.patterns([none])).count == 0)
      #expect(
        (softly
          ? setting.cache.expire(.patterns([pattern])) : setting.cache.remove(.patterns([pattern]))).count
          == 1)
      #expect(try await setting.get("/a?utm=z&id=1", from: origin).source == .network)
      #expect(try await setting.get("/a?id=1&utm=w", from: origin).source == .hit)
      #expect(setting.cache.expire(.target(of: .get("/a?utm=1&id=1"))).count == 1)
      #expect(setting.cache.remove(.target(of: .get("/a?id=1&utm=2"))).count == 1)
    }
  }

  @Test("A purge covers responses to QUERY")
  func query() async throws {
    let setting = try Setting()
    let origin = MemoryOrigin { _, number in .ok("\(number)") }
    var request = HTTPRequest.get("/a/1")
    request.method = try #require(HTTPRequest.Method("QUERY"))
    func source() async throws -> CachedResponse.Source {
      let response = try await setting.cache.respond(
        to: request, body: MessageBody(Array("q".utf8)), transport: origin.transport)
      _ = try await response.body.collect(upTo: .max)
      return response.source
    }
    let purges: [(HTTPCache) -> HTTPCache.RemovalResult] = [
      { $0.remove(.target(of: .get("/a/1"))) }, { $0.expire(.target(of: .get("/a/1"))) },
      { $0.remove(.patterns([.glob("*/a/*")])) }, { $0.expire(.patterns([.glob("*/a/*")])) },
    ]
    // The third finds those, too, to which nothing leads any more.
    for (purge, count) in zip(purges, [0, 0, 3, 1]) {
      _ = try await source()
      #expect(try await source() == .hit)
      #expect(purge(setting.cache).count == count)
      #expect(try await source() == .network)
    }
  }

  @Test(
    "Patterns are compared with whole URIs in their normal form",
    arguments: [
      (TargetPattern.glob("*"), true), (.glob("https://example.com/a/b.css?v=1"), true),
      (.glob("https://example.com/*.css"), false), (.glob("https://*.com/*.css*"), true),
      (.glob("HTTPS://EXAMPLE.com:443/a/*"), true), (.glob("https://example.com/A/*"), false),
      (.glob("https://example.com:8443/*"), false), (.glob("https://*:443/*"), true),
      (.prefix("https://example.com/a/"), true), (.prefix("https://EXAMPLE.com:443/a"), true),
      (.prefix("https://exam"), true), (.prefix("https://example.com/*"), false), (.prefix("/a/"), false),
    ])
  func patterns(pattern: TargetPattern, isMatch: Bool) {
    #expect(pattern.matches("https://example.com/a/b.css?v=1") == isMatch)
  }

  @Test(
    "A selection covers the keys of its partition whose URIs match, also those of responses for all queries",
    arguments: ["", "p", "https://site.example"])
  func coverage(partition: String) throws {
    let targets = try [
      "https://a.example/", "https://a.example/b?c=1", "https://a.example/b", "http://site.example/x",
    ]
    .map { try #require(TargetURI(absolute: $0)) }
    let keys = ["", "p", "pq", "https://site.example"].flatMap { other in
      targets.flatMap { target in
        let key = CacheKey(target, partition: other)
        return [
          key, .pathAnchor(target, partition: other), .queryAnchor(target, partition: other),
          CacheKey(bytes: CacheKey.annotationKey(of: key.bytes), uriStart: 0),
          CacheKey(bytes: CacheKey.variantKey(of: key.bytes, number: 1, nonce: 2), uriStart: 0),
        ].map(\.bytes)
      }
    }
    let patterns: [TargetPattern] = [
      .prefix(""), .prefix("https://a.example/"), .prefix("https://a.example/b?c"),
      .prefix("https://site.example"),
      .prefix("https://a.example/b?d"), .prefix("https://a.example/longer/than/all/keys/are"),
      .glob("*"), .glob("https://a.example/?"), .glob("https://a.example/b?c=*"), .glob("*.example/x"),
      .glob("http"),
    ]
    for pattern in patterns {
      let covers = HTTPCache.Selection(.patterns([pattern]), partition: partition).coverage
      for key in keys {
        let stored = StoredKey(StoreKey(key))
        let isMeant = stored.isIn(partition: partition) && stored.isMeant(by: pattern)
        #expect(key.withUnsafeBytes { covers($0, nil) } == isMeant, "\(pattern), \(stored.url)")
      }
    }
    for target in targets {
      let covers = HTTPCache.Selection(.target(target, keepingPins: false), partition: partition).coverage
      for key in keys {
        let stored = StoredKey(StoreKey(key))
        let isMeant = stored.isIn(partition: partition) && stored.isOf(target)
        #expect(key.withUnsafeBytes { covers($0, nil) } == isMeant, "\(target.text), \(stored.url)")
      }
    }
  }

  @Test("A pattern knows whether a URI with a given beginning can match")
  func beginnings() {
    // Compared with every text of a small alphabet that follows.
    let texts = (0..<1 << 8).map { number in
      String((0..<4).map { "ab?c"[(number >> ($0 * 2)) & 3] })
    }
    for pattern in ["a*b", "*", "a?b?", "ab", "**c", "?", "a*c*b?", "abca", "b*?a"] {
      let pattern = TargetPattern.glob(pattern)
      for start in ["", "a", "ab", "abc", "b?"] {
        let expected = texts.contains { text in
          (0...4).contains { pattern.matches(start + text.prefix($0)) }
        }
        #expect(pattern.mayMatch(beginningWith: Array(start.utf8)) == expected, "\(pattern) \(start)")
      }
    }
  }

  @Test("A group with an empty name has only its members", arguments: [nil, "p"])
  func emptyGroup(partition: String?) async throws {
    let setting = try Setting { if let partition { $0.partition = partition } }
    let origin = MemoryOrigin { [groups] request, _ in
      var fields: HTTPFields = [.cacheControl: "max-age=60"]
      if request.path == "/member" { fields[groups] = "\"\"" }
      return .ok("1", fields)
    }
    for path in ["/member", "/other"] { _ = try await setting.get(path, from: origin) }
    #expect(setting.cache.remove(.group("")).count == 1)
    #expect(setting.cache.storedResponse(for: .get("/member")) == nil)
    #expect(setting.cache.storedResponse(for: .get("/other")) != nil)
  }

  enum Joined: CaseIterable { case groupOfAnyOrigin, group, since }

  @Test(
    "A 304 in flight does not bring a response into what is purged meanwhile",
    arguments: Joined.allCases, [false, true])
  func joining(joined: Joined, softly: Bool) async throws {
    let (setting, gate) = (try Setting(), Gate())
    let origin = MemoryOrigin { [groups] request, number in
      if number != 2 { return .ok("\(number)", [.cacheControl: "max-age=60", .eTag: "\"1\""]) }
      await gate.wait()
      return .ok("", [.cacheControl: "max-age=60", .eTag: "\"1\"", groups: "\"g\""], status: .notModified)
    }
    _ = try await setting.get("/b/1", from: origin)
    setting.clock.advance(seconds: 70)
    let first = Task { try await setting.get("/b/1", from: origin).source }
    await gate.arrived(1)
    let target = try #require(TargetURI(.get("/b/1")))
    let selection: HTTPCache.Selection =
      switch joined {
      case .groupOfAnyOrigin: .group("g")
      case .group: .group("g", of: target)
      case .since: .since(Timestamp(milliseconds: setting.clock.now.milliseconds - 1000))
      }
    if softly { setting.cache.expire(selection) } else { setting.cache.remove(selection) }
    gate.open()
    #expect(try await first.value == .validated)
    #expect(try await setting.get("/b/1", from: origin).source != .hit)
  }
}

extension String {
  fileprivate subscript(offset: Int) -> Character { self[index(startIndex, offsetBy: offset)] }
}
