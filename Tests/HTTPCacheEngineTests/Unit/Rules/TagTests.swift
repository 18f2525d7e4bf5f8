// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes
import Testing

@testable import HTTPCacheEngine

@Suite("Tags of responses", .timeLimit(.minutes(10)))
struct TagTests {
  private static func engine(
    _ fields: [String] = ["Surrogate-Key", "Cache-Tag", "xkey"], shows: Bool = false
  ) -> CacheEngine {
    var configuration = CacheEngine.Configuration(kind: .shared)
    configuration.tagFields = fields
    configuration.showsTags = shows
    return CacheEngine(configuration)
  }

  private static func tagged(_ lines: String...) -> HTTPResponse {
    HTTPResponse(
      status: .ok, headerFields: HTTPFields(lines: ["Cache-Control: max-age=60", "ETag: \"a\""] + lines))
  }

  private static func update(
    _ engine: CacheEngine, _ stored: StoredResponse, _ status: HTTPResponse.Status = .notModified,
    method: HTTPRequest.Method = .get, lines: [String] = []
  ) throws -> CacheEngine.Outcome {
    let later = arrival.advanced(bySeconds: 100)
    let head = HTTPResponse(
      status: status, headerFields: HTTPFields(lines: ["ETag: \"a\"", "Cache-Control: max-age=60"] + lines))
    return try #require(
      engine.exchange(
        request(method: method), [stored], .response(head), requestTime: later, responseTime: later))
  }

  private static let many = (0..<ResponseTags.most).map { "t\($0)" }

  // MARK: - Fields

  @Test(
    "Tags are separated as their field defines it, and all bytes of a tag count",
    arguments: [
      ("Surrogate-Key: a b  c", ["a", "b", "c"]), ("Surrogate-Key: a,b c\t d;e", ["a,b", "c", "d;e"]),
      ("Cache-Tag: a, b c ,,d", ["a", "b c", "d"]), ("Cache-Tag:  , ", []), ("Surrogate-Key: ", []),
      ("xkey: a b, c", ["a", "b", "c"]), ("X-Magento-Tags: cat_c_1,cat_p_2", ["cat_c_1", "cat_p_2"]),
      ("Edge-Cache-Tag: a b,c", ["a b", "c"]), ("X-Own: a,b c", ["a", "b", "c"]),
      ("xkey: A a", ["A", "a"]), ("xkey: \"a\" 'b' a=b", ["\"a\"", "'b'", "a=b"]),
      // As a group of this name is written in Cache-Groups.
      ("xkey: 日本 100% %C3", ["%E6%97%A5%E6%9C%AC", "100%", "%25C3"]),
      ("xkey: é e\u{301}", ["%C3%A9", "e%CC%81"]),
    ])
  func separators(line: String, tags: [String]) throws {
    let fields = HTTPFields(line)
    let field = try #require(fields.first)
    #expect(ResponseTags.tags(in: field) == tags)
    let read = ResponseFields(fields, now: arrival, targets: [], tags: [field.name.canonicalName])
    #expect(read.tags.all == tags && !read.tags.isEmpty)
  }

  @Test("Octets that are not UTF-8 are a tag of their own")
  func octets() throws {
    let name = try #require(HTTPField.Name("xkey"))
    let tags = ResponseTags.tags(in: HTTPField(name: name, value: [0x61, 0x20, 0xFF, 0x20, 0xFE]))
    #expect(tags == ["a", "%FF", "%FE"])
  }

  @Test("Lines and fields add up; a field with a meaning for caching has no tags")
  func several() throws {
    let engine = Self.engine(["xkey", "SURROGATE-KEY", "Cache-Groups", "ETag", "Vary"])
    let stored = try #require(
      engine.stored(
        Self.tagged("xkey: a", "Surrogate-Key: b", "XKEY: c", "Cache-Groups: \"g\"", "Vary: Accept")))
    #expect(stored.tags.all == ["a", "c", "b"] && stored.groups == ["g"])
    #expect(stored.fields[.vary] == "Accept" && stored.fields[.eTag] == "\"a\"")
    #expect(stored.values(of: try #require(.init("Cache-Groups"))) == ["\"g\""])
  }

  // MARK: - What is stored and shown

  @Test("Tags are stored apart from the fields, and the client does not get them", arguments: [false, true])
  func hidden(shows: Bool) throws {
    let name = try #require(HTTPField.Name("Surrogate-Key"))
    let engine = Self.engine(shows: shows)
    for (lines, isStored) in [
      (["Cache-Control: max-age=60"], true), (["Cache-Control: no-store"], false),
      (["Cache-Control: max-age=60", "Connection: x", "X: 1"], true),
    ] {
      let head = HTTPResponse(
        status: .ok, headerFields: HTTPFields(lines: lines + ["Surrogate-Key: a b", "Server: s"]))
      let outcome = engine.firstOutcome(request(), head)
      #expect(outcome.hiddenFields == (shows ? [] : [name]))
      #expect((outcome.refusal == nil) == isStored)
      guard case .store(let stored, _) = outcome.storage else { continue }
      #expect(stored.tags.all == ["a", "b"])
      #expect(stored.fields[name] == (shows ? "a b" : nil) && stored.fields[.server] == "s")
    }
    let posted = engine.firstOutcome(request(method: .post), Self.tagged("Surrogate-Key: a"))
    #expect(posted.hiddenFields == (shows ? [] : [name]))
    #expect(engine.firstOutcome(request(), Self.tagged()).hiddenFields.isEmpty)
  }

  @Test("A hit is served from the stored form without its tags, whatever the configuration is by then")
  func hit() throws {
    let stored = try #require(
      Self.engine().stored(Self.tagged("Surrogate-Key: a b", "Server: s", "Cache-Groups: \"g\"")))
    let plain = try #require(CacheEngine.shared.stored(Self.tagged("Server: s", "Cache-Groups: \"g\"")))
    let bytes = stored.encoded()
    let canDecode = StoredResponse.canDecode(bytes.span.bytes)
    #expect(StoredResponse(decoding: bytes[...]) == stored && canDecode)
    for engine in [Self.engine(), .shared, Self.engine(shows: true)] {
      let hit = engine.hit(
        for: request(), policy: .useProtocolCachePolicy, stored: bytes.span.bytes, now: arrival)
      #expect(hit != nil)
    }
    let head = HTTPResponse(stored: bytes.span.bytes, ageInSeconds: 1)
    #expect(head == plain.response(age: .seconds(1)))
    var lines: [String] = []
    let isRead = StoredResponse.readHead(bytes.span.bytes, isNotModified: false, status: { _, _ in }) {
      _, name, _ in
      lines.append(name.withUnsafeBytes { String(decoding: $0, as: UTF8.self) })
    }
    #expect(isRead)
    #expect(lines.map(\.lowercasedASCII) == plain.fields.map(\.name.canonicalName))
  }

  @Test("Damaged tags are not decoded")
  func damaged() throws {
    let stored = try #require(Self.engine().stored(Self.tagged("Surrogate-Key: a b", "xkey: c")))
    let bytes = stored.encoded()
    for position in bytes.indices {
      for value: UInt8 in [0, 1, 7, 0xFF] {
        var other = bytes
        other[position] = value
        let decoded = StoredResponse(decoding: other[...])
        let canDecode = StoredResponse.canDecode(other.span.bytes)
        #expect((decoded != nil) == canDecode, "\(position) \(value)")
        if let decoded { #expect(StoredResponse(decoding: decoded.encoded()[...]) == decoded) }
      }
    }
    for count in bytes.indices { #expect(StoredResponse(decoding: bytes[..<count]) == nil) }
  }

  @Test(
    "A tagged form has a bit that earlier versions refuse, as they could not purge it; all others are as before"
  )
  func earlierForm() throws {
    let stored = try #require(Self.engine().stored(Self.tagged("xkey: a")))
    var untagged = stored
    untagged.tags = ResponseTags()
    let (bytes, before) = (stored.encoded(), untagged.encoded())
    #expect(bytes[0] == 6 && bytes[6] == 8 && before[6] == 0)
    #expect(bytes[..<6] == before[..<6] && bytes[7..<before.count] == before[7...])
  }

  // MARK: - Updates

  @Test(
    "A 304 or a HEAD response replaces the tags of its fields, and leaves those of others (RFC 9111 §3.2)",
    arguments: [
      ([], ["a", "b", "c"]), (["Surrogate-Key: d"], ["c", "d"]), (["Surrogate-Key: "], ["c"]),
      (["xkey: d", "Surrogate-Key: e", "xkey: f"], ["d", "f", "e"]),
      (["Cache-Tag: d"], ["a", "b", "c", "d"]),
      (["Surrogate-Key: ", "xkey:"], []),
    ], [false, true])
  func updated(row: (lines: [String], tags: [String]), shows: Bool) throws {
    let engine = Self.engine(shows: shows)
    let stored = try #require(engine.stored(Self.tagged("Surrogate-Key: a b", "xkey: c")))
    for (status, method) in [(HTTPResponse.Status.notModified, HTTPRequest.Method.get), (.ok, .head)] {
      let outcome = try Self.update(engine, stored, status, method: method, lines: row.lines)
      let updated = try #require(outcome.updates.first?.response)
      #expect(Set(updated.tags.all) == Set(row.tags) && updated.tags.all.count == row.tags.count)
      for response in [updated] + (outcome.storedAnswer.map { [$0.response] } ?? []) {
        #expect(response.fields.contains { $0.name.canonicalName == "surrogate-key" } == shows)
      }
      #expect(outcome.hiddenFields.isEmpty == (shows || row.lines.isEmpty))
      let bytes = updated.encoded()
      #expect(StoredResponse(decoding: bytes[...]) == updated)
    }
  }

  @Test("A 304 brings the tags of a response that was stored before its field was one of tags")
  func laterConfigured() throws {
    let stored = try #require(CacheEngine.shared.stored(Self.tagged("Surrogate-Key: a b")))
    #expect(stored.tags.isEmpty)
    for shows in [false, true] {
      let outcome = try Self.update(Self.engine(shows: shows), stored)
      #expect(outcome.updates.first?.response.tags.all == ["a", "b"])
      #expect(outcome.storedAnswer?.response.fields.contains(try #require(.init("Surrogate-Key"))) == shows)
    }
  }

  @Test("A part that is combined keeps the tags, or replaces them")
  func parts() throws {
    let engine = Self.engine()
    var stored = try #require(
      engine.stored(Self.tagged("Content-Length: 10", "Surrogate-Key: a", "xkey: c")))
    stored = try #require(stored.with([0..<5], completeLength: 10, isCombinable: true))
    let part = response(
      206, "ETag: \"a\"", "Content-Range: bytes 5-7/10", "Surrogate-Key: b", "Cache-Control: max-age=60")
    let outcome = try #require(
      engine.exchange(request("Range: bytes=5-7"), [stored], .response(part)))
    guard case .store(let combined, .storedCombined) = outcome.storage else {
      Issue.record("\(outcome.storage)")
      return
    }
    #expect(combined.tags.all == ["c", "b"] && combined.parts?.count == 8)
  }

  // MARK: - Limits

  @Test("A response with more tags than are kept is not stored, and displaces what is")
  func limits() throws {
    let engine = Self.engine()
    let names = Self.many.joined(separator: " ")
    let long = String(repeating: "x", count: ResponseTags.mostBytes)
    for (lines, isStored) in [
      (["xkey: \(names)"], true), (["xkey: \(names)", "xkey: one"], false),
      (["xkey: \(names)", "Surrogate-Key: one"], false), (["xkey: \(long)"], true),
      (["xkey: \(long) y"], false),
      (["xkey: \(long)", "xkey: \(long)", "xkey: \(names)"], false),
    ] {
      let head = HTTPResponse(
        status: .ok, headerFields: HTTPFields(lines: ["Cache-Control: max-age=60", "ETag: \"b\""] + lines))
      let outcome = engine.firstOutcome(request(), head)
      #expect(outcome.refusal == (isStored ? nil : .tooManyTags))
      if case .store(let stored, _) = outcome.storage {
        #expect(StoredResponse(decoding: stored.encoded()[...]) == stored)
      }
      let stored = try #require(engine.stored(Self.tagged("xkey: a")))
      let later = arrival.advanced(bySeconds: 100)
      let replacing = try #require(
        engine.exchange(request(), [stored], .response(head), requestTime: later, responseTime: later))
      #expect(replacing.removals == (isStored ? [] : [0]))
      let validated = try Self.update(engine, stored, lines: lines)
      #expect(validated.updates.isEmpty == !isStored && validated.removals == (isStored ? [] : [0]))
    }
  }

  @Test("A 304 with more tags than are kept removes the stored response, which still answers its client")
  func excessiveUpdate() throws {
    let engine = Self.engine()
    let stored = try #require(engine.stored(Self.tagged("Surrogate-Key: a")))
    // Together with those that stay.
    let outcome = try Self.update(engine, stored, lines: ["xkey: \(Self.many.joined(separator: " "))"])
    #expect(outcome.updates.isEmpty && outcome.removals == [0] && outcome.storedAnswer != nil)
  }

  // MARK: - Scopes

  @Test("A tag has the scope of a group of its name, and an invalidation does not extend to tags")
  func scopes() throws {
    let engine = Self.engine()
    let stored = try #require(engine.stored(Self.tagged("xkey: a b", "Cache-Groups: \"b\", \"c\"")))
    for partition in ["", "p"] {
      let key = try #require(CacheKey(request(), partition: partition))
      let groups = stored.scopes(under: key).compactMap { CacheKey.group(ofScope: $0).map { Array($0) } }
      #expect(groups == ["b", "c", "a", "b"].map { Array($0.utf8) })
      #expect(stored.scopes(under: key).contains(key.scope(group: "a")))
      #expect(key.scopes.allSatisfy { CacheKey.group(ofScope: $0) == nil })
    }
    let bytes = stored.encoded()
    let mayHaveGroups = StoredResponse.mayHaveGroups(bytes.span.bytes)
    #expect(mayHaveGroups)
    let outcome = try #require(
      engine.exchange(request(method: .post), [stored], .response(response(200))))
    #expect(outcome.invalidatedScopes.map(\.scope.group) == ["b", "c"])
  }
}
