// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes
import Testing

@testable import HTTPCacheEngine

/// RFC 9111 §4.1, RFC 9110 §12.5.5.
@Suite(.timeLimit(.minutes(10)))
struct VaryTests {
  @Test(
    "Vary lists names without case or order; * or an invalid name matches nothing",
    arguments: [
      ([], .names([])), ([""], .names([])), ([" , "], .names([])), (["Accept"], .names(["accept"])),
      (["B, a"], .names(["a", "b"])), (["a", "B"], .names(["a", "b"])), (["a,A , a"], .names(["a"])),
      (["*"], .any), ([" *"], .any), (["a, *"], .any), (["*, a"], .any), (["a", "*"], .any), ([", *"], .any),
      (["*, *"], .any), (["a b"], .any), (["\"a\""], .any), (["é"], .any), (["a;q=1"], .any),
    ] as [([String], VaryField)])
  func parsing(lines: [String], field: VaryField) {
    #expect(VaryField(parsing: lines) == field)
  }

  @Test(
    "Requests match if their nominated fields do, whatever the whitespace around commas and the lines",
    arguments: [
      (["A: 1"], ["A: 1"], true), (["A: 1"], ["a: 1"], true), (["A: 1"], ["A: 2"], false),
      (["A: 1"], [], false), ([], ["A: 1"], false), ([], [], true), ([], ["B: 1"], true),
      (["A: 1"], ["A: 1", "B: 2"], true), (["A: x, y"], ["A: x", "A: y"], true),
      (["A: x"], ["A:  x\t"], true), (["A: x, y"], ["A: y, x"], false), (["A: x"], ["A: X"], false),
      (["A: "], [], false), (["A: "], ["A: "], true), (["A: x y"], ["A: xy"], false),
      (["A: \"x, y\""], ["A: \"x,y\""], false), (["A: 1"], ["A: 1", "A: 1"], false),
      (["A: x, y"], ["A: x,y"], true), (["A: x,y"], ["A:  x ,\ty "], true),
      (["A: x,y"], ["A: x", "A: y"], true),
      (["A: \"x\\\", y\" , z"], ["A: \"x\\\", y\",z"], true),
      (["A: \"x\\\", y\""], ["A: \"x\\\",y\""], false),
      (["A: x,,y"], ["A: x,y"], false), (["A: x"], ["A: x,"], false), (["A: \"x, y"], ["A: \"x,y"], false),
    ] as [([String], [String], Bool)])
  func matching(first: [String], second: [String], match: Bool) {
    let selecting = SelectingFields(.names(["a"]), of: HTTPFields(lines: first))
    #expect(selecting.match(HTTPFields(lines: second)) == match)
    let other = SelectingFields(.names(["a"]), of: HTTPFields(lines: second))
    #expect((selecting.variantKey == other.variantKey) == match)
  }

  @Test(
    "Whitespace around a comma selects a response in a field with one value",
    arguments: ["Cookie", "Authorization", "Proxy-Authorization", "User-Agent", "Referer", "Origin", "From"])
  func singletons(name: String) {
    let known = SelectingFields(.names([name.lowercased()]), of: HTTPFields("\(name): gzip, deflate"))
    #expect(!known.match(HTTPFields("\(name): gzip,deflate")))
    for withheld in [[], [name.lowercased()]] {
      let selecting = SelectingFields(
        .names([name.lowercased()]), of: HTTPFields("\(name): u=a, b"), withholding: withheld)
      #expect(
        selecting.match(HTTPFields("\(name): u=a, b")) && !selecting.match(HTTPFields("\(name): u=a,b")))
    }
  }

  @Test(
    "Values that only Unicode takes for equal select different responses",
    arguments: [
      ([0xFF], [0xFE]), ([0xFF], [0xEF, 0xBF, 0xBD]), ([0xC3, 0xA9], [0x65, 0xCC, 0x81]),
      ([0xE2, 0x84, 0xAA], [0x4B]), ([0xE2, 0x84, 0xAA], [0x6B]), ([0xE9], [0xC3, 0xA9]),
      ([0xCD, 0xBE], [0x3B]),
    ] as [([UInt8], [UInt8])], ["cookie", "x", "accept", "accept-language"])
  func octets(values: ([UInt8], [UInt8]), name: String) throws {
    let name = try #require(HTTPField.Name(name))
    let fields = { (value: [UInt8]) in HTTPFields([HTTPField(name: name, value: value)]) }
    for withheld in [[], [name.canonicalName]] {
      let (one, other) = (
        SelectingFields(.names([name.canonicalName]), of: fields(values.0), withholding: withheld),
        SelectingFields(.names([name.canonicalName]), of: fields(values.1), withholding: withheld)
      )
      #expect(one.match(fields(values.0)) && !one.match(fields(values.1)) && !other.match(fields(values.0)))
      #expect(one != other && one.variantKey != other.variantKey)
    }
  }

  private static let both = Set(NegotiationField.allCases)

  @Test(
    "Letter case and order select a response, unless a setting says that the origin ignores them (§4.1)",
    arguments: [
      ("Accept-Language", true), ("Accept-Encoding", true), ("Accept-Charset", true), ("Accept", true),
      ("Cookie", false), ("User-Agent", false),
    ])
  func letterCase(name: String, isPreference: Bool) {
    let names = VaryField.names([name.lowercased()])
    // Names of codings in use: others do not count in a reduced Accept-Encoding.
    let first = HTTPFields("\(name): gzip, br")
    let reduced = SelectingFields(names, of: first, normalizing: Self.both)
    for (value, isReordered) in [("GZIP, BR", true), ("br, gzip", true), ("gzip", false)] {
      let second = HTTPFields("\(name): \(value)")
      #expect(!SelectingFields(names, of: first).match(second))
      #expect(reduced.match(second, normalizing: Self.both) == (isPreference && isReordered))
    }
    // What was stored by one setting does not answer by the other.
    if isPreference { #expect(!reduced.match(HTTPFields("\(name): gzip,br"))) }
  }

  @Test(
    "Preferences match if they differ only in whitespace, empty members or the spelling of weights (§4.1)",
    arguments: [
      ("Accept-Language", "en, de", "en,de", true), ("Accept-Language", "en, de", "de, en", false),
      ("Accept-Language", "en;q=0.5, de", "en ; q=0.50 ,de", true), ("Accept-Language", "en", "EN", false),
      ("Accept-Language", "en;q=1.000", "en;Q=1", true), ("Accept-Language", "en", "en;q=1.", true),
      ("Accept-Language", "en;q=0.5", "en;q=0.6", false), ("Accept-Language", "en;q=0", "en", false),
      ("Accept-Language", "en, de;q=0.5", "en;q=0.5, de", false), ("Accept-Language", "en", "en, de", false),
      ("Accept-Language", "en;q=2", "en", false), ("Accept-Language", "en;q=1.0000", "en", false),
      ("Accept-Language", "en;q=1.001", "en", false), ("Accept-Language", "en;q=", "en;q", false),
      // An invalid weight is not the normal form of one.
      ("Accept-Language", "en;q=0.5", "en;q=500", false), ("Accept-Language", "en;q=0.001", "en;q=1", false),
      ("Accept-Language", "en;q=0.25", "en;q=0.250", true),
      ("Accept-Language", "en;q=0.01", "en;q=0.010", true),
      ("Accept-Language", "en, ;", "en", true), ("Accept-Language", "q=0.5", "q=0.50", false),
      ("Accept", "c, b;p=\"a", "b;p=\"a, c", false), ("Accept", "c, b;p=\"a", "b;p=\"a,c", false),
      ("Accept", "application/json, text/html", "text/html, application/json", false),
      ("Accept", "text/html", "TEXT/html", false), ("Accept", "text/html", "text/html;level=1", false),
      ("Accept-Language", "en;q=0.5", "en; 500", false),
      ("Accept-Encoding", "gzip, br;q=0.9", "gzip,br;q=0.90", true),
      ("Accept-Charset", "utf-8, *;q=0.1", "utf-8,*; q=0.100", true),
      ("Accept-Language", "a b", "ab", false), ("Accept-Language", "a b;q=0.5", "ab;q=0.5", false),
      ("Accept-Language", "", " , ", true),
      ("Accept", "text/html;level=1, */*;q=0.8", "text/html ;level=1 , */*; q=0.8", true),
      ("Accept", "a/b;p=X", "a/b;p=x", false), ("Accept", "a/b;p=\"x;q=1\"", "a/b;p=\"x", false),
      ("Accept", "a/b;p=\"x\\\";q=1\"", "a/b;p=\"x\\\"\"", false), ("Accept", "a/b;;", "a/b", true),
      ("Cookie", "b, a", "a, b", false),
    ])
  func preferences(name: String, first: String, second: String, match: Bool) {
    let selecting = SelectingFields(.names([name.lowercased()]), of: HTTPFields("\(name): \(first)"))
    #expect(selecting.match(HTTPFields("\(name): \(second)")) == match)
  }

  @Test(
    "By a setting, preferences match by meaning, and Accept-Encoding by the accepted codings (RFC 9110 §12.5)",
    arguments: [
      ("Accept-Language", "en, de", "de, en", true),
      ("Accept-Language", "en;q=0.5, de", "DE , en ; q=0.50", true),
      ("Accept-Language", "en;q=0.5", "en;q=0.6", false), ("Accept-Language", "en, ;", "en", true),
      // A quote that nothing closes takes in what stands behind it, and only that.
      ("Accept", "c, b;p=\"a", "b;p=\"a, c", false), ("Accept", "c, b;p=\"a", "b;p=\"a,c", false),
      ("Accept-Charset", "utf-8, *;q=0.1", "*;q=0.1, UTF-8", true),
      ("Accept", "text/html;level=1, */*;q=0.8", "*/*; q=0.8, TEXT/html ;LEVEL=1", true),
      ("Accept", "a/b;p=X", "a/b;p=x", false), ("Accept", "a/b;p=\"x;q=1\"", "a/b;p=\"x", false),
      ("Accept-Encoding", "gzip, br;q=0.9", "br,GZIP", true), ("Accept-Encoding", "gzip", "x-gzip", true),
      ("Accept-Encoding", "gzip, lz4", "lz4;q=0.5, gzip", true),
      ("Accept-Encoding", "", "lz4", false),
      ("Accept-Encoding", "gzip", "gzip;q=0", false), ("Accept-Encoding", "br;q=0", "", true),
      ("Accept-Encoding", "*", "", false), ("Accept-Encoding", "*, br;q=0", "*", false),
      ("Accept-Encoding", "identity", "", true), ("Accept-Encoding", "identity;q=0", "", false),
      ("Accept-Encoding", "*;q=0", "", false), ("Accept-Encoding", "gzip;level=1", "gzip", false),
      ("Accept-Encoding", "lz4", "identity", false), ("Accept-Encoding", "gzip;q=0x", "gzip;q=0", false),
      ("Accept-Encoding", "gzip;q=0x", "gzip", false),
      ("Accept-Encoding", "gzip;q=0.5, br", "gzip, br;q=0.5", true),
    ])
  func reduced(name: String, first: String, second: String, match: Bool) {
    let selecting = SelectingFields(
      .names([name.lowercased()]), of: HTTPFields("\(name): \(first)"), normalizing: Self.both)
    #expect(selecting.match(HTTPFields("\(name): \(second)"), normalizing: Self.both) == match)
  }

  @Test("A request's value is read and normalised once, however many responses and names it is compared with")
  func work() {
    let line = (1...1000).map { "a\($0);q=0.5" }.joined(separator: ", ")
    let request = HTTPFields(
      lines: ["Accept-Encoding: \(line)", "Cookie: \(line)"] + (0..<50).map { "X\($0): y" })
    let configuration = CacheEngine.Configuration(kind: .shared)
    var selection = RequestSelection()
    for number in 0..<64 {
      let fields = HTTPFields("Accept-Encoding: b\(number)", "Cookie: \(number)")
      for names in [["accept-encoding"], ["cookie"], ["accept-encoding", "cookie"]] {
        #expect(
          !SelectingFields(.names(names), of: fields, withholding: ["cookie"]).match(
            request, &selection, configuration))
      }
    }
    #expect(selection.work.valuesNormalized == 2)
    #expect(selection.work.fieldsSeen == 2 * request.count)
    // A thousand names: the fields are looked through a few times, and not for each name.
    let names = (0..<1000).map { "x\($0)" }
    let selecting = SelectingFields(.names(names), of: request)
    #expect(selecting.match(request, &selection, configuration))
    #expect(selection.work.fieldsSeen <= 10 * request.count)
  }

  @Test("All nominated fields must match, and * never matches")
  func several() {
    let both = SelectingFields(.names(["a", "b"]), of: HTTPFields("A: 1", "B: 2"))
    #expect(both.match(HTTPFields("B: 2", "A: 1")))
    #expect(!both.match(HTTPFields("A: 1")))
    #expect(!both.match(HTTPFields("A: 1", "B: 3")))
    #expect(!SelectingFields(.any, of: HTTPFields()).match(HTTPFields()))
    #expect(SelectingFields.none.match(HTTPFields("A: 1")))
  }

  @Test("Different selecting fields have different variant keys")
  func variantKeys() {
    let selections = [
      SelectingFields(.names([]), of: [:]), SelectingFields(.any, of: [:]),
      SelectingFields(.names(["a"]), of: [:]), SelectingFields(.names(["a"]), of: HTTPFields("A: ")),
      SelectingFields(.names(["a"]), of: HTTPFields("A: b")), SelectingFields(.names(["a", "b"]), of: [:]),
      SelectingFields(.names(["a", "b"]), of: HTTPFields("A: b")),
      SelectingFields(.names(["a", "b"]), of: HTTPFields("B: b")),
      SelectingFields(.names(["a", "b"]), of: HTTPFields("A: b", "B: ")),
      SelectingFields(.names(["ab"]), of: [:]),
    ]
    #expect(Set(selections.map(\.variantKey)).count == selections.count)
  }
}
