// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import CacheProperties
import Foundation
import TestSupport
import Testing

@testable import HTTPCacheEngine

/// The properties that the fuzzer explores, on inputs from a seeded generator: the same in every run.
@Suite(.timeLimit(.minutes(10)))
struct PropertyTests {
  private static let seeds = [
    "max-age=60, no-store", "private, max-age=0", "no-cache=\"a, b\"", "s-maxage=5, must-revalidate, public",
    "stale-while-revalidate=30, stale-if-error=60", "max-stale, min-fresh=9", "\"a\", W/\"b\", *",
    "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
    "Accept, *", "Accept, Accept-Language\na, b\nde", "bytes=0-1", "bytes=0-1,5-,-3",
    "http://a.example/x/../y?z#f",
    "../../x", "//b.example:80?q", "http\na.example:80\n/x?y", "https\nA.example\n/", "99999999999999999999",
    "-1", "",
    ",", "\"", "Cache-Control: max-age=60\nETag: \"a\"\nVary: Accept\nAge: 5",
    "Date: Sun, 06 Nov 1994 08:49:37 GMT\nExpires: Sun, 06 Nov 1994 08:50:37 GMT\nPragma: no-cache",
    "Last-Modified: Sun, 06 Nov 1994 07:49:37 GMT\nCache-Control: public\nRange: bytes=0-1",
    "max-age=60;a=1, no-store=?0\nprivate=\"a\"", "\"a\", \"b\";x\n\"\\\"\"", "bytes 0-3/10", "bytes */10",
    "params=(\"a\" \"%62\"), key-order\n/r?a=1&c=2\n/s?c=2", "params, except=(\"a b\")\n/r?a+b=1&z",
    "Connection: close, X\nX: 1\nKeep-Alive: 5\ndate: 0\nDATE: 0\nEtag: a b\nETag: \"c\"\nte: x",
    "Age: , 5, 6\nX: a\nX: b\nCache-Control: no-cache=\"x, etag\", max-age=5\nVary: Accept-Encoding, X\nServer: s",
    "CONNECTION: x,vary, cache-control\nCookie: a\nExpires: 0\nExpires: 0\nContent-Length: 10\nVary: *\nX: 1",
    "ExampleCache; hit; ttl=376",
    "\"a \\\"b\\\"\"; fwd=uri-miss;fwd-status=200;stored;collapsed=?0, b;detail=stale;key=\"k\"",
    "de;q=0.50, EN\nfr;q=0.001", "/r?q\ntext/plain\nselect *", "/r\n\np\nselect",
    "a b, c\nd,e f", "é e\u{301} %C3%A9\n%,%25", "é\ne\u{301}", "\u{212A}\nK", "a, b\na,b",
    "\"a, b\"\n\"a,b\"", "\u{37E}\n;",
  ]
  private static let alphabet =
    Array("\",=*\\ \t-0959WGMTazé\u{0}\n;/#?:@[]%".utf8) + [0xFF, 0xFE, 0xC3, 0xCC, 0x81]

  /// A seed with some of its bytes changed.
  private static func mutated(_ bytes: [UInt8], _ numbers: inout SplitMix64) -> [UInt8] {
    var bytes = bytes
    for _ in 0..<Int.random(in: 0...3, using: &numbers) {
      let byte = alphabet[Int.random(in: alphabet.indices, using: &numbers)]
      let position = Int.random(in: 0...bytes.count, using: &numbers)
      switch Int.random(in: 0..<4, using: &numbers) {
      case 0: bytes.insert(byte, at: position)
      case 1 where position < bytes.count: bytes.remove(at: position)
      case 2 where position < bytes.count: bytes[position] = byte
      default: bytes.append(contentsOf: bytes.suffix(position))
      }
    }
    return bytes
  }

  private static func input(_ kind: Property.Input, _ numbers: inout SplitMix64) -> [UInt8] {
    switch kind {
    case .text: return mutated(Array(seeds[Int.random(in: seeds.indices, using: &numbers)].utf8), &numbers)
    case .numbers:
      return (0..<Int.random(in: 1...120, using: &numbers)).map { _ in
        .random(in: .min ... .max, using: &numbers)
      }
    case .stored:
      let head = response(
        200, "Cache-Control: max-age=60", "ETag: \"a\"", "Vary: Accept", "X: y", "Xkey: a b", "Cache-Tag: c")
      var configuration = CacheEngine.Configuration(kind: .private)
      if Bool.random(using: &numbers) { configuration.tagFields = ["xkey", "cache-tag"] }
      guard var stored = CacheEngine(configuration).stored(head) else { return [] }
      if Bool.random(using: &numbers) {
        stored.parts = StoredParts(ranges: [0..<3, 6..<10], completeLength: 10, isCombinable: true)
        stored.groups = ["a", "b"]
      }
      return mutated(stored.encoded(), &numbers)
    }
  }

  @Test(
    "Every property holds for generated inputs",
    arguments: Property.all)
  func properties(property: Property) throws {
    var numbers = SplitMix64(seed: 7)
    for _ in 0..<usually(1000, long: 2500) {
      let bytes = Self.input(property.input, &numbers)
      do {
        try property.check(bytes)
      } catch {
        Issue.record("\(error): \(bytes)")
        return
      }
    }
  }

  @Test("Generated inputs crash neither entry point, and no plan serves a forbidden response")
  func entryPoints() throws {
    var numbers = SplitMix64(seed: 23)
    var servings = 0
    for _ in 0..<2500 {
      let bytes = Self.input(.numbers, &numbers)
      do {
        servings += try EntryPointProperties.servings(bytes)
      } catch {
        Issue.record("\(error): \(bytes)")
        return
      }
    }
    #expect(servings > 300, "the numbers hit something")
  }

  @Test("The plan serves every generated fast-path hit in the same way")
  func hits() throws {
    var numbers = SplitMix64(seed: 31)
    var hits = 0
    for _ in 0..<2500 {
      let bytes = Self.input(.numbers, &numbers)
      do {
        hits += try HitProperties.count(bytes)
      } catch {
        Issue.record("\(error): \(bytes)")
        return
      }
    }
    #expect(hits > 300, "the numbers hit something")
  }

  @Test("Every property holds for the fuzzing corpus")
  func corpus() throws {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../../../../Fuzz/Corpus").standardized
    let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
    #expect(!files.isEmpty)
    for file in files {
      #expect(throws: Never.self, "\(file.lastPathComponent)") {
        try Property.check(choosing: Array(Data(contentsOf: file)))
      }
    }
  }
}

extension Property: CustomTestStringConvertible {
  public var testDescription: String { name }
}
