// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPTypes
import RawStructuredFieldValues

/// What must hold of what is written for others to read.
enum CodingProperties {
  /// Whatever is read from a store can be written, and used.
  static func storedForm(_ bytes: [UInt8]) throws {
    guard var stored = StoredResponse(decoding: bytes[...]) else { return }
    let encoded = stored.encoded()
    guard let again = StoredResponse(decoding: encoded[...]) else {
      throw Violation(description: "cannot be read again: \(stored)")
    }
    try require(again == stored, "unstable: \(stored)")
    try require(again.encoded() == encoded, "two forms: \(stored)")
    stored.contentLength = stored.parts?.count ?? Int64(bytes.count)
    let key = CacheKey(TargetURI(scheme: "http", authority: "a.example", path: "/r"))
    try require(
      stored.scopes(under: key).count == stored.groups.count + stored.tags.all.count + 1
        && stored.facts.flags.contains(.hasGroups) || stored.groups.isEmpty, "groups: \(stored)")
    var model = ModelCache(kind: .private)
    model.add(stored)
    model.isTrusted = false
    var request = HTTPRequest(method: .get, scheme: "http", authority: "a.example", path: "/r")
    try model.exchange(request, .failure)
    request.headerFields[.range] = "bytes=1-2,4-"
    try model.exchange(request, .response(HTTPResponse(status: .notModified)))
    request.headerFields[.range] = nil
    model.originHasRanges = true
    var head = HTTPResponse(status: .ok, headerFields: stored.fields)
    head.headerFields[.contentLength] = nil
    try model.exchange(request, .response(head))
  }

  /// What is written as Cache-Status is a structured field with one member (RFC 9211 §2).
  static func cacheStatus(_ bytes: [UInt8]) throws {
    var numbers = InputNumbers(bytes)
    var status = CacheStatus(
      cache: "HTTPCacheEngine", isHit: numbers.bool(),
      forward: numbers.bool() ? numbers.pick(CacheStatus.Forward.allCases) : nil,
      forwardStatus: numbers.bool() ? numbers.pick(Vocabulary.statuses) : nil,
      timeToLive: numbers.bool() ? .seconds(min(numbers.seconds(), 999_999_999_999_999)) : nil,
      isStored: numbers.bool(),
      isCollapsed: numbers.bool(), reason: numbers.bool() ? numbers.pick(CacheEngine.Reason.allCases) : nil)
    if numbers.bool() { status.cache = numbers.text() }
    if numbers.bool() {
      status.key = CacheKey(
        TargetURI(scheme: "http", authority: numbers.text(), path: numbers.text()), partition: numbers.text())
    }
    if numbers.bool() { status.isCollapsed = nil }
    var parser = StructuredFieldValueParser(Array(status.fieldValue.utf8))
    let list = try parser.parseListFieldValue()
    try require(list.count == 1, "no one member: \(status.fieldValue)")
    guard case .item(let item) = list.first else {
      throw Violation(description: "no item: \(status.fieldValue)")
    }
    try require(item.rfc9651Parameters["hit"] == (status.isHit ? .bool(true) : nil), status.fieldValue)
    try require(
      item.rfc9651Parameters["ttl"] == status.remainingSeconds.map { .integer($0) }, status.fieldValue)
  }

  /// What is read of Cache-Status is written so that it is read as the same, and nothing before the last member changes how
  /// that is read.
  static func cacheStatusText(_ bytes: [UInt8]) throws {
    let text = String(decoding: bytes, as: UTF8.self)
    if let status = CacheStatus(parsing: text) {
      let value = status.fieldValue
      try require(CacheStatus(parsing: value)?.fieldValue == value, "read in two ways: \(value)")
    }
    let own = CacheStatus(cache: "a, \"b\"", forward: .stale, timeToLive: .seconds(-1), reason: .validated)
    try require(CacheStatus(parsing: text + ", " + own.fieldValue) == own, "not the last member: \(text)")
  }
}
