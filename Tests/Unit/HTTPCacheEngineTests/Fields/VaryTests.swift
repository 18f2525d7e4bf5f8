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
    "Requests match if their nominated fields do, whatever their whitespace and lines",
    arguments: [
      (["A: 1"], ["A: 1"], true), (["A: 1"], ["a: 1"], true), (["A: 1"], ["A: 2"], false),
      (["A: 1"], [], false), ([], ["A: 1"], false), ([], [], true), ([], ["B: 1"], true),
      (["A: 1"], ["A: 1", "B: 2"], true), (["A: x, y"], ["A: x,y"], true),
      (["A: x, y"], ["A: x", "A: y"], true),
      (["A: x,y"], ["A:  x ,\ty "], true), (["A: x, y"], ["A: y, x"], false), (["A: x"], ["A: X"], false),
      (["A: "], [], false), (["A: "], ["A: "], true), (["A: x y"], ["A: xy"], false),
      (["A: \"x, y\""], ["A: \"x,y\""], false), (["A: 1"], ["A: 1", "A: 1"], false),
    ] as [([String], [String], Bool)])
  func matching(first: [String], second: [String], match: Bool) {
    let selecting = SelectingFields(.names(["a"]), of: HTTPFields(lines: first))
    #expect(selecting.match(HTTPFields(lines: second)) == match)
    let other = SelectingFields(.names(["a"]), of: HTTPFields(lines: second))
    #expect((selecting.variantKey == other.variantKey) == match)
  }

  @Test(
    "Selecting fields match case-sensitively, except content negotiation fields (§4.1)",
    arguments: [
      ("Accept-Language", true), ("Accept-Encoding", true), ("Accept-Charset", true), ("Cookie", false),
      ("User-Agent", false),
    ])
  func letterCase(name: String, match: Bool) {
    let selecting = SelectingFields(.names([name.lowercased()]), of: HTTPFields("\(name): en, DE"))
    #expect(selecting.match(HTTPFields("\(name): EN,de")) == match)
  }

  @Test(
    "Preferences match by meaning, whatever their order and spelling (§4.1, RFC 9110 §12.5)",
    arguments: [
      ("Accept-Language", "en, de", "de, en", true),
      ("Accept-Language", "en;q=0.5, de", "DE , en ; q=0.50", true),
      ("Accept-Language", "en;q=1.000", "en;Q=1", true), ("Accept-Language", "en", "en;q=1.", true),
      ("Accept-Language", "en;q=0.5", "en;q=0.6", false), ("Accept-Language", "en;q=0", "en", false),
      ("Accept-Language", "en, de;q=0.5", "en;q=0.5, de", false), ("Accept-Language", "en", "en, de", false),
      ("Accept-Language", "en;q=2", "en", false), ("Accept-Language", "en;q=1.0000", "en", false),
      ("Accept-Language", "en;q=1.001", "en", false), ("Accept-Language", "en;q=", "en;q", false),
      // What is no weight is not the normal form of one.
      ("Accept-Language", "en;q=0.5", "en;q=500", false), ("Accept-Language", "en;q=0.001", "en;q=1", false),
      ("Accept-Language", "en;q=0.25", "en;q=0.250", true),
      ("Accept-Language", "en;q=0.01", "en;q=0.010", true),
      ("Accept-Language", "en, ;", "en", true),
      // A quote that nothing closes takes in what stands behind it, and only that.
      ("Accept", "c, b;p=\"a", "b;p=\"a, c", false), ("Accept", "c, b;p=\"a", "b;p=\"a,c", false),
      ("Accept-Language", "en;q=0.5", "en; 500", false),
      ("Accept-Encoding", "gzip, br;q=0.9", "br;q=0.90,GZIP", true),
      ("Accept-Charset", "utf-8, *;q=0.1", "*;q=0.1, UTF-8", true),
      ("Accept-Language", "a b", "ab", false), ("Accept-Language", "a b;q=0.5", "ab;q=0.5", false),
      ("Accept-Language", "", " , ", true),
      ("Accept", "text/html;level=1, */*;q=0.8", "*/*; q=0.8, TEXT/html ;LEVEL=1", true),
      ("Accept", "a/b;p=X", "a/b;p=x", false), ("Accept", "a/b;p=\"x;q=1\"", "a/b;p=\"x", false),
      ("Accept", "a/b;p=\"x\\\";q=1\"", "a/b;p=\"x\\\"\"", false), ("Accept", "a/b;;", "a/b", true),
      ("Cookie", "b, a", "a, b", false),
    ])
  func preferences(name: String, first: String, second: String, match: Bool) {
    let selecting = SelectingFields(.names([name.lowercased()]), of: HTTPFields("\(name): \(first)"))
    #expect(selecting.match(HTTPFields("\(name): \(second)")) == match)
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
