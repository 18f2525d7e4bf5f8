// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes
import SystemPackage
import TestSupport
import Testing

@testable import HTTPCaching

@Suite("Purging by tag", .timeLimit(.minutes(10)))
struct TagTests {
  private let key: HTTPField.Name
  private let groups: HTTPField.Name

  init() throws {
    key = try #require(HTTPField.Name("Surrogate-Key"))
    groups = try #require(HTTPField.Name("Cache-Groups"))
  }

  private static func tagging(_ configuration: inout HTTPCache.Configuration) {
    configuration.rules.tagFields = ["Surrogate-Key", "xkey"]
  }

  private func setting(directory: FilePath? = nil, partition: String = "", shows: Bool = false) throws
    -> Setting
  {
    try Setting(kind: .shared, directory: directory) {
      Self.tagging(&$0)
      $0.rules.showsTags = shows
      $0.partition = partition
    }
  }

  /// `/a+b` has the tags `a` and `b`.
  private func origin(_ more: HTTPFields = [:]) -> MemoryOrigin {
    MemoryOrigin { [key] request, number in
      var fields: HTTPFields = [.cacheControl: "max-age=600", .eTag: "\"1\""]
      fields[key] = (request.path ?? "").dropFirst().split(separator: "+").joined(separator: " ")
      for field in more { fields.append(field) }
      if request.headerFields[.ifNoneMatch] != nil { return .ok("", fields, status: .notModified) }
      return .ok("\(number)", fields)
    }
  }

  private static let target = TargetURI(scheme: "https", authority: "example.test", path: "/any")

  @Test(
    "A purge by tag removes or expires the responses with the tag, and no others",
    arguments: [
      (.group("b"), ["/a+b", "/b"]), (.group("b", of: target), ["/a+b", "/b"]),
      (.groups(["a", "c"]), ["/a+b", "/c"]),
      (.groups(["none"]), []), (.groups([]), []), (.group("B"), []), (.group("a b"), []),
      (.group("b", of: TargetURI(scheme: "http", authority: "example.test", path: "/")), []),
    ] as [(HTTPCache.Selection, [String])], [false, true])
  func purge(row: (selection: HTTPCache.Selection, paths: [String]), softly: Bool) async throws {
    let (setting, origin) = (try setting(), origin())
    let paths = ["/a+b", "/b", "/c", "/"]
    for path in paths { _ = try await setting.get(path, from: origin) }
    let result =
      softly
      ? setting.cache.expire(row.selection) : setting.cache.remove(row.selection, counting: true)
    #expect(result.count == row.paths.count)
    for path in paths {
      let source = try await setting.get(path, from: origin).source
      #expect(source == (row.paths.contains(path) ? softly ? .validated : .network : .hit), "\(path)")
    }
  }

  @Test(
    "A tag of any bytes is found by its name, and a group of the same name with it",
    arguments: [
      ("news", "news", "news"), ("日本", "日本", "%E6%97%A5%E6%9C%AC"), ("50%", "50%", "50%"),
      ("%C3", "%C3", "%25C3"), ("\"a\"", "\"a\"", #"\"a\""#), ("é", "é", "%C3%A9"),
    ])
  func names(inField: String, name: String, group: String) async throws {
    let setting = try setting()
    let origin = MemoryOrigin { [key, groups] request, _ in
      .ok(
        "x",
        [
          .cacheControl: "max-age=60",
          request.path == "/tag" ? key : groups: request.path == "/tag" ? inField : "\"\(group)\"",
        ])
    }
    for purge in [
      { $0.remove(.group(name, of: Self.target), counting: true).count },
      { $0.remove(.group(name)).count }, { $0.expire(.groups(["other", name])).count },
    ] as [(HTTPCache) -> Int?] {
      for path in ["/tag", "/group"] { _ = try await setting.get(path, from: origin) }
      #expect(purge(setting.cache) == 2)
      for path in ["/tag", "/group"] { #expect(setting.cache.storedResponse(for: .get(path)) == nil) }
    }
  }

  @Test("No client gets the tags, unless the configuration shows them", arguments: [false, true])
  func hidden(shows: Bool) async throws {
    let (setting, origin) = (try setting(shows: shows), origin())
    let shown = shows ? "a b" : nil
    #expect(try await setting.get("/a+b", from: origin).response.head.headerFields[key] == shown)
    #expect(try await setting.get("/a+b", from: origin).response.head.headerFields[key] == shown)
    setting.clock.advance(seconds: 700)
    let validated = try await setting.get("/a+b", from: origin)
    #expect(validated.source == .validated && validated.response.head.headerFields[key] == shown)
    // Of what is not stored, and of a 304 to the client's own condition.
    for (path, fields) in [
      ("/a+b", [.cacheControl: "no-store"] as HTTPFields), ("/x+y", [.ifNoneMatch: "\"1\""]),
    ] {
      let head = try await setting.get(path, from: origin, fields: fields).response.head
      #expect((head.headerFields[key] != nil) == shows, "\(path)")
    }
    let posted = try await setting.cache.respond(
      to: HTTPRequest(method: .post, scheme: "https", authority: "example.test", path: "/a"),
      transport: origin.transport)
    #expect((posted.head.headerFields[key] != nil) == shows)
  }

  @Test("A coalesced request gets the response without its tags")
  func coalesced() async throws {
    let (setting, gate) = (try setting(), Gate())
    let origin = MemoryOrigin(holding: [gate]) { [key] _, _ in
      .ok("x", [.cacheControl: "max-age=60", key: "a"])
    }
    async let first = setting.get("/", from: origin)
    await gate.arrived(1)
    async let second = setting.get("/", from: origin)
    try await setting.cache.fetches.followers(1)
    gate.open()
    for answer in try await [first, second] { #expect(answer.response.head.headerFields[key] == nil) }
    #expect(setting.cache.remove(.group("a")).count == 1)
  }

  @Test("A handler's response that is not stored has no tags, either", arguments: ["no-store", "max-age=60"])
  func passedThrough(cacheControl: String) async throws {
    let setting = try setting()
    let response = try await setting.cache.respond(
      to: .get(), body: .empty, partition: nil, from: LocalOrigin(background: nil)
    ) { [key] _, _ in
      TransportResponse(
        head: HTTPResponse(status: .ok, headerFields: [.cacheControl: cacheControl, key: "a"]),
        body: MessageBody(Array("x".utf8)))
    }
    #expect(response.isPassedThrough == (cacheControl == "no-store"))
    #expect(response.head.headerFields[key] == nil)
  }

  @Test("Tags outlast the process and the configuration, and are hidden from all later clients")
  func reopened() async throws {
    try await withTemporaryDirectory { directory async throws in
      let origin = origin()
      let first = try setting(directory: directory)
      for path in ["/a+b", "/c"] { _ = try await first.get(path, from: origin) }
      first.cache.close()
      let second = try Setting(kind: .shared, directory: directory)
      let answer = try await second.get("/a+b", from: origin)
      #expect(answer.source == .hit && answer.response.head.headerFields[key] == nil)
      second.cache.remove(.group("b", of: Self.target))
      #expect(try await second.get("/c", from: origin).source == .hit)
      #expect(second.cache.storedResponse(for: .get("/a+b")) == nil)
      second.cache.close()
    }
  }

  @Test("A purge of a tag reaches all hosts and partitions, or one of each")
  func places() async throws {
    let (setting, origin) = (try setting(), origin())
    func stored() async throws -> Int {
      var count = 0
      for (host, partition) in [("a.test", ""), ("a.test", "p"), ("b.test", "")] {
        let request = HTTPRequest(method: .get, scheme: "https", authority: host, path: "/a")
        if setting.cache.storedResponse(for: request, partition: partition) != nil { count += 1 }
        let response = try await setting.cache.respond(
          to: request, partition: partition, transport: origin.transport)
        _ = try await response.body.collect(upTo: 10)
      }
      return count
    }
    #expect(try await stored() == 0)
    let host = TargetURI(scheme: "https", authority: "a.test", path: "/")
    for (selection, count) in [
      (.group("a"), 3), (.group("a", of: host), 1), (.group("a", of: host, partition: "p"), 1),
    ] as [(HTTPCache.Selection, Int)] {
      #expect(setting.cache.remove(selection, counting: true).count == count)
      #expect(try await stored() == 3 - count)
    }
  }

  @Test("A response in flight when its tag was purged is not stored", arguments: [false, true])
  func underway(ofAnyOrigin: Bool) async throws {
    let (setting, gate) = (try setting(), Gate())
    let slow = MemoryOrigin(holding: [gate]) { [key] _, _ in
      .ok("old", [.cacheControl: "max-age=600", key: "a b"])
    }
    let first = Task { try await setting.get("/slow", from: slow) }
    await gate.arrived(1)
    setting.cache.remove(ofAnyOrigin ? .groups(["x", "b"]) : .group("b", of: Self.target))
    gate.open()
    #expect(try await first.value.text == "old")
    #expect(setting.log.reasons(.notStored).contains(.removedMeanwhile))
    #expect(setting.cache.storedResponse(for: .get("/slow")) == nil)
  }

  @Test("An unsafe method invalidates the groups of its target, and no tags (RFC 9875 §2.2.1)")
  func unsafeMethod() async throws {
    let (setting, origin) = (try setting(), origin([groups: "\"g\""]))
    let others = self.origin()
    for path in ["/a", "/a+b"] { _ = try await setting.get(path, from: origin) }
    _ = try await setting.get("/a+c", from: others)
    _ = try await setting.cache.respond(
      to: HTTPRequest(method: .post, scheme: "https", authority: "example.test", path: "/a"),
      transport: others.transport)
    #expect(setting.cache.storedResponse(for: .get("/a+b")) == nil)
    #expect(try await setting.get("/a+c", from: others).source == .hit)
  }

  @Test("A response with too many tags is not stored, and the reason says so")
  func tooMany() async throws {
    let (setting, origin) = (try setting(), origin())
    let path = "/" + (0...4096).map { "\($0)" }.joined(separator: "+")
    #expect(try await setting.get(path, from: origin).source == .network)
    #expect(setting.log.reasons(.notStored) == [.tooManyTags])
    #expect(try await setting.get(path, from: origin).source == .network)
  }

  @Test("1,000 tags of a response cost a hit nothing that a purge of others leaves behind")
  func many() async throws {
    let (setting, origin) = (try setting(), origin())
    let path = "/" + (0..<1000).map { "\($0)" }.joined(separator: "+")
    _ = try await setting.get(path, from: origin)
    setting.cache.remove(.group("other", of: Self.target))
    #expect(try await setting.get(path, from: origin).source == .hit)
    setting.cache.remove(.group("999", of: Self.target))
    #expect(try await setting.get(path, from: origin).source == .network)
  }
}
