// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheEngine
import HTTPCacheStore
import HTTPCaching
import HTTPTypes
import SystemPackage
import TestSupport
import Testing

@Suite("Damaged content on disk", .timeLimit(.minutes(10)))
struct DamagedContentTests {
  /// Eleven blocks of 64 KiB, each with bytes of its own.
  private static let content = String(
    decoding: (0..<700_001).map { (place: Int) -> UInt8 in UInt8(97 + (place / 65_536 + place) % 26) },
    as: UTF8.self)
  private static let count = content.utf8.count

  private enum Damage: CaseIterable {
    case table, firstBlock, laterBlock

    var place: Int64 {
      switch self {
      case .table: Int64(count + 3)
      case .firstBlock: 17
      case .laterBlock: 400_000
      }
    }
  }

  private static func damage(_ place: Int64, in directory: FilePath) throws {
    let names = try files(in: directory).keys.filter { $0.hasPrefix("body-") }
    let file = try FileDescriptor.open(
      directory.appending(try #require(names.only)), .readWrite)
    defer { try? file.close() }
    var byte: [UInt8] = [0]
    _ = try byte.withUnsafeMutableBytes { try file.read(fromAbsoluteOffset: place, into: $0) }
    _ = try file.writeAll(toAbsoluteOffset: place, [byte[0] ^ 1])
  }

  /// Stores the content, damages it, and lets the origin have another.
  private func withDamage(
    at place: Int64, cutAt cut: Int? = nil, _ test: (Setting, MemoryOrigin) async throws -> Void
  ) async throws {
    try await withTemporaryDirectory { directory in
      let setting = try Setting(directory: directory)
      let origin = MemoryOrigin(text: Self.content)
      if let cut {
        origin.breakOff(after: [cut])
        await #expect(throws: Unreachable.self) { try await setting.get(from: origin) }
        #expect(setting.log.reasons(.stored).count == 1)
      } else {
        #expect(try await setting.get(from: origin).source == .network)
        #expect(try await setting.get(from: origin).source == .hit)
      }
      try Self.damage(place, in: directory)
      try await test(setting, origin)
      setting.cache.close()
    }
  }

  /// What was damaged is counted, and stored no more; what came in its place is a hit.
  private func expectReplaced(
    _ setting: Setting, _ origin: MemoryOrigin, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    #expect(setting.cache.store.statistics.corruptRecords == 1, sourceLocation: sourceLocation)
    let again = try await setting.get(from: origin)
    #expect(again.source == .hit && again.text == origin.contents.last, sourceLocation: sourceLocation)
  }

  @Test(
    "Damage to the table or the first block is a miss",
    arguments: [Damage.table, .firstBlock])
  private func miss(damage: Damage) async throws {
    try await withDamage(at: damage.place) { setting, origin in
      origin.change(to: "new")
      let answer = try await setting.get(from: origin)
      #expect(answer.source == .network && answer.text == "new")
      #expect(answer.response.cacheStatus.fieldValue.contains("fwd=uri-miss"))
      #expect(origin.requests.last?.headerFields[.ifNoneMatch] == nil)
      try await expectReplaced(setting, origin)
    }
  }

  @Test("Content ends with an error at a damaged block, and the next request refetches it")
  func laterBlock() async throws {
    try await withDamage(at: Damage.laterBlock.place) { setting, origin in
      let response = try await setting.cache.respond(to: .get(), transport: origin.transport)
      #expect(response.source == .hit)
      var received = 0
      await #expect(throws: StoreError.self) {
        for try await chunk in response.body { received += chunk.count }
      }
      #expect(received == 400_000 / 65_536 * 65_536)
      #expect(try await setting.get(from: origin).source == .network)
      try await expectReplaced(setting, origin)
    }
  }

  @Test(
    "A range whose first block is damaged is a miss, and other ranges are hits",
    arguments: [
      ("bytes=400000-400009", false), ("bytes=393216-", false), ("bytes=0-9", true), ("bytes=-9", true),
      ("bytes=0-9, 400000-400009", true),
    ])
  func range(range: String, isHit: Bool) async throws {
    try await withDamage(at: Damage.laterBlock.place) { setting, origin in
      let response = try await setting.cache.respond(
        to: .get(fields: [.range: range]), transport: origin.transport)
      #expect(response.source == (isHit ? .hit : .network))
      #expect(response.head.status == .partialContent)
      if range.contains(",") {
        await #expect(throws: StoreError.self) { try await response.body.collect(upTo: .max) }
      } else {
        _ = try await response.body.collect(upTo: .max)
      }
      #expect(setting.cache.store.statistics.corruptRecords == (isHit && !range.contains(",") ? 0 : 1))
    }
  }

  @Test("HEAD and conditional requests are answered despite damaged content", arguments: Damage.allCases)
  private func withoutContent(damage: Damage) async throws {
    try await withDamage(at: damage.place) { setting, origin in
      var head = HTTPRequest.get()
      head.method = .head
      let response = try await setting.cache.respond(to: head, transport: origin.transport)
      #expect(response.source == .hit && response.head.status == .ok)
      let conditional = try await setting.get(from: origin, fields: [.ifNoneMatch: "\"1\""])
      #expect(conditional.source == .hit && conditional.response.head.status == .notModified)
      #expect(setting.cache.store.statistics.corruptRecords == 0)
    }
  }

  @Test(
    "Damaged content is refetched in full after its revalidation", arguments: [Damage.table, .firstBlock])
  private func validated(damage: Damage) async throws {
    try await withDamage(at: damage.place) { setting, origin in
      setting.clock.advance(seconds: 100)
      let answer = try await setting.get(from: origin)
      #expect(answer.source == .network && answer.text == Self.content)
      #expect(origin.requests.map { $0.headerFields[.ifNoneMatch] } == [nil, "\"1\"", nil])
      try await expectReplaced(setting, origin)
    }
  }

  @Test(
    "Damaged content does not stand in for an unreachable origin", arguments: [Damage.table, .firstBlock])
  private func originUnreachable(damage: Damage) async throws {
    try await withDamage(at: damage.place) { setting, origin in
      setting.clock.advance(seconds: 100)
      let unreachable = MemoryOrigin { _, _ in throw Unreachable() }
      await #expect(throws: Unreachable.self) {
        try await setting.get(from: unreachable, fields: [.cacheControl: "stale-if-error=1000"])
      }
      #expect(try await setting.get(from: origin).source == .network)
      try await expectReplaced(setting, origin)
    }
  }

  @Test("A part whose beginning is damaged is fetched in full, not completed")
  func completion() async throws {
    try await withDamage(at: Damage.firstBlock.place, cutAt: 500_000) { setting, origin in
      let answer = try await setting.get(from: origin)
      #expect(answer.source == .network && answer.text == Self.content)
      #expect(origin.requests.map { $0.headerFields[.range] } == [nil, "bytes=500000-", nil])
      try await expectReplaced(setting, origin)
    }
  }

  @Test("Concurrent requests for damaged content all get the content, which is stored once")
  func coalesced() async throws {
    try await withDamage(at: Damage.firstBlock.place) { setting, origin in
      try await withThrowingTaskGroup(of: String.self) { group in
        for _ in 1...8 { group.addTask { try await setting.get(from: origin).text } }
        for try await text in group { #expect(text == Self.content) }
      }
      #expect(setting.cache.store.usage.diskEntries == 1)
      #expect(try await setting.get(from: origin).source == .hit)
    }
  }
}

extension Array {
  fileprivate var only: Element? { count == 1 ? first : nil }
}
