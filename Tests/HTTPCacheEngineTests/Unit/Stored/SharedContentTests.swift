// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes
import Testing

@testable import HTTPCacheEngine

@Suite("Responses with shared content", .timeLimit(.minutes(10)))
struct SharedContentTests {
  private func stored(_ language: String, _ fields: String...) throws -> StoredResponse {
    var response = response(200, "Cache-Control: max-age=60", "Vary: Accept-Language", "ETag: \"a\"")
    for field in fields {
      let parts = field.split(separator: ":", maxSplits: 1).map(String.init)
      response.headerFields[try #require(HTTPField.Name(parts[0]))] = parts[1]
    }
    return try #require(CacheEngine.privately.stored(response, for: request("Accept-Language: \(language)")))
  }

  private func all(_ bytes: [UInt8]) -> [StoredResponse] {
    bytes.withUnsafeBytes { StoredResponse.all(decoding: $0.bytes) }
  }

  @Test("All responses are decoded as written, the last changed one first", arguments: [1, 2, 8])
  func roundTrip(count: Int) throws {
    var bytes: [UInt8] = []
    var expected: [StoredResponse] = []
    for number in 0..<count {
      let added = try stored("x-\(number)")
      bytes = StoredResponse.encoded(added, replacing: nil, among: all(bytes))
      expected.insert(added, at: 0)
    }
    #expect(all(bytes) == expected)
    #expect(StoredResponse(decoding: bytes[...]) == expected[0])
    #expect(bytes.withUnsafeBytes { StoredResponse.canDecode($0.bytes) })
    var changed = expected[count - 1]
    changed.facts.responseTime = changed.facts.responseTime.advanced(bySeconds: 1)
    bytes = StoredResponse.encoded(changed, replacing: expected[count - 1].selecting, among: all(bytes))
    #expect(all(bytes) == [changed] + expected.dropLast())
  }

  @Test("A single response has the plain encoding")
  func alone() throws {
    let response = try stored("de")
    #expect(StoredResponse.encoded(response, replacing: nil, among: []) == response.encoded())
  }

  @Test("At most 8 responses and 16 KiB share one content")
  func bounded() throws {
    var bytes: [UInt8] = []
    for number in 0..<20 {
      bytes = StoredResponse.encoded(try stored("x-\(number)"), replacing: nil, among: all(bytes))
    }
    #expect(all(bytes).map { $0.selecting.fields[0].value } == (12..<20).reversed().map { Octets("x-\($0)") })
    let long = String(repeating: "x", count: 10_000)
    bytes = []
    for number in 0..<3 {
      bytes = StoredResponse.encoded(
        try stored("x-\(number)", "X:\(long)"), replacing: nil, among: all(bytes))
    }
    #expect(all(bytes).count == 1)
  }

  @Test("A response with a different Vary replaces the others")
  func otherVary() throws {
    let one = StoredResponse.encoded(try stored("de"), replacing: nil, among: [])
    let other = try stored("en", "Vary:Accept-Encoding")
    #expect(all(StoredResponse.encoded(other, replacing: nil, among: all(one))) == [other])
  }

  @Test("Only the first response is a fast-path hit")
  func hit() throws {
    let (german, english) = (try stored("de"), try stored("en"))
    let bytes = StoredResponse.encoded(english, replacing: nil, among: [german])
    func hit(_ language: String) -> CacheEngine.Hit? {
      bytes.withUnsafeBytes {
        CacheEngine.privately.hit(
          for: request("Accept-Language: \(language)"), policy: .useProtocolCachePolicy, stored: $0.bytes,
          now: english.facts.responseTime)
      }
    }
    #expect(hit("en") != nil)
    #expect(hit("de") == nil && hit("fr") == nil)
  }

  @Test("Truncated or flipped bytes neither crash decoding nor add responses")
  func damage() throws {
    let bytes = StoredResponse.encoded(
      try stored("en"), replacing: nil, among: [try stored("de"), try stored("fr")])
    for length in 0..<bytes.count { #expect(all(Array(bytes[..<length])).isEmpty) }
    #expect(all(bytes + [0]).isEmpty)
    for position in bytes.indices {
      for flip: UInt8 in [0x01, 0x04, 0x80, 0xFF] {
        var flipped = bytes
        flipped[position] ^= flip
        #expect(all(flipped).count <= 3)
      }
    }
  }
}
