// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPTypes

/// One walk over the fields of a response finds what looking up each by its name does, and what is stored of them is what
/// is left when everything else has been taken out one by one.
enum ReadingProperty {
  /// In lines, a field each. The length of the input decides on what the cache is set to.
  static func reading(_ bytes: [UInt8]) throws {
    let fields = HTTPFields(headIn: bytes)
    let now = Vocabulary.start
    func lines(_ name: String) -> [String] {
      fields.filter { $0.name.rawName.lowercased() == name }.map(\.value)
    }
    let read = ResponseFields(fields, now: now, targets: [])
    try require(read.cacheControl == CacheControl(parsing: lines("cache-control")), "other directives")
    try require(read.vary == VaryField(parsing: lines("vary")), "another Vary")
    try require(
      read.entityTag == lines("etag").lazy.compactMap { EntityTag(parsing: $0) }.first, "another tag")
    try require(read.contentLength == lines("content-length").last.flatMap { Int64($0) }, "another length")
    for (name, date) in [
      ("expires", read.expires), ("date", read.date), ("last-modified", read.lastModified),
    ] {
      let dates = lines(name).map { HTTPDate(parsing: $0, now: now) }
      let isOne = dates.allSatisfy { $0 == dates[0] }
      let expected: ResponseFields.DateField =
        dates.isEmpty ? .absent : isOne ? dates[0].map { .date($0) } ?? .invalid : .invalid
      try require(date == expected, "another \(name)")
    }
    if let first = lines("age").first, !first.contains("\"") {
      let member = first.split { $0 == "," }.lazy.map(trimmed).first { !$0.isEmpty }
      try require(read.age == member.flatMap { DeltaSeconds(parsing: $0) }, "another Age")
    }
    try stored(fields, read, lines, length: bytes.count)
  }

  private static func stored(
    _ fields: HTTPFields, _ read: ResponseFields, _ lines: (String) -> [String], length: Int
  ) throws {
    var configuration = CacheEngine.Configuration(kind: length % 2 == 0 ? .private : .shared)
    if length % 3 == 0 { configuration.withheldFields += ["ETag", "date", "Cache-Control", "x"] }
    if length % 5 == 0 { configuration.targets = ["x", "ETag"] }
    let engine = CacheEngine(configuration)
    let request = HTTPRequest(method: .get, scheme: "http", authority: "a.example", path: "/r")
    guard
      case .forward(let forwarding) = engine.plan(
        for: request, policy: .useProtocolCachePolicy, candidates: [], now: Vocabulary.start)
    else { throw Violation(description: "nothing is stored, and it is not forwarded") }
    let outcome = engine.outcome(
      of: CacheEngine.Exchange(
        forwarding: forwarding, candidates: [],
        result: .response(HTTPResponse(status: .ok, headerFields: fields)), requestTime: Vocabulary.start,
        responseTime: Vocabulary.start))
    guard case .store(let stored, _) = outcome.storage else { return }
    let bytes = stored.encoded()
    guard let decoded = StoredResponse(decoding: bytes[...]) else {
      throw Violation(description: "what is stored cannot be read")
    }
    try require(decoded == stored && decoded.encoded() == bytes, "read otherwise than stored")
    try require(pairs(decoded.fields) == pairs(stored.fields), "fields in another order")
    // Quotes make an option of the connection what commas do not say.
    guard configuration.targets.isEmpty, !lines("connection").contains(where: { $0.contains("\"") }) else {
      return
    }
    var gone = ofConnection.union(configuration.withheldFields).union(read.cacheControl.noCacheFields)
    if configuration.kind == .shared { gone.formUnion(read.cacheControl.privateFields) }
    for option in lines("connection").flatMap({ $0.split { $0 == "," } }) {
      gone.insert(trimmed(option).lowercased())
    }
    gone.subtract(["cache-control", "vary"])
    gone.formUnion(ofConnection)
    var expected = pairs(fields).filter { !gone.contains($0[0].lowercased()) }
    // A recipient with a clock adds it (RFC 9110 §6.6.1).
    if !expected.contains(where: { $0[0].lowercased() == "date" }) {
      expected.append(["Date", "Sun, 06 Nov 1994 08:49:37 GMT"])
    }
    try require(pairs(stored.fields) == expected, "stored \(pairs(stored.fields)), expected \(expected)")
  }

  /// RFC 9110 §7.6.1.
  private static let ofConnection: Set<String> = [
    "connection", "keep-alive", "te", "transfer-encoding", "upgrade", "proxy-connection",
    "proxy-authenticate",
    "proxy-authorization", "proxy-authentication-info",
  ]

  private static func pairs(_ fields: HTTPFields) -> [[String]] {
    fields.map { [$0.name.rawName, $0.value] }
  }

  /// Without the whitespace of fields (RFC 9110 §5.6.3).
  private static func trimmed(_ text: Substring) -> String {
    let isSpace = { (character: Character) in character == " " || character == "\t" }
    return String(text.drop(while: isSpace).reversed().drop(while: isSpace).reversed())
  }
}

extension HTTPFields {
  /// The fields of some lines, without the lines that are not valid.
  init(headIn bytes: [UInt8]) {
    self.init()
    for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
      let colon = line.firstIndex(of: ":") ?? line.endIndex
      guard colon < line.endIndex, let name = HTTPField.Name(String(line[..<colon])) else { continue }
      append(HTTPField(name: name, value: String(line[line.index(after: colon)...])))
    }
  }
}
