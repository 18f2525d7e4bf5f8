// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPTypes

/// What must hold of every parser: it survives anything, and what it accepts it writes so that it accepts it again.
enum ParserProperties {
  private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
  private static let now = Vocabulary.start

  static func directives(_ bytes: [UInt8]) throws {
    let value = text(bytes)
    let parsed = CacheControl(parsing: value)
    for time in [
      parsed.maxAge, parsed.sharedMaxAge, parsed.maxStale, parsed.minFresh, parsed.staleWhileRevalidate,
      parsed.staleIfError,
    ] {
      if let time { try require((0...2_147_483_648).contains(time.seconds), "a time out of range: \(time)") }
    }
    for name in parsed.noCacheFields + parsed.privateFields {
      try require(HTTPField.Name(name) != nil, "no field name: \(name)")
    }
    // What forbids something forbids it whatever stands beside it.
    for (directive, flag) in [
      ("no-store", CacheControl.Flags.noStore), ("no-cache", .noCache), ("private", .isPrivate),
    ] {
      try require(
        CacheControl(parsing: directive + ", " + value).contains(flag), "\(directive) lost before it")
      try require(
        CacheControl(parsing: [value, directive]).contains(flag), "\(directive) lost in a line after it")
    }
    // What restricts does so whatever it is separated by.
    for separator in [", ", "; ", " ", ";", ",\t"] {
      try require(
        CacheControl(parsing: value + separator + "no-store").contains(.noStore),
        "no-store lost behind '\(separator)'")
    }
    let lines = value.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    let fields = HTTPFields(lines.map { HTTPField(name: .cacheControl, value: $0) })
    try require(
      ResponseFields(fields, now: now, targets: []).cacheControl
        == CacheControl(parsing: fields[values: .cacheControl]),
      "lines read in two ways")
    if let seconds = DeltaSeconds(parsing: value) {
      try require(DeltaSeconds(parsing: String(seconds.seconds)) == seconds, "unstable seconds: \(seconds)")
    }
  }

  static func dates(_ bytes: [UInt8]) throws {
    if let date = HTTPDate(parsing: text(bytes), now: now) {
      try require(HTTPDate(parsing: date.fieldValue, now: now) == date, "unstable date: \(date.fieldValue)")
    }
    // The same bytes as a number of seconds.
    let seconds = bytes.prefix(8).reduce(Int64(0)) { $0 << 8 | Int64($1) }
    let written = HTTPDate(secondsSince1970: seconds).fieldValue
    guard let read = HTTPDate(parsing: written, now: now) else {
      throw Violation(description: "no date: \(written)")
    }
    if (-62_167_219_200...253_402_300_799).contains(seconds) {
      try require(read.secondsSince1970 == seconds, "\(seconds) became \(read.secondsSince1970)")
    }
  }

  static func entityTags(_ bytes: [UInt8]) throws {
    let value = text(bytes)
    if let tag = EntityTag(parsing: value) {
      try require(EntityTag(parsing: tag.fieldValue) == tag, "unstable tag: \(tag)")
      try require(EntityTagCondition(parsing: [tag.fieldValue]) == .tags([tag]), "no condition: \(tag)")
      try require(tag.matchesWeakly(tag), "a tag that is not itself")
    }
    if case .tags(let tags) = EntityTagCondition(parsing: [value]) {
      let written = tags.map(\.fieldValue).joined(separator: ", ")
      try require(EntityTagCondition(parsing: [written]) == .tags(tags), "unstable list: \(written)")
    }
  }

  static func ranges(_ bytes: [UInt8]) throws {
    let value = text(bytes)
    guard let range = RangeField(parsing: value) else { return }
    let lengths = [0, 1, 10, Int64(bytes.count), .max]
    for length in lengths {
      for resolved in range.resolved(length: length) {
        try require(
          !resolved.isEmpty && resolved.lowerBound >= 0 && resolved.upperBound <= length,
          "outside: \(resolved)")
      }
    }
  }

  /// The first line is `Vary`; the others are `Accept`, of one request or of two.
  static func selectingFields(_ bytes: [UInt8]) throws {
    let lines = text(bytes).split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    let vary = VaryField(parsing: lines.prefix(1))
    if case .names(let names) = vary {
      try require(VaryField(parsing: [names.joined(separator: ", ")]) == vary, "unstable Vary: \(names)")
    }
    let fields = HTTPFields(
      lines.dropFirst().enumerated().map {
        HTTPField(name: $0.offset % 2 == 0 ? .accept : .acceptLanguage, value: $0.element)
      })
    for vary in [vary, .names(["accept", "accept-language"])] {
      let selecting = SelectingFields(vary, of: fields)
      try require(selecting.isUnmatchable || selecting.match(fields), "a request that does not match itself")
      try require(selecting == SelectingFields(vary, of: fields), "two readings")
      let without = SelectingFields(vary, of: [:])
      let sameKey = selecting.variantKey == without.variantKey
      try require(sameKey == (selecting == without), "keys that do not tell variants apart")
    }
  }

  static func uris(_ bytes: [UInt8]) throws {
    let lines = text(bytes).split(separator: "\n", maxSplits: 2, omittingEmptySubsequences: false).map(
      String.init)
    let base = TargetURI(scheme: "http", authority: "a.example", path: "/b/c?d")
    if let uri = base.resolving(lines[0]) {
      try require(uri.path.first == "/", "no path: \(uri.text)")
      try require(!uri.text.contains("#"), "a fragment: \(uri.text)")
      try require(base.resolving(uri.text) == uri, "unstable: \(uri.text)")
      try require(
        CacheKey(uri).bytes == Array(uri.text.utf8), "a key that is not the URI: \(uri.text)")
    }
    guard lines.count == 3 else { return }
    let request = HTTPRequest(method: .get, scheme: lines[0], authority: lines[1], path: lines[2])
    // The short way to a key, which most requests go, ends where the long way does.
    try require(CacheKey(request) == TargetURI(request).map { CacheKey($0) }, "two keys of \(lines)")
    if let uri = TargetURI(request) {
      let again = TargetURI(scheme: uri.scheme, authority: uri.authority, path: uri.path)
      try require(again == uri, "unstable: \(uri.text)")
    }
  }

  /// Lines of any fields, read as those of a response and of a request.
  static func heads(_ bytes: [UInt8]) throws {
    let fields = HTTPFields(headIn: bytes)
    let parsed = ResponseFields(fields, now: now, targets: [])
    // A date in another format is a validator as well, if it can be recognised.
    if parsed.entityTag != nil || parsed.lastModified.date != nil {
      try require(parsed.hasValidator, "no validator")
    } else if fields[.lastModified] == nil {
      try require(!parsed.hasValidator, "a validator out of nothing")
    }
    var model = ModelCache(kind: bytes.count % 2 == 0 ? .private : .shared)
    try model.exchange(
      HTTPRequest(method: .get, scheme: "http", authority: "a.example", path: "/r"),
      .response(HTTPResponse(status: .ok, headerFields: fields)))
    model.now = model.now.advanced(bySeconds: 5)
    try model.exchange(
      HTTPRequest(method: .get, scheme: "http", authority: "a.example", path: "/r", headerFields: fields),
      .response(HTTPResponse(status: .notModified, headerFields: fields)))
  }
}
