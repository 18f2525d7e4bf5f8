// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Testing

@testable import HTTPCacheEngine

/// RFC 9110 §8.8.3 and §13.1.2.
@Suite(.timeLimit(.minutes(10)))
struct EntityTagTests {
  @Test(
    "An entity tag is sent back byte for byte",
    arguments: [
      ("\"xyzzy\"", false), ("W/\"xyzzy\"", true), ("\"\"", false), ("W/\"\"", true), ("\"a,b\"", false),
      ("\"a\\b\"", false), ("\"é!#\"", false), ("\"W/\"", false), ("\"*\"", false), ("\"a b\"", false),
      ("unquoted", false), ("W/unquoted", true), ("w/x", false),
    ])
  func roundTrip(text: String, isWeak: Bool) {
    let tag = EntityTag(parsing: " \(text) ")
    #expect(tag?.isWeak == isWeak)
    #expect(tag?.fieldValue == text)
  }

  @Test(
    "A list, a wildcard or a malformed value is not an entity tag",
    arguments: [
      "", " ", "W/", "*", "W/*", "a, b", "\"a\", \"b\"", "\"a\", *", "*, \"a\"", "\"a\"b\"", "\"", "\"a",
      "a\"",
      "W/\"a\", *", "a b", "\"a\" \"b\"",
    ])
  func noTag(text: String) {
    #expect(EntityTag(parsing: text) == nil)
  }

  @Test(
    "Strong and weak comparison follow the table in RFC 9110 §8.8.3.2",
    arguments: [
      ("W/\"1\"", "W/\"1\"", false, true), ("W/\"1\"", "W/\"2\"", false, false),
      ("W/\"1\"", "\"1\"", false, true), ("\"1\"", "\"1\"", true, true), ("\"a\"", "\"A\"", false, false),
    ])
  func comparison(left: String, right: String, strongly: Bool, weakly: Bool) throws {
    let (left, right) = (try #require(EntityTag(parsing: left)), try #require(EntityTag(parsing: right)))
    #expect(left.matchesStrongly(right) == strongly)
    #expect(right.matchesStrongly(left) == strongly)
    #expect(left.matchesWeakly(right) == weakly)
    #expect(right.matchesWeakly(left) == weakly)
  }

  @Test(
    "If-None-Match is a list in one or several lines",
    arguments: [
      (["\"a\""], true), (["\"b\", \"a\""], true), (["\"b\"", "\"a\""], true), (["W/\"a\""], true),
      ([",, \"a\" ,"], true), (["*"], true), ([" * "], true), (["\"b\"", "*"], true), (["\"A\""], false),
      (["\"b,\"a\""], false), (["\"b\", \"c\""], false), ([""], false), ([","], false), (["a"], false),
      (["\"*\""], false), (["\"\\\", \"a\""], true),
    ] as [([String], Bool)])
  func condition(lines: [String], matches: Bool) {
    #expect(EntityTagCondition(parsing: lines).matches(EntityTag(parsing: "\"a\"")) == matches)
  }

  @Test("Only * matches a representation without an entity tag")
  func withoutTag() {
    #expect(EntityTagCondition(parsing: ["*"]).matches(nil))
    #expect(!EntityTagCondition(parsing: ["\"a\""]).matches(nil))
  }
}
