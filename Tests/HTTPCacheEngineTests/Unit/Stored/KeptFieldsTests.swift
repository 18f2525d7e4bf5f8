// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes
import Testing

@testable import HTTPCacheEngine

/// What is not stored of a response is marked where it stands, and left out wherever the stored fields are looked at.
@Suite(.timeLimit(.minutes(10)))
struct KeptFieldsTests {
  private func lines(_ count: Int) -> [String] { (0..<count).map { "X-\($0): \($0)" } }

  @Test(
    "A connection field is left out at any position",
    arguments: [0, 1, 62, 63, 64, 65, 99])
  func positions(position: Int) throws {
    var lines = lines(100)
    lines.insert("Keep-Alive: timeout=5", at: position)
    lines.append("Date: \(arrivalDate)")
    let head = HTTPResponse(status: .ok, headerFields: HTTPFields(lines: lines))
    let stored = try #require(CacheEngine.privately.stored(head))
    lines.remove(at: position)
    #expect(Array(stored.fields) == Array(HTTPFields(lines: lines)))
    let decoded = try #require(StoredResponse(decoding: stored.encoded()[...]))
    #expect(Array(decoded.fields) == Array(stored.fields))
    #expect(decoded == stored)
    #expect(decoded.hashValue == stored.hashValue)
  }

  @Test("Withheld fields appear neither in lookups nor after changes")
  func lookups() throws {
    var configuration = CacheEngine.Configuration(kind: .private)
    configuration.withheldFields += ["ETag", "Set-Cookie"]
    let head = response(
      200, "ETag: \"a\"", "X: 1", "Set-Cookie: a", "Content-Length: 5", "x: 2", "Date: \(arrivalDate)")
    var stored = try #require(CacheEngine(configuration).stored(head))
    #expect(stored.entityTag == nil)
    #expect(!stored.hasStrongValidator)
    #expect(stored.values(of: .setCookie).isEmpty)
    #expect(stored.value(of: .setCookie) == nil)
    let name = try #require(HTTPField.Name("X"))
    #expect(stored.values(of: name) == ["1", "2"])
    #expect(stored.value(of: name) == "1, 2")
    #expect(stored.value(of: name) == stored.fields[name])
    #expect(stored.notModifiedResponse(ageInSeconds: 1).headerFields[.setCookie] == nil)
    stored.fields[.contentLength] = "7"
    #expect(stored.fields.map(\.value) == ["1", "7", "2", arrivalDate])
  }

  @Test(
    "A response read from its stored form finds a field in any spelling",
    arguments: [
      ("ETag", "Last-Modified", "X-Own"), ("etag", "last-modified", "x-own"),
      ("ETAG", "LAST-MODIFIED", "X-OWN"), ("eTag", "Last-modified", "x-Own"),
    ])
  func spellings(tag: String, modified: String, own: String) throws {
    let head = response(
      200, "\(tag): \"a\"", "\(own): 1", "\(modified): \(date(-900))", "\(own)s: 3", "\(own): 2")
    let received = try #require(CacheEngine.privately.stored(head))
    let stored = try #require(StoredResponse(decoding: received.encoded()[...]))
    #expect(stored.entityTag == EntityTag(parsing: "\"a\""))
    #expect(stored.lastModified?.text == date(-900))
    for name in try ["X-Own", "x-own", "X-Owns", "X-Ow", "Age"].map({ try #require(HTTPField.Name($0)) }) {
      #expect(stored.values(of: name) == received.values(of: name))
      #expect(stored.values(of: name) == head.headerFields[values: name])
    }
    #expect(stored.encoded() == received.encoded())
  }

  @Test("The arrival time replaces a withheld Date")
  func dates() throws {
    var configuration = CacheEngine.Configuration(kind: .private)
    configuration.withheldFields += ["Date"]
    let stored = try #require(CacheEngine(configuration).stored(response(200, "Date: \(date(-5))", "X: 1")))
    #expect(stored.fields[values: .date] == [arrivalDate])
  }

  @Test("A response without its withheld ETag or Content-Length cannot be completed later")
  func withheldValidator() {
    let head = response(200, "ETag: \"a\"", "Content-Length: 10", "Cache-Control: max-age=60")
    #expect(CacheEngine.privately.firstOutcome(request(), head).assembly != nil)
    for name in ["ETag", "Content-Length"] {
      var configuration = CacheEngine.Configuration(kind: .private)
      configuration.withheldFields = [name]
      #expect(CacheEngine(configuration).firstOutcome(request(), head).assembly == nil, "\(name)")
    }
  }

  @Test("A very long head survives encoding and decoding", arguments: [900, 1000, 1024, 5000])
  func lengths(length: Int) throws {
    let value = String(repeating: "é", count: length / 2)
    let stored = try #require(CacheEngine.privately.stored(response(200, "X: \(value)", "Vary: X")))
    let decoded = try #require(StoredResponse(decoding: stored.encoded()[...]))
    #expect(decoded == stored)
  }

  @Test(
    "A set of field names contains exactly its lowercase names",
    arguments: [
      ("authorization", true), ("authorizatiom", false), ("zuthorization", false), ("cookie", true),
      ("cooki", false), ("", false), (String(repeating: "x", count: 70), true),
      (String(repeating: "x", count: 71), false), ("y", false),
    ])
  func names(name: String, isIn: Bool) {
    let names = FieldNameSet(["authorization", "cookie", String(repeating: "x", count: 70)])
    #expect(names.contains(name) == isIn)
    #expect(!FieldNameSet.none.contains(name))
  }
}
