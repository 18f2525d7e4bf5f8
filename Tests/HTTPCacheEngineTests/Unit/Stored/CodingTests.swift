// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import HTTPTypes
import Testing

@testable import HTTPCacheEngine

@Suite(.timeLimit(.minutes(10)))
struct CodingTests {
  private static let heads: [HTTPResponse] = [
    response(), response(404, "X: 1"), response(999, "Cache-Control: max-age=1"),
    response(
      200, "Cache-Control: max-age=60, stale-while-revalidate=5, stale-if-error=99999999999, must-revalidate",
      "ETag: W/\"é\"", "Set-Cookie: a", "set-cookie: b", "Vary: Accept, Missing", "Empty: "),
    response(200, "Vary: *", "Last-Modified: \(date(-1000))"),
    response(200, "Expires: \(date(60))", "Age: 7", "Date: Sat, 01 Jan 0000 00:00:00 GMT"),
    HTTPResponse(
      status: .init(code: 200, reasonPhrase: "Fine"),
      headerFields: [.contentType: String(repeating: "x", count: 5000)]),
  ]

  private func stored() throws -> [StoredResponse] {
    try Self.heads.map { try #require(CacheEngine.privately.stored($0, for: request("Accept: a, b"))) }
      + Self.parts.map {
        var stored = try #require(CacheEngine.privately.stored(response(200, "ETag: \"a\"")))
        stored.parts = $0
        return stored
      }
  }

  private static let parts: [StoredParts?] = [
    StoredParts(ranges: [0..<1], completeLength: nil, isCombinable: false),
    StoredParts(ranges: [0..<5, 7..<8, 9..<(.max)], completeLength: .max, isCombinable: true),
  ]

  @Test("A response survives encoding and decoding, from any part of a buffer")
  func roundTrip() throws {
    for response in try stored() {
      let bytes = response.encoded()
      let decoded = try #require(StoredResponse(decoding: bytes[...]))
      #expect(decoded == response)
      #expect(decoded.status.reasonPhrase == response.status.reasonPhrase)
      #expect(decoded.fields.map(\.name.rawName) == response.fields.map(\.name.rawName))
      #expect(StoredResponse(decoding: ([1, 2, 3] + bytes + [4])[3..<3 + bytes.count]) == response)
      #expect(StoredResponse(decoding: (bytes + [0])[...]) == nil, "more than was written")
    }
  }

  /// `max-age=60`, `ETag: "a"`, as version 5 wrote it.
  private static let version5 = """
    05022800c800000060ea00000000000000000000000000008035f37e9f0100008035f37e9f0100000000000000000000000000\
    00020000004f4b03000000050a0000006d61782d6167653d363010030000002261220f1d0000004d6f6e2c203230204a756c20\
    323032362030393a35343a353620474d54
    """

  /// The same in two languages that share one content, as version 5 wrote it after a 304.
  private static let version5Shared = """
    05022800c800040060ea00000000000000000000000000008035f37e9f0100008035f37e9f0100000000000000000000010000\
    000f000002020000006163636570742d6c616e67756167656465020000004f4b04000000050a0000006d61782d6167653d3630\
    1003000000226122180f0000004163636570742d4c616e67756167650f1d0000004d6f6e2c203230204a756c20323032362030\
    393a35343a353620474d5401000000a400000005022800c800000060ea00000000000000000000000000008035f37e9f010000\
    8035f37e9f0100000000000000000000010000000f000002020000006163636570742d6c616e6775616765656e020000004f4b\
    04000000050a0000006d61782d6167653d36301003000000226122180f0000004163636570742d4c616e67756167650f1d0000\
    004d6f6e2c203230204a756c20323032362030393a35343a353620474d54
    """

  private static func bytes(_ hex: String) -> [UInt8] {
    let digits = hex.utf8.compactMap { Character(UnicodeScalar($0)).hexDigitValue.map(UInt8.init) }
    return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
  }

  @Test("What version 5 wrote is read, but for a content that a 304 chose for other clients")
  func earlier() throws {
    let stored = try #require(StoredResponse(decoding: Self.bytes(Self.version5)[...]))
    #expect(stored.entityTag == EntityTag(parsing: "\"a\"") && stored.facts.flags.contains(.hadLifetime))
    let engine = CacheEngine.shared
    let plan = engine.plan(
      for: request(), policy: .useProtocolCachePolicy, candidates: [stored], now: stored.facts.responseTime)
    #expect(plan.reason == .fresh)
    // It is written in this version from then on.
    #expect(stored.encoded()[0] == StoredForm.version)
    #expect(StoredResponse(decoding: stored.encoded()[...]) == stored)
    let shared = Self.bytes(Self.version5Shared)
    #expect(StoredResponse(decoding: shared[...]) == nil)
    #expect(!shared.withUnsafeBytes { StoredResponse.canDecode($0.bytes) })
    let hit = shared.withUnsafeBytes {
      engine.hit(
        for: request("Accept-Language: de"), policy: .useProtocolCachePolicy, stored: $0.bytes,
        now: stored.facts.responseTime)
    }
    #expect(hit == nil)
    // Without the shared forms, the first is a response.
    var alone = shared
    alone[6] = 0
    #expect(StoredResponse(decoding: alone[..<(shared.count - 8 - 164)]) != nil)
  }

  @Test(
    "Whether what version 5 wrote had a lifetime follows from the lifetime that it has",
    arguments: [
      // the source, the lifetime and the initial age in milliseconds
      (.none, 0, 0, false), (.maxAge, 60_000, 0, true), (.maxAge, 60_000, 90_000, true),
      (.maxAge, 0, 0, false),
      (.sharedMaxAge, 1000, 0, true), (.expires, 0, 0, false), (.heuristic, 999, 0, false),
      (.heuristic, 1000, 0, true), (.rule, 5000, 5000, false), (.rule, 6000, 5000, true),
      (.application, 0, 0, false), (.application, 1, 0, true),
    ] as [(FreshnessLifetime.Source, Int64, Int64, Bool)])
  func earlierLifetime(source: FreshnessLifetime.Source, lifetime: Int64, age: Int64, had: Bool) throws {
    var stored = try #require(CacheEngine.shared.stored(response(200, "Cache-Control: max-age=60")))
    stored.facts.lifetime = FreshnessLifetime(milliseconds: lifetime, source: source)
    stored.facts.initialAge = age
    stored.facts.flags.remove(.hadLifetime)
    var bytes = stored.encoded()
    #expect(StoredResponse(decoding: bytes[...])?.facts.flags.contains(.hadLifetime) == false)
    bytes[0] = 5
    #expect(StoredResponse(decoding: bytes[...])?.facts.flags.contains(.hadLifetime) == had)
  }

  @Test("A truncated encoding of a response is rejected")
  func truncation() throws {
    for response in try stored() {
      let bytes = response.encoded()
      for length in 0..<bytes.count { #expect(StoredResponse(decoding: bytes[..<length]) == nil) }
    }
  }

  @Test("A flipped byte crashes neither decoding nor later use")
  func flips() throws {
    for response in try stored() where response.encoded().count < 1000 {
      let bytes = response.encoded()
      for position in bytes.indices {
        for flip: UInt8 in [0x01, 0x80, 0xFF] {
          var flipped = bytes
          flipped[position] ^= flip
          guard let decoded = StoredResponse(decoding: flipped[...]) else { continue }
          use(decoded)
        }
      }
    }
  }

  @Test("Random bytes crash neither decoding nor later use")
  func random() {
    var numbers = SplitMix64(seed: 3)
    for _ in 0..<2000 {
      var bytes = (0..<Int.random(in: 0...120, using: &numbers)).map { _ in
        UInt8.random(in: 0...255, using: &numbers)
      }
      if !bytes.isEmpty { bytes[0] = 3 }
      if bytes.count > 1 { bytes[1] %= 5 }
      StoredResponse(decoding: bytes[...]).map(use)
    }
  }

  /// Every arithmetic of the engine, on facts that no engine computed.
  private func use(_ stored: StoredResponse) {
    let engine = CacheEngine(.init(kind: .shared, whenDisconnected: .unlessForbidden))
    for now in [Timestamp(milliseconds: .min), arrival, Timestamp(milliseconds: .max)] {
      let asked = request("Cache-Control: max-stale=5, max-age=1", "If-Modified-Since: \(arrivalDate)")
      let plan = engine.plan(for: asked, policy: .useProtocolCachePolicy, candidates: [stored], now: now)
      if let service = plan.service { #expect(service.ageInSeconds >= 0) }
      if case .forward(let forwarding) = plan {
        for result in [CacheEngine.Exchange.Result.failure, .response(response(304, "ETag: \"a\""))] {
          _ = engine.outcome(
            of: CacheEngine.Exchange(
              forwarding: forwarding, candidates: [stored], result: result, requestTime: now,
              responseTime: now))
        }
      }
    }
    _ = stored.response(ageInSeconds: stored.facts.currentAge(at: arrival))
    #expect(StoredResponse(decoding: stored.encoded()[...]) != nil)
  }

  @Test("An encoded response with too many fields is rejected")
  func tooManyFields() throws {
    var stored = try #require(CacheEngine.privately.stored(response(200, "ETag: \"a\"")))
    // Not in place, where each one would be a copy of all.
    var fields = HTTPFields()
    for _ in 0..<65_001 { fields.append(HTTPField(name: .age, value: "")) }
    stored.fields = fields
    #expect(StoredResponse(decoding: stored.encoded()[...]) == nil)
    fields.removeLast()
    stored.fields = fields
    #expect(
      StoredResponse(decoding: stored.encoded()[...])?.response(ageInSeconds: 1).headerFields.count == 1)
  }

  @Test("No encoded response begins with a byte reserved for other records")
  func reservedFirstBytes() throws {
    for response in try stored() {
      let first = try #require(response.encoded().first)
      #expect(!StoredResponse.reservedFirstBytes.contains(first))
    }
  }

  @Test("An encoded response of another version is neither decoded nor a hit")
  func olderVersion() throws {
    var bytes = try #require(CacheEngine.privately.stored(response(200, "Cache-Control: max-age=60")))
      .encoded()
    #expect(hit(bytes) != nil)
    let current = bytes[0]
    for version in UInt8.min...UInt8.max where version != current && version != StoredForm.earliest {
      bytes.withUnsafeMutableBytes { $0[0] = version }
      #expect(StoredResponse(decoding: bytes[...]) == nil)
      #expect(hit(bytes) == nil)
      bytes[0] = current
    }
  }

  private func hit(_ bytes: [UInt8]) -> CacheEngine.Hit? {
    bytes.withUnsafeBytes {
      CacheEngine.privately.hit(
        for: request(), policy: .useProtocolCachePolicy, stored: $0.bytes, now: arrival)
    }
  }

  @Test("The original line of a selecting field is kept and does not affect equality")
  func selectingLines() throws {
    let lines = ["Accept: B, a", "Accept-Language: de", "X: 1", "X: 2"]
    let asked = HTTPRequest(
      method: .get, scheme: "http", authority: "a.example", path: "/r", headerFields: HTTPFields(lines: lines)
    )
    let stored = try #require(
      CacheEngine.privately.stored(response(200, "Vary: Accept, Accept-Language, Missing, X"), for: asked))
    let decoded = try #require(StoredResponse(decoding: stored.encoded()[...]))
    #expect(decoded.selecting.fields.map(\.line) == ["B, a", "de", nil, nil])
    #expect(decoded.selecting.fields.map(\.value) == ["B,a", "de", nil, "1,2"])
    let other = SelectingFields(
      VaryField(parsing: ["Accept, Accept-Language, Missing, X"]),
      of: HTTPFields(lines: ["Accept: B ,a", "Accept-Language: de;q=1", "X: 1, 2"]))
    #expect(other == decoded.selecting)
    #expect(other.hashValue == decoded.selecting.hashValue)
  }

  @Test("Field names keep their spelling, and common names are stored as numbers")
  func names() throws {
    let lines = [
      "ETag: \"a\"", "etag: \"b\"", "Content-Type: a/b", "CONTENT-TYPE: c/d", "X-Own: 1", "Vary: A",
    ]
    let stored = try #require(
      CacheEngine.privately.stored(HTTPResponse(status: .ok, headerFields: HTTPFields(lines: lines))))
    let decoded = try #require(StoredResponse(decoding: stored.encoded()[...]))
    #expect(decoded.fields.map(\.name.rawName) == stored.fields.map(\.name.rawName))
    #expect(
      decoded.fields.map(\.name.rawName).starts(with: ["ETag", "etag", "Content-Type", "CONTENT-TYPE"]))
    let numbers = (1...UInt8.max).compactMap { FieldNameTable.name(numbered: $0) }
    #expect(numbers.count == Set(numbers.map(\.rawName)).count)
    #expect(FieldNameTable.name(numbered: 0) == nil)
    for number in 1...FieldNameTable.count {
      let name = try #require(FieldNameTable.name(numbered: number))
      #expect(FieldNameTable.number(of: name) == number, "\(name)")
      let oddly = name.canonicalName.prefix(1) + name.rawName.dropFirst().uppercased()
      for other in [name.rawName.uppercased(), String(oddly), name.rawName + "s"] {
        let other = try #require(HTTPField.Name(other))
        #expect(FieldNameTable.number(of: other) == (other.rawName == name.rawName ? number : 0), "\(other)")
      }
      let lowercase = try #require(HTTPField.Name(name.canonicalName))
      #expect(FieldNameTable.number(of: lowercase) != 0, "\(lowercase)")
    }
    #expect(FieldNameTable.name(numbered: FieldNameTable.count) != nil)
    #expect(FieldNameTable.name(numbered: FieldNameTable.count + 1) == nil)
  }

  @Test(
    "Field names keep their assigned numbers",
    arguments: [
      (1, "Accept-Ranges"), (2, "Access-Control-Allow-Origin"), (3, "Age"), (4, "Allow"),
      (5, "Cache-Control"),
      (6, "Content-Disposition"), (7, "Content-Encoding"), (8, "Content-Language"), (9, "Content-Length"),
      (10, "Content-Location"), (11, "Content-Range"), (12, "Content-Security-Policy"), (13, "Content-Type"),
      (14, "Cross-Origin-Resource-Policy"), (15, "Date"), (16, "ETag"), (17, "Expires"),
      (18, "Last-Modified"),
      (19, "Location"), (20, "Retry-After"), (21, "Server"), (22, "Set-Cookie"),
      (23, "Strict-Transport-Security"), (24, "Vary"), (25, "X-Content-Type-Options"),
      (26, "Access-Control-Allow-Credentials"), (27, "Access-Control-Allow-Headers"),
      (28, "Access-Control-Allow-Methods"), (29, "Access-Control-Expose-Headers"),
      (30, "Access-Control-Max-Age"), (31, "Link"), (42, "Timing-Allow-Origin"), (43, "accept-ranges"),
      (58, "etag"), (72, "access-control-max-age"), (84, "timing-allow-origin"),
    ] as [(UInt8, String)])
  func numbers(number: UInt8, name: String) {
    #expect(FieldNameTable.name(numbered: number)?.rawName == name)
  }

  @Test("Common lowercase field names are stored as numbers")
  func lowercaseNames() throws {
    let lines = ["etag: \"a\"", "content-type: a/b", "x-cache: HIT", "strict-transport-security: max-age=1"]
    let stored = try #require(
      CacheEngine.privately.stored(HTTPResponse(status: .ok, headerFields: HTTPFields(lines: lines))))
    let text = String(decoding: stored.encoded(), as: UTF8.self)
    for field in stored.fields where field.name != .date {
      #expect(field.name.rawName == field.name.canonicalName)
      #expect(!text.contains(field.name.rawName))
    }
    #expect(StoredResponse(decoding: stored.encoded()[...]) == stored)
  }

  @Test("An older encoded response with lowercase names in full is decoded")
  func speltOut() throws {
    let stored = try #require(
      CacheEngine.privately.stored(
        HTTPResponse(status: .ok, headerFields: HTTPFields(lines: ["etag: \"a\""]))))
    let bytes = stored.encoded()
    let name = try #require(HTTPField.Name("etag"))
    let position = try #require(bytes[52...].firstIndex(of: FieldNameTable.number(of: name)))
    let older = bytes[..<position] + [0, 4, 0, 0, 0] + Array("etag".utf8) + bytes[(position + 1)...]
    let decoded = try #require(StoredResponse(decoding: Array(older)[...]))
    #expect(decoded == stored)
    #expect(decoded.fields.map(\.name.rawName) == stored.fields.map(\.name.rawName))
  }
}
