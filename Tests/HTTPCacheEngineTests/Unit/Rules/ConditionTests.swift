// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPTypes
import Testing

@Suite("Conditions that an origin evaluates (RFC 9110 §13.2.2)")
struct ConditionTests {
  private static let now = Timestamp(seconds: 1_700_000_000)
  private static let before = "Sun, 13 Sep 2020 12:26:39 GMT"
  private static let modified = "Sun, 13 Sep 2020 12:26:40 GMT"

  @Test(
    "Each condition has its comparison and its place in the order",
    arguments: [
      (.get, [:], "\"a\"", .met),
      // If-Match: strong, before all others, and with any tag.
      (.get, [.ifMatch: "\"a\""], "\"a\"", .met), (.put, [.ifMatch: "\"b\", \"a\""], "\"a\"", .met),
      (.put, [.ifMatch: "W/\"a\""], "W/\"a\"", .failed), (.put, [.ifMatch: "\"b\""], "\"a\"", .failed),
      (.put, [.ifMatch: "\"b\""], nil, .failed), (.put, [.ifMatch: "*"], nil, .met),
      (.get, [.ifMatch: "\"b\"", .ifNoneMatch: "\"a\""], "\"a\"", .failed),
      (.get, [.ifMatch: "\"a\"", .ifNoneMatch: "\"a\""], "\"a\"", .notModified),
      // If-Unmodified-Since: only without If-Match, and with a date.
      (.put, [.ifUnmodifiedSince: before], nil, .failed), (.put, [.ifUnmodifiedSince: modified], nil, .met),
      (.put, [.ifUnmodifiedSince: "yesterday"], nil, .met),
      (.put, [.ifMatch: "\"a\"", .ifUnmodifiedSince: before], "\"a\"", .met),
      // If-None-Match: weak.
      (.get, [.ifNoneMatch: "W/\"a\""], "\"a\"", .notModified),
      (.head, [.ifNoneMatch: "\"a\""], "W/\"a\"", .notModified),
      (.put, [.ifNoneMatch: "\"a\""], "\"a\"", .failed), (.put, [.ifNoneMatch: "*"], nil, .failed),
      (.put, [.ifNoneMatch: "\"b\""], "\"a\"", .met),
      // If-Modified-Since: only without If-None-Match, and for GET and HEAD.
      (.get, [.ifModifiedSince: modified], nil, .notModified), (.get, [.ifModifiedSince: before], nil, .met),
      (.put, [.ifModifiedSince: modified], nil, .met),
      (.get, [.ifNoneMatch: "\"b\"", .ifModifiedSince: modified], "\"a\"", .met),
    ] as [(HTTPRequest.Method, HTTPFields, String?, CacheEngine.ConditionResult)])
  func conditions(
    method: HTTPRequest.Method, fields: HTTPFields, tag: String?, expected: CacheEngine.ConditionResult
  ) {
    let request = HTTPRequest(
      method: method, scheme: "http", authority: "a.example", path: "/", headerFields: fields)
    let result = CacheEngine.evaluateConditions(
      of: request, entityTag: tag.flatMap { EntityTag(parsing: $0) },
      lastModified: HTTPDate(parsing: Self.modified, now: Self.now), now: Self.now)
    #expect(result == expected)
  }
}
