// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import HTTPTypes
import TestSupport
import Testing

@testable import HTTPCacheEngine

/// Compares the update of a stored response by a 304 with a model of RFC 9111 §3.2 and §4.3.4: slow, and obvious.
@Suite(.timeLimit(.minutes(10)))
struct MergingTests {
  private static let values = [
    "1", "2", "a, b", "", "\u{E9}", "e\u{301}", "K", "\u{212A}", String(repeating: "long ", count: 9) + "end",
  ]
  private static let plainNames = [
    "X-A", "x-a", "X-B", "X-Secret", "Link", "LINK", "Via", "Server", "Warning", "Content-Location", "Age",
    "Content-Type", "content-type", "Content-Length", "Content-Encoding", "Content-Range", "Content-Language",
    "Content-MD5", "Content-Digest", "Repr-Digest", "Digest", "Keep-Alive", "TE", "Upgrade",
    "Transfer-Encoding", "Proxy-Authenticate", "Proxy-Connection",
  ]
  private static let otherLines = [
    "Connection: close", "Connection: x-a, Link", "Connection: Date, cache-control, vary, @", "Close: x-a",
    "Cache-Control: max-age=5", "cache-control: no-cache=\"x-a, link\"", "Cache-Control: private=\"x-b\"",
    "Vary: Accept", "vary: Accept-Language", "Date: \(date(-5))", "date: \(date(-3))", "Expires: 0",
    "Last-Modified: \(date(-900))", "Last-Modified: \(date(-800))",
  ]

  private static func fields(_ random: inout SplitMix64) -> HTTPFields {
    var lines: [HTTPFields] = [HTTPFields("ETag: \"v\"")]
    // Now and then more than there are bits in a word.
    let count = Int.random(in: 0...8, using: &random) == 0 ? 90 : Int.random(in: 0...14, using: &random)
    for _ in 0..<count {
      if Bool.random(using: &random), let name = plainNames.randomElement(using: &random) {
        var field = HTTPFields("\(name): \(values.randomElement(using: &random) ?? "")")
        if Int.random(in: 0...9, using: &random) == 0, let name = HTTPField.Name(name) {
          // Not UTF-8.
          field = HTTPFields([HTTPField(name: name, value: [0x61, 0xE9])])
        }
        lines.append(field)
      } else if let line = otherLines.randomElement(using: &random) {
        lines.append(HTTPFields(line))
      }
    }
    lines.shuffle(using: &random)
    return HTTPFields(lines.joined())
  }

  @Test(
    "A 304 updates the stored fields as §3.2 says, whatever both contain",
    arguments: CacheEngine.Configuration.Kind.allCases, 0..<usually(15, long: 2000))
  func updates(kind: CacheEngine.Configuration.Kind, seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    var configuration = CacheEngine.Configuration(kind: kind)
    configuration.withheldFields = ["x-secret"]
    let engine = CacheEngine(configuration)
    for _ in 0..<25 {
      let received = HTTPResponse(status: .ok, headerFields: Self.fields(&random))
      let stored = try #require(engine.stored(received))
      let candidates = [try #require(StoredResponse(decoding: stored.encoded()[...]))]
      let update = Self.fields(&random)
      let outcome = try #require(
        engine.exchange(
          request(), candidates, .response(HTTPResponse(status: .notModified, headerFields: update)),
          policy: .reloadRevalidatingCacheData))
      let model = Model(stored: stored.fields, update: update, configuration: configuration)
      #expect(outcome.updates.map { Line.all($0.response.fields) } == [model.kept], "\(received) \(update)")
      #expect(Line.all(try #require(outcome.storedAnswer).response.fields) == model.answer)
    }
  }

  /// A field, octet for octet.
  private struct Line: Equatable {
    var name: String
    var value: [UInt8]

    init(_ field: HTTPField) {
      name = field.name.canonicalName
      value = field.withUnsafeBytesOfValue { Array($0) }
    }

    static func all(_ fields: HTTPFields) -> [Line] { fields.map { Line($0) } }
  }

  private struct Model {
    var kept: [Line]
    var answer: [Line]

    init(stored: HTTPFields, update: HTTPFields, configuration: CacheEngine.Configuration) {
      let alwaysKept = ["cache-control", "vary"]
      func members(_ name: String, _ fields: HTTPFields) -> [String] {
        fields.filter { $0.name.canonicalName == name }
          .flatMap { $0.value.split(separator: ",").map { $0.lowercased().filter { $0 != " " } } }
      }
      let never = [
        "connection", "keep-alive", "te", "upgrade", "transfer-encoding", "proxy-authenticate",
        "proxy-connection", "content-length", "content-range", "content-encoding", "content-type",
        "content-language", "content-md5", "content-digest", "repr-digest", "digest",
      ]
      let nominated = members("connection", update).filter { !alwaysKept.contains($0) }
      var news = Line.all(update).filter { !never.contains($0.name) && !nominated.contains($0.name) }
      if !news.contains(where: { $0.name == "date" }) {
        news += Line.all(HTTPFields("Date: \(arrivalDate)"))
      }
      // The first new line of a name stands where the first stored one stood; the other new lines follow in order.
      var merged: [Line] = []
      var placed: [String] = []
      var rest = news
      for line in Line.all(stored) {
        if let first = news.first(where: { $0.name == line.name }) {
          if placed.contains(line.name) { continue }
          placed.append(line.name)
          merged.append(first)
          if let index = rest.firstIndex(where: { $0.name == line.name }) { rest.remove(at: index) }
        } else if line.name != "age" {
          merged.append(line)
        }
      }
      merged += rest
      var withheld = configuration.withheldFields
      for line in merged where line.name == "cache-control" {
        let directives = CacheControl(parsing: String(decoding: line.value, as: UTF8.self))
        withheld += directives.noCacheFields
        if configuration.kind == .shared { withheld += directives.privateFields }
      }
      kept = merged.filter { !withheld.contains($0.name) || alwaysKept.contains($0.name) }
      let names = kept.map(\.name)
      answer = kept + news.filter { !names.contains($0.name) }
    }
  }
}
