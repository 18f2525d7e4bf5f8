// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import HTTPCacheEngine
import HTTPCaching
import HTTPTypes
import TestSupport
import Testing

/// Random histories of one resource: whatever is asked for, ends early or changes, no answer is of two versions.
@Suite("Random ranges of a changing resource", .timeLimit(.minutes(10)))
struct RangePropertyTests {
  /// Every byte says which version it is of, and almost where it is.
  private static func content(version: Int, length: Int) -> String {
    String(
      decoding: (0..<length).map { UInt8(version % 2 == 0 ? 65 : 97) + UInt8(($0 * 7 + version * 3) % 26) },
      as: UTF8.self)
  }

  @Test("Each response matches one version of the resource at its positions", arguments: 1...24)
  func neverMixed(seed: UInt64) async throws {
    if seed % 4 == 0 {
      try await withTemporaryDirectory { directory in
        let setting = try Setting(directory: directory)
        try await history(seed, setting)
        setting.cache.close()
      }
    } else {
      try await history(seed, try Setting())
    }
  }

  private func history(_ seed: UInt64, _ setting: Setting) async throws {
    var numbers = SplitMix64(seed: seed)
    // Versions of one length, as a rule: a difference in length would give the game away.
    let length = Int.random(in: 1...60, using: &numbers)
    let pages = MemoryOrigin(text: Self.content(version: 0, length: length))
    var hits = 0
    for step in 0..<120 {
      switch Int.random(in: 0..<20, using: &numbers) {
      case 0:
        let next = Int.random(in: 0..<5, using: &numbers) == 0 ? length + 3 : length
        pages.change(to: Self.content(version: pages.contents.count, length: next))
      case 1, 2: setting.clock.advance(seconds: Int64.random(in: 1...50, using: &numbers))
      case 3...6: pages.breakOff(after: [Int.random(in: 0..<length, using: &numbers)])
      default: break
      }
      var fields = HTTPFields()
      let first = Int.random(in: 0..<length, using: &numbers)
      let last = Int.random(in: first..<length, using: &numbers)
      switch Int.random(in: 0..<8, using: &numbers) {
      case 0...3: fields[.range] = "bytes=\(first)-\(last)"
      case 4: fields[.range] = "bytes=\(first)-"
      case 5: fields[.range] = "bytes=-\(last + 1)"
      default: break
      }
      if Int.random(in: 0..<6, using: &numbers) == 0 { fields[.cacheControl] = "no-cache" }
      if fields[.range] != nil, Int.random(in: 0..<6, using: &numbers) == 0 {
        fields[.ifRange] = "\"\(pages.contents.count)\""
      }
      let policies: [RequestCachePolicy] = [
        .useProtocolCachePolicy, .useProtocolCachePolicy, .useProtocolCachePolicy, .returnCacheDataElseLoad,
        .reloadIgnoringLocalCacheData, .reloadRevalidatingCacheData, .returnCacheDataDontLoad,
      ]
      let policy = policies[Int.random(in: policies.indices, using: &numbers)]
      let isIgnored = Int.random(in: 0..<12, using: &numbers) == 0
      var received: [UInt8] = []
      var head: HTTPResponse?
      var failure: (any Error)?
      do {
        let response = try await setting.cache.respond(
          to: .get(fields: fields), policy: policy, transport: pages.transport)
        head = response.head
        if response.source == .hit { hits += 1 }
        // Now and then the caller goes away without reading.
        if !isIgnored { for try await chunk in response.body { received += chunk } }
      } catch {
        failure = error
      }
      guard let head, head.status != .rangeNotSatisfiable, !isIgnored else { continue }
      check(head, received, isWhole: failure == nil, asked: fields, pages, "seed \(seed), step \(step)")
    }
    #expect(hits > 5)
  }

  private func check(
    _ head: HTTPResponse, _ received: [UInt8], isWhole: Bool, asked: HTTPFields, _ pages: MemoryOrigin,
    _ place: Comment
  ) {
    guard let version = head.headerFields[.eTag].flatMap({ Int($0.dropFirst().dropLast()) }),
      pages.contents.indices.contains(version - 1)
    else {
      Issue.record("no version: \(place)")
      return
    }
    let content = Array(pages.contents[version - 1].utf8)
    var expected = content[...]
    if head.status == .partialContent {
      guard
        case .bytes(let range, let length)? = head.headerFields[.contentRange].flatMap({
          ContentRange(parsing: $0)
        })
      else {
        Issue.record("no Content-Range: \(place)")
        return
      }
      #expect(asked[.range] != nil, place)
      #expect(length == Int64(content.count), place)
      let wanted = asked[.range].flatMap { RangeField(parsing: $0) }?.resolved(length: Int64(content.count))
      #expect(wanted == [range], place)
      guard range.upperBound <= content.count else { return }
      expected = content[Int(range.lowerBound)..<Int(range.upperBound)]
    } else {
      #expect(head.status == .ok, place)
      #expect(head.headerFields[.contentRange] == nil, place)
    }
    #expect(head.headerFields[.contentLength] == String(expected.count), place)
    #expect(isWhole ? received[...] == expected : received[...] == expected.prefix(received.count), place)
  }
}
