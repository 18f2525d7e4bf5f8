// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes
import SystemPackage
import TestSupport
import Testing

@testable import HTTPCaching

@Suite("Resources with many variants", .timeLimit(.minutes(10)))
struct ManyVariantsTests {
  /// The disk, and the size of the responses: in memory, in the log, or in files of their own.
  enum Place: CaseIterable, Sendable {
    case memory, disk, bodyFiles

    var isOnDisk: Bool { self != .memory }
    var content: String { self == .bodyFiles ? String(repeating: "x", count: 300_000) : "" }
  }

  /// Runs a body with a setting, and with a way to open its directory once more.
  private func with(
    _ place: Place, _ configure: @escaping (inout HTTPCache.Configuration) -> Void = { _ in },
    _ body: (Setting, _ reopen: (Setting) throws -> Setting) async throws -> Void
  ) async throws {
    guard place.isOnDisk else { return try await body(try Setting(configure: configure)) { $0 } }
    try await withTemporaryDirectory { directory in
      try await body(try Setting(directory: directory, configure: configure)) { old in
        old.cache.close()
        return try Setting(directory: directory, configure: configure)
      }
    }
  }

  /// An origin whose responses differ by language, with a tag for each.
  private func origin(_ place: Place = .memory, vary: String = "Accept-Language") -> MemoryOrigin {
    MemoryOrigin { request, _ in
      let language = request.headerFields[.acceptLanguage] ?? "none"
      let fields: HTTPFields = [.cacheControl: "max-age=60", .vary: vary, .eTag: "\"\(language)\""]
      return .ok(language + place.content, fields).confirmed(by: request)
    }
  }

  private func get(_ language: String, _ setting: Setting, _ origin: MemoryOrigin) async throws -> Answer {
    let answer = try await setting.get(from: origin, fields: [.acceptLanguage: language])
    #expect(answer.text.prefix { $0 != "x" } == language)
    return answer
  }

  @Test(
    "Each of 300 variants is a hit, in memory and on disk, and after the next opening",
    arguments: Place.allCases)
  func hits(place: Place) async throws {
    let count = place == .bodyFiles ? 20 : 300
    try await with(place) { setting, reopen in
      let origin = origin(place)
      for round in 0..<3 {
        for number in 0..<count {
          let answer = try await get("l\(number)", setting, origin)
          #expect(answer.source == (round == 0 ? .network : .hit), "\(round), \(number)")
        }
      }
      #expect(origin.requests.count == count)
      let setting = try reopen(setting)
      for number in (0..<count).reversed() {
        #expect(try await get("l\(number)", setting, origin).source == .hit, "\(number)")
      }
      #expect(origin.requests.count == count)
      setting.cache.close()
    }
  }

  @Test(
    "Variants that are stored at the same time are all hits afterwards", arguments: [Place.memory, .disk])
  func together(place: Place) async throws {
    try await with(place) { setting, _ in
      let (inner, gate) = (origin(place), Gate())
      let origin = MemoryOrigin(holding: [gate]) { request, _ in try await inner.transport(request, .empty) }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<40 {
          group.addTask {
            // A reload is not coalesced with another.
            _ = try await setting.get(
              from: origin, policy: .reloadIgnoringLocalCacheData, fields: [.acceptLanguage: "l\(number)"])
          }
        }
        await gate.arrived(40)
        gate.open()
        try await group.waitForAll()
      }
      // The next variant makes the index, if none of these did.
      _ = try await get("more", setting, origin)
      for number in 0..<40 { #expect(try await get("l\(number)", setting, origin).source == .hit) }
      setting.cache.close()
    }
  }

  @Test(
    "Beyond the maximum, the variant that was used least recently gives way",
    arguments: [1, 2, 3, 7, 8, 9, 20], [Place.memory, .disk])
  func leastRecentlyUsed(maximum: Int, place: Place) async throws {
    try await with(place, { $0.maximumVariants = maximum }) { setting, _ in
      let origin = origin()
      for number in 0..<maximum { _ = try await get("l\(number)", setting, origin) }
      // Used again in another order; the one that is not gives way.
      let left = maximum / 2
      for number in (0..<maximum).reversed() where number != left {
        #expect(try await get("l\(number)", setting, origin).source == .hit)
      }
      _ = try await get("new", setting, origin)
      for number in 0..<maximum where number != left {
        #expect(try await get("l\(number)", setting, origin).source == .hit, "\(number)")
      }
      #expect(try await get("l\(left)", setting, origin).source != .hit)
      setting.cache.close()
    }
  }

  @Test("Any sequence of requests has the hits of a list in the order of use", arguments: 0..<8)
  func model(seed: UInt64) async throws {
    var random = SplitMix64(seed: seed)
    let maximum = Int.random(in: 1...24, using: &random)
    let setting = try Setting { $0.maximumVariants = maximum }
    let origin = MemoryOrigin.varyingOnLanguage()
    // The one used most recently first.
    var model: [String] = []
    for _ in 0..<600 {
      let language = "l\(Int.random(in: 0..<(maximum + 12), using: &random))"
      let answer = try await setting.get(from: origin, fields: [.acceptLanguage: language])
      #expect((answer.source == .hit) == model.contains(language))
      #expect(answer.text == language)
      // The hits of a single variant are not counted, and need not be.
      model.removeAll { $0 == language }
      model.insert(language, at: 0)
      if model.count > maximum { model.removeLast() }
    }
    #expect(setting.cache.store.usage.memoryEntries <= maximum + 1)
  }

  @Test("Made-up values do not displace the variants that are in use")
  func madeUp() async throws {
    let setting = try Setting { $0.maximumVariants = 50 }
    let origin = origin()
    for number in 0..<2000 {
      _ = try await get("en", setting, origin)
      _ = try await get("de", setting, origin)
      _ = try await get("attack-\(number)", setting, origin)
    }
    #expect(origin.requests.count { $0.headerFields[.acceptLanguage]?.hasPrefix("attack") == false } == 2)
    #expect(setting.cache.store.usage.memoryEntries <= 51)
  }

  @Test(
    "A request for another variant names the tag of none, and gets nothing of one by a 304",
    arguments: Place.allCases, [1, 30])
  func noTags(place: Place, count: Int) async throws {
    try await with(place) { setting, reopen in
      // One tag for all languages, as an origin makes of a record or a file.
      let origin = MemoryOrigin { request, _ in
        let language = request.headerFields[.acceptLanguage] ?? ""
        let fields: HTTPFields = [.cacheControl: "max-age=60", .vary: "Accept-Language", .eTag: "\"1\""]
        return .ok(language + place.content, fields).confirmed(by: request)
      }
      for number in 0..<count { _ = try await get("l\(number)", setting, origin) }
      let setting = try reopen(setting)
      for language in ["other", "other", "l0"] {
        let answer = try await get(language, setting, origin)
        #expect(answer.source != .validated)
      }
      #expect(origin.requests.allSatisfy { !$0.headerFields.contains(.ifNoneMatch) })
      #expect(origin.requests.count == count + 1)
      setting.clock.advance(seconds: 61)
      // Its own is.
      #expect(try await get("other", setting, origin).source == .validated)
      #expect(origin.requests.last?.headerFields[.ifNoneMatch] == "\"1\"")
      setting.cache.close()
    }
  }

  enum Removal: CaseIterable, Sendable {
    case target, expired, unsafeMethod, pattern, expiredPattern, partition, everything, group
  }

  @Test(
    "A removal of a resource concerns all of its variants", arguments: Removal.allCases,
    [(Place.memory, false), (.disk, false), (.disk, true)])
  func removal(removal: Removal, place: (Place, isReopened: Bool)) async throws {
    try await with(place.0, { $0.partition = "p" }) { setting, reopen in
      let origin = MemoryOrigin { request, _ in
        var fields: HTTPFields = [.cacheControl: "max-age=60", .vary: "Accept-Language"]
        HTTPField.Name("Cache-Groups").map { fields[$0] = "\"g\"" }
        return .ok(request.headerFields[.acceptLanguage] ?? "", fields)
      }
      for number in 0..<30 { _ = try await get("l\(number)", setting, origin) }
      let setting = place.isReopened ? try reopen(setting) : setting
      let cache = setting.cache
      let target = try #require(TargetURI(.get()))
      let pattern = TargetPattern.prefix("https://example.test/")
      switch removal {
      case .target:
        let count = cache.remove(.target(of: .get())).count
        #expect(count == 30 || place.isReopened)
        // Their room is free.
        if !place.isReopened { #expect(cache.store.usage.memoryEntries == 0) }
      case .expired: #expect(cache.expire(.target(of: .get())).count == 30)
      case .unsafeMethod:
        var request = HTTPRequest.get()
        request.method = .post
        _ = try await cache.respond(to: request) { _, _ in .ok("", [:]) }
      case .pattern:
        #expect(cache.remove(.patterns([pattern])).count == 30)
      case .expiredPattern:
        #expect(cache.expire(.patterns([pattern])).count == 30)
      case .partition: cache.remove(.partition("p"))
      case .everything: cache.remove(.all)
      case .group: cache.remove(.group("g", of: target))
      }
      let before = origin.requests.count
      for number in 0..<30 {
        #expect(try await get("l\(number)", setting, origin).source != .hit, "\(number)")
      }
      #expect(origin.requests.count == before + 30)
      for number in 0..<30 { #expect(try await get("l\(number)", setting, origin).source == .hit) }
      cache.close()
    }
  }

  @Test("A variant in flight while its resource is removed is not served afterwards", arguments: [5, 30])
  func removedInFlight(stored: Int) async throws {
    let setting = try Setting()
    let origin = origin()
    for number in 0..<stored { _ = try await get("l\(number)", setting, origin) }
    let gate = Gate()
    let slow = MemoryOrigin(holding: [gate]) { request, _ in
      .ok("old", [.cacheControl: "max-age=60", .vary: "Accept-Language"])
    }
    async let answer = setting.get(from: slow, fields: [.acceptLanguage: "slow"])
    await gate.arrived(1)
    setting.cache.remove(.target(of: .get()))
    gate.open()
    #expect(try await answer.text == "old")
    for number in 0..<stored { _ = try await get("l\(number)", setting, origin) }
    #expect(try await get("slow", setting, origin).source == .network)
  }

  @Test("A response without Vary answers all, and one that varies on another field is found among many")
  func lists() async throws {
    let setting = try Setting()
    let languages = origin()
    for number in 0..<12 { _ = try await get("l\(number)", setting, languages) }
    let encodings = MemoryOrigin { request, _ in
      .ok(
        request.headerFields[.acceptEncoding] ?? "",
        [.cacheControl: "max-age=60", .vary: "Accept-Encoding, Accept-Language"])
    }
    for number in 0..<12 {
      let fields: HTTPFields = [.acceptEncoding: "e\(number)", .acceptLanguage: "other"]
      #expect(try await setting.get(from: encodings, fields: fields).source == .network)
    }
    for number in 0..<12 {
      let fields: HTTPFields = [.acceptEncoding: "e\(number)", .acceptLanguage: "other"]
      #expect(try await setting.get(from: encodings, fields: fields).text == "e\(number)")
      #expect(try await get("l\(number)", setting, languages).source == .hit)
    }
    #expect(encodings.requests.count == 12)
    setting.clock.advance(seconds: 1)
    let plain = MemoryOrigin { _, _ in .ok("plain") }
    _ = try await setting.get(from: plain, fields: [.acceptLanguage: "anything"])
    #expect(try await setting.get(from: plain, fields: [.acceptLanguage: "else"]).text == "plain")
    #expect(plain.requests.count == 1)
  }

  @Test("Of an origin that varies on something else each time, the last lists of names are known")
  func manyLists() async throws {
    let setting = try Setting()
    let origin = MemoryOrigin { request, _ in
      .ok(
        "", [.cacheControl: "max-age=60", .vary: "X-\(request.headerFields[.userAgent] ?? ""), User-Agent"])
    }
    for number in 0..<100 { _ = try await setting.get(from: origin, fields: [.userAgent: "\(number)"]) }
    for number in 93..<100 {
      #expect(try await setting.get(from: origin, fields: [.userAgent: "\(number)"]).source == .hit)
    }
    let found = setting.cache.responses.entries(
      of: try #require(CacheKey(.get())), for: .get(fields: [.userAgent: "99"]), atOnce: true)
    #expect(found?.variants?.index?.lists.count == VariantIndex.mostLists)
  }

  @Test("A hit looks at one entry for each list of names, however many are stored", arguments: [9, 100, 900])
  func work(count: Int) async throws {
    let setting = try Setting()
    let origin = MemoryOrigin { request, _ in
      .ok("", [.cacheControl: "max-age=60", .vary: "Accept-Language"])
    }
    for number in 0..<count {
      _ = try await setting.get(from: origin, fields: [.acceptLanguage: "l\(number)"])
    }
    let request = HTTPRequest.get(fields: [.acceptLanguage: "l\(count - 1)"])
    let key = try #require(CacheKey(.get()))
    let found = try #require(setting.cache.responses.entries(of: key, for: request, atOnce: true))
    #expect(found.entries.count == 1)
    #expect(found.variants?.own.count == VariantIndex.most)
  }

  @Test("A pin keeps the variants of a target, those stored before and after, and ends with unpinning")
  func pinned() async throws {
    try await withTemporaryDirectory { directory in
      let setting = try Setting(directory: directory)
      let origin = origin()
      for number in 0..<20 { _ = try await get("l\(number)", setting, origin) }
      try setting.cache.pin(.get())
      for number in 20..<30 { _ = try await get("l\(number)", setting, origin) }
      let pinned = try #require(setting.cache.pinned.first)
      #expect(setting.cache.pinned.count == 1)
      #expect(pinned.isProtected && pinned.responseCount >= 30)
      setting.cache.clearMemory()
      for number in 0..<30 { #expect(try await get("l\(number)", setting, origin).source == .hit) }
      try setting.cache.unpin(.get())
      #expect(setting.cache.pinned.isEmpty && setting.cache.store.pinned.isEmpty)
      setting.cache.close()
    }
  }

  @Test("Variants that are all under one key, as earlier versions stored them, are found, as are others")
  func underOneKey() async throws {
    try await with(.disk) { setting, reopen in
      let origin = origin()
      // A pin keeps them there.
      try setting.cache.pin(.get())
      for number in 0..<30 { _ = try await get("l\(number)", setting, origin) }
      try setting.cache.unpin(.get())
      let setting = try reopen(setting)
      for number in 0..<30 { #expect(try await get("l\(number)", setting, origin).source == .hit) }
      for number in 30..<40 { #expect(try await get("l\(number)", setting, origin).source == .network) }
      for number in 0..<40 { #expect(try await get("l\(number)", setting, origin).source == .hit) }
      #expect(origin.requests.count == 40)
      setting.cache.close()
    }
  }

  @Test("An annotation is found beside each of many variants, also after other removals")
  func annotations() throws {
    let setting = try Setting()
    let response = HTTPResponse(
      status: .ok, headerFields: [.cacheControl: "max-age=60", .vary: "Accept-Language"])
    for path in 0..<4000 { setting.cache.remove(.target(of: .get("/other/\(path)"))) }
    func request(_ number: Int) -> HTTPRequest { .get(fields: [.acceptLanguage: "l\(number)"]) }
    for number in 0..<30 {
      setting.cache.store(response, content: [1], for: request(number), annotation: [UInt8(number)])
    }
    for number in 0..<30 {
      #expect(setting.cache.storedCopy(for: request(number))?.annotation == [UInt8(number)])
    }
  }

  @Test("What the order of use remembers is bounded, and what it forgets is still found")
  func orderIsBounded() async throws {
    let order = VariantOrder(maximum: 1000, memoryCapacity: 0)
    for key in 0..<UInt64(2000) {
      for id in 0..<UInt64(4) {
        let known = KnownVariants(own: (0..<id).map { VariantID(rawValue: $0) })
        #expect(
          order.add(VariantID(rawValue: id), under: key, known, apartBy: nil, isNew: false).evicted.isEmpty)
      }
    }
    #expect(order.mostRecent(10, under: 1999).map(\.id.rawValue) == [3, 2, 1, 0])
    #expect(order.mostRecent(10, under: 0).isEmpty)
    #expect(order.count <= 4096)
  }
}

@Suite("Keys in the order of their use", .timeLimit(.minutes(10)))
struct RecencyMapTests {
  @Test("Any sequence of changes has the result of a list", arguments: 0..<16)
  func model(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var map = RecencyMap<Int, Int>()
    var model: [(key: Int, value: Int)] = []
    func take(_ key: Int) -> (key: Int, value: Int)? {
      model.firstIndex { $0.key == key }.map { model.remove(at: $0) }
    }
    for step in 0..<2000 {
      let key = Int.random(in: 0..<20, using: &random)
      switch Int.random(in: 0..<5, using: &random) {
      case 0, 1:
        map.set(key, to: step)
        _ = take(key)
        model.insert((key, step), at: 0)
      case 2:
        let old = take(key)
        #expect(map.use(key) == (old != nil))
        if let old { model.insert(old, at: 0) }
      case 3:
        #expect(map.remove(key) == take(key)?.value)
      default:
        let old = take(key)
        #expect((map.update(key) { $0 += 1 } != nil) == (old != nil))
        if let old { model.insert((key, old.value + 1), at: 0) }
      }
      #expect(map.mostRecent().map(\.key) == model.map(\.key))
      #expect(map.mostRecent(3).map(\.value) == model.prefix(3).map(\.value))
      #expect(map.count == model.count && map.isEmpty == model.isEmpty)
      #expect(map.leastRecent == model.last?.key && map[key] == model.first { $0.key == key }?.value)
    }
  }
}
