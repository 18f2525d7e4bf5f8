// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import Foundation
import HTTPCacheEngine
import HTTPCacheStore
import HTTPCaching
import HTTPTypes
import SystemPackage
import TestSupport
import Testing

@testable import httpcache

/// A directory with responses in it, removed with the test.
final class StockedDirectory {
  static let now = Timestamp(seconds: 1_700_000_000)
  let path: String

  init() {
    path =
      temporaryURL().path
  }

  deinit {
    try? FileManager.default.removeItem(atPath: path)
  }

  private func open() throws -> HTTPCache {
    var configuration = HTTPCache.Configuration(kind: .shared)
    configuration.rules.tagFields = ["xkey"]
    return HTTPCache(
      store: try CacheStore(.init(memoryCapacity: 0, diskCapacity: 16 << 20, directory: .init(path))),
      configuration: configuration, clock: ManualClock(Self.now))
  }

  /// Stores a response in a cache that is open.
  private static func add(_ url: String, _ fields: HTTPFields, body: [UInt8], to cache: HTTPCache)
    async throws
  {
    let target = try #require(StoredRow.target(url))
    let request = HTTPRequest(
      method: .get, scheme: target.scheme, authority: target.authority, path: target.path)
    let response = try await cache.respond(to: request) { _, _ in
      TransportResponse(head: HTTPResponse(status: .ok, headerFields: fields), body: MessageBody(body))
    }
    _ = try await response.body.collect(upTo: .max)
  }

  /// Five responses: fresh, stale and tagged, large, in a group, and made invalid with its group.
  func stock() async throws {
    let cache = try open()
    defer { cache.close() }
    let group = try #require(HTTPField.Name("Cache-Groups"))
    try await Self.add(
      "https://example.com/fresh.css", [.cacheControl: "max-age=3600"], body: [1, 2, 3], to: cache)
    try await Self.add(
      "https://example.com/stale.css",
      [.cacheControl: "max-age=60", .age: "90", .eTag: "\"a\"", try #require(.init("xkey")): "red blue"],
      body: [1], to: cache)
    try await Self.add(
      "https://example.com/images/large.png", [.cacheControl: "max-age=60"],
      body: [UInt8](repeating: 7, count: 400_000), to: cache)
    try await Self.add(
      "https://a.test/old", [.cacheControl: "max-age=60", group: "\"news\", \"%E6%97%A5%E6%9C%AC\""],
      body: [5],
      to: cache)
    cache.remove(.group("news", of: try #require(StoredRow.target("https://a.test/"))))
    try await Self.add(
      "https://a.test/new", [.cacheControl: "max-age=60", group: "\"news\""], body: [6], to: cache)
  }

  /// A store that has it open.
  func occupied() throws -> CacheStore {
    try CacheStore(.init(memoryCapacity: 0, diskCapacity: 16 << 20, directory: .init(path)))
  }

  /// Changes a byte of a file whose name begins so.
  func damage(_ prefix: String, at index: (Int) -> Int) throws {
    let names = try FileManager.default.contentsOfDirectory(atPath: path).filter { $0.hasPrefix(prefix) }
    let url = URL(fileURLWithPath: path).appendingPathComponent(try #require(names.min()))
    var bytes = try Data(contentsOf: url)
    bytes[index(bytes.count)] ^= 4
    try bytes.write(to: url)
  }
}

@Suite("Commands for a cache directory", .timeLimit(.minutes(10)))
struct DirectoryCommandTests {
  let directory = StockedDirectory()

  private func inspect(_ arguments: String...) throws -> String {
    try InspectCommand.parse([directory.path] + arguments).output(now: StockedDirectory.now)
  }

  private func urls(_ text: String) -> [String] {
    text.split(separator: "\n").compactMap { $0.split(separator: " ").last.map(String.init) }
      .filter { $0.hasPrefix("http") }
  }

  @Test("inspect lists each entry with status, size, age and freshness")
  func listing() async throws {
    try await directory.stock()
    let lines = try inspect("--sort", "url").split(separator: "\n").map { line in
      line.split(separator: " ").joined(separator: " ")
    }
    #expect(
      lines == [
        "status size age freshness hit URL", "200 1 B 0 s fresh, 60 s left https://a.test/new",
        "200 1 B 0 s invalidated https://a.test/old",
        "200 3 B 0 s fresh, 60 m left https://example.com/fresh.css",
        "200 391 KiB 0 s fresh, 60 s left https://example.com/images/large.png",
        "200 1 B 90 s stale for 30 s https://example.com/stale.css",
      ])
  }

  @Test("inspect sorts, filters by pattern, and limits the number of entries")
  func choosing() async throws {
    try await directory.stock()
    #expect(urls(try inspect("--sort", "size")).first == "https://example.com/images/large.png")
    #expect(urls(try inspect("--sort", "age")).first == "https://example.com/stale.css")
    #expect(urls(try inspect("--sort", "remaining")).first == "https://example.com/stale.css")
    #expect(urls(try inspect("--url", "https://*/*.css")).count == 2)
    let one = try inspect("--limit", "1")
    #expect(urls(one).count == 1 && one.contains("4 more"))
    #expect(try inspect("--url", "ftp:*").contains("Nothing is stored for a URL that matches ftp:*."))
  }

  @Test("inspect writes JSON")
  func json() async throws {
    try await directory.stock()
    let text = try inspect("--json", "--sort", "url", "--limit", "2")
    let document = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    #expect(document["matching"] as? Int == 5 && document["inUse"] as? Bool == false)
    let entries = try #require(document["entries"] as? [[String: Any]])
    #expect(entries.map { $0["freshness"] as? String } == ["fresh", "invalidated"])
    #expect(entries[0]["url"] as? String == "https://a.test/new" && entries[0]["status"] as? Int == 200)
    #expect(entries[0]["groups"] as? [String] == ["news"] && entries[0]["remaining"] as? Int == 60)
    #expect(entries[0]["tags"] == nil)
    let tagged = try inspect("--json", "--url", "*/stale.css")
    #expect(tagged.contains(/"tags" : \[\s*"red",\s*"blue"\s*\]/), "\(tagged)")
  }

  @Test("A directory in use is read with a notice, and purge is refused")
  func inUse() async throws {
    try await directory.stock()
    let store = try directory.occupied()
    defer { store.close() }
    #expect(urls(try inspect()).count == 5)
    #expect(try inspect().contains("The directory is in use by process \(getpid())"))
    #expect(try StatsCommand.parse([directory.path]).output(now: StockedDirectory.now).contains("in use"))
    #expect(try VerifyCommand.parse([directory.path]).output().isSound)
    let error = #expect(throws: ExitCode.self) {
      try PurgeCommand.parse([directory.path, "--all"]).output()
    }
    #expect(error?.rawValue == 75)
    #expect(store.usage.diskEntries == 5)
  }

  @Test("inspect, verify and stats change no file")
  func readOnly() async throws {
    try await directory.stock()
    try directory.damage("segment-") { _ in 50 }
    func contents() throws -> [String: Data] {
      let root = URL(fileURLWithPath: directory.path)
      let names = try FileManager.default.contentsOfDirectory(atPath: directory.path)
      return try Dictionary(
        uniqueKeysWithValues: names.map { ($0, try Data(contentsOf: root.appendingPathComponent($0))) })
    }
    let before = try contents()
    _ = try inspect()
    _ = try VerifyCommand.parse([directory.path]).output()
    _ = try StatsCommand.parse([directory.path]).output(now: StockedDirectory.now)
    #expect(try contents() == before)
  }

  @Test("verify finds no damage in a sound directory")
  func sound() async throws {
    try await directory.stock()
    let (text, isSound) = try VerifyCommand.parse([directory.path]).output()
    #expect(isSound && text.contains("no damage.") && text.contains("1 bodies in separate files"))
  }

  @Test("verify finds a wrong byte in a log or a body, and reports place and entry")
  func damaged() async throws {
    try await directory.stock()
    try directory.damage("body-") { _ in 70_000 }
    let (text, isSound) = try VerifyCommand.parse([directory.path]).output()
    #expect(!isSound && text.contains("byte 65536: the checksum of 65536 bytes of a body is wrong"))
    #expect(text.contains("(of https://example.com/images/large.png)"))
    try directory.damage("segment-") { _ in 100 }
    let (more, _) = try VerifyCommand.parse([directory.path]).output()
    #expect(more.contains("segment-") && more.contains("expected a record; the "))
    let json = try VerifyCommand.parse([directory.path, "--json"]).output().text
    let document = try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any]
    #expect((document?["damages"] as? [[String: Any]])?.isEmpty == false)
  }

  @Test("verify finds flipped bytes throughout a log")
  func everyByte() async throws {
    try await directory.stock()
    let names = try FileManager.default.contentsOfDirectory(atPath: directory.path)
    let name = try #require(names.first { $0.hasPrefix("segment-") })
    let url = URL(fileURLWithPath: directory.path).appendingPathComponent(name)
    let bytes = try Data(contentsOf: url)
    var missed: [Int] = []
    for index in stride(from: 0, to: bytes.count, by: 7) {
      var damaged = bytes
      damaged[index] ^= 1
      try damaged.write(to: url)
      if try VerifyCommand.parse([directory.path]).output().isSound { missed.append(index) }
    }
    // Zeros between records have no checksum.
    #expect(missed.allSatisfy { bytes[$0] == 0 } && missed.count < 10)
  }

  @Test("verify reports a missing body as damage, but not an unreferenced one")
  func bodies() async throws {
    try await directory.stock()
    let names = try FileManager.default.contentsOfDirectory(atPath: directory.path)
    let name = try #require(names.first { $0.hasPrefix("body-") })
    let root = URL(fileURLWithPath: directory.path)
    try Data([1]).write(to: root.appendingPathComponent("body-00000000000000aa"))
    let (text, isSound) = try VerifyCommand.parse([directory.path]).output()
    #expect(
      isSound && text.contains("no entry refers to this body; removed when a cache opens the directory"))
    try FileManager.default.removeItem(at: root.appendingPathComponent(name))
    let (more, isStillSound) = try VerifyCommand.parse([directory.path]).output()
    #expect(!isStillSound && more.contains("a body is missing (of https://example.com/images/large.png)"))
  }

  @Test(
    "purge removes exactly the selected entries",
    arguments: [
      (["--url", "https://EXAMPLE.com/fresh.css"], 4), (["--url", "https://example.com/none"], 5),
      (["--glob", "https://example.com/*"], 2), (["--glob", "*.css"], 3), (["--group", "news"], 3),
      (["--group", "日本"], 4), (["--tag", "blue"], 4), (["--tag", "news", "--tag", "red"], 2),
      (["--group", "sport"], 5), (["--all"], 0), (["--prefix", "https://EXAMPLE.com:443/"], 2),
      (
        [
          "--prefix", "https://example.com/images", "--glob", "*/new", "--url",
          "https://example.com/fresh.css",
        ], 2
      ),
    ])
  func purge(arguments: [String], left: Int) async throws {
    try await directory.stock()
    let text = try PurgeCommand.parse([directory.path] + arguments).output()
    #expect(text.hasPrefix(left == 5 ? "Nothing" : "\(5 - left) entr"))
    #expect(urls(try inspect()).count == left)
  }

  @Test(
    "purge --soft makes exactly the selected entries stale and removes none",
    arguments: [
      (["--url", "https://example.com/fresh.css"], 1, ["/fresh.css", "/stale.css"]),
      (["--prefix", "https://example.com/"], 3, ["/fresh.css", "/images/large.png", "/stale.css"]),
      (["--group", "news"], 2, ["/new", "/stale.css"]), (["--group", "sport"], 0, ["/stale.css"]),
      (["--all"], 5, ["/fresh.css", "/images/large.png", "/new", "/stale.css"]),
    ])
  func softPurge(arguments: [String], count: Int, stale: [String]) async throws {
    try await directory.stock()
    let text = try PurgeCommand.parse([directory.path, "--soft"] + arguments).output(
      clock: ManualClock(StockedDirectory.now))
    let entries = count == 1 ? "1 entry" : "\(count) entries"
    #expect(text == (count == 0 ? "Nothing to purge is stored." : "\(entries) marked stale."))
    let inspection = try StoreInspection(directory: .init(directory.path))
    var rows: [StoredRow] = []
    inspection.forEachEntry { rows.append(StoredRow($0, in: inspection, now: StockedDirectory.now)) }
    #expect(rows.count == 5)
    #expect(
      Set(rows.filter { $0.freshness == .stale }.compactMap { StoredRow.target($0.url)?.path }) == Set(stale))
  }

  @Test("stats counts entries, their bytes and their freshness")
  func stats() async throws {
    try await directory.stock()
    let text = try StatsCommand.parse([directory.path]).output(now: StockedDirectory.now)
    for expected in [
      "version", "5, with 391 KiB of content", "3 fresh, 1 stale, 1 invalidated", "5 of 200",
      "1 segments and 1 body files",
    ] {
      #expect(text.contains(expected), "\(expected)")
    }
    let json = try StatsCommand.parse([directory.path, "--json"]).output(now: StockedDirectory.now)
    let document = try #require(try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])
    #expect(document["fresh"] as? Int == 3 && document["marks"] as? Int == 1)
    #expect(try #require(document["liveBytes"] as? Int) > 400_000)
  }

  @Test("A folder that is not a cache directory is refused and stays unchanged")
  func strange() throws {
    try FileManager.default.createDirectory(atPath: directory.path, withIntermediateDirectories: true)
    for command in [
      { try InspectCommand.parse([$0]).output(now: StockedDirectory.now) },
      { try VerifyCommand.parse([$0]).output().text },
      { try PurgeCommand.parse([$0, "--all"]).output() },
      { try StatsCommand.parse([$0]).output(now: StockedDirectory.now) },
    ] as [(String) throws -> String] {
      #expect(throws: ExitCode(65)) { try command(directory.path) }
      #expect(throws: ExitCode(66)) { try command(directory.path + "/none") }
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).isEmpty)
  }

  @Test("The error for an unusable directory names the option that helps")
  func explained() throws {
    func kind(_ change: (URL) throws -> Void) throws -> StoreError {
      let url = URL(fileURLWithPath: directory.path)
      try? FileManager.default.removeItem(at: url)
      try CacheStore(.init(memoryCapacity: 0, diskCapacity: 1 << 20, directory: .init(directory.path)))
        .close()
      try change(url)
      do {
        _ = try StoreInspection(directory: .init(directory.path))
      } catch let error {
        return error
      }
      throw CancellationError()
    }
    let damaged = try kind { url in
      try Data(repeating: 7, count: 32).write(to: url.appendingPathComponent("format"))
    }
    let foreign = try kind { url in
      try FileManager.default.removeItem(at: url.appendingPathComponent("format"))
      try Data([1]).write(to: url.appendingPathComponent("a.txt"))
    }
    for (error, isServed, parts) in [
      (
        damaged, true,
        [
          "its file 'format'", "; choose another --directory",
          "start the proxy with --start-empty-if-unreadable",
        ]
      ),
      (damaged, false, ["its file 'format'", "httpcache proxy with --start-empty-if-unreadable"]),
      (foreign, true, ["is not a cache directory: it holds 'a.txt'", "choose an empty --directory"]),
      (foreign, false, ["it holds 'a.txt'", "choose the directory of a cache"]),
    ] {
      let text = DirectoryInput.text(of: error, isServed: isServed)
      for part in parts + [directory.path] { #expect(text.contains(part), "\(text)") }
      #expect(!text.contains("whenUnreadable"))
    }
  }

  @Test(
    "purge rejects missing, contradictory and invalid selections",
    arguments: [
      [], ["--all", "--url", "https://a.test/"], ["--url", "nonsense"], ["--glob", ""],
      ["--tag", "a", "--all"], ["--tag", "a", "--prefix", "https://a.test/"],
    ])
  func purgeOptions(arguments: [String]) {
    #expect(throws: (any Error).self) { try PurgeCommand.parse([directory.path] + arguments) }
  }

  @Test(
    "A pattern matches the whole text",
    arguments: [
      ("*", "", true), ("", "", true), ("a*c", "abc", true), ("a*c", "ac", true), ("a*c", "acb", false),
      ("?", "", false), ("a?c", "abc", true), ("*a*b", "xaxbxab", true), ("*.png", "a.png.gif", false),
      ("**", "x", true), ("a", "A", false),
    ])
  func glob(pattern: String, text: String, isMatch: Bool) {
    #expect(TargetPattern.glob(pattern).matches(text) == isMatch)
  }

  @Test("A stored key contains its partition, its URL and its kind")
  func keys() throws {
    let target = try #require(StoredRow.target("https://example.com/a?b"))
    func key(_ key: CacheKey) -> StoredKey { StoredKey(StoreKey(key.bytes)) }
    let plain = key(CacheKey(target))
    #expect(plain.kind == .get && plain.url == "https://example.com/a?b" && plain.partition.isEmpty)
    let own = key(CacheKey(target, partition: "user 1"))
    #expect(own.partition == "user 1" && own.url == plain.url && own.kind == .get)
    #expect(key(CacheKey.queryAnchor(target, partition: "p")).kind == .query)
    let path = key(CacheKey.pathAnchor(target))
    #expect(path.kind == .noVarySearch && path.url == "https://example.com/a" && path.isOf(target))
    #expect(StoredKey(StoreKey("anything")).kind == .other)
    // A partition may be a site.
    if let inSite = CacheKey(
      HTTPRequest(method: .get, scheme: "https", authority: "a", path: "/x"),
      partition: "https://site.example")
    {
      let stored = key(inSite)
      #expect(
        stored.partition == "https://site.example" && stored.url == "https://a/x" && stored.kind == .get)
    }
  }
}
