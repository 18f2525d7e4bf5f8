// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes
import SystemPackage
import TestSupport
import Testing

@testable import HTTPCaching

@Suite("Partial and incomplete responses", .timeLimit(.minutes(10)))
struct PartialContentTests {
  /// Runs a test with a cache in memory, and with one on disk that is reopened before every request.
  private func onEveryStore(_ test: (Reopening) async throws -> Void) async throws {
    try await test(Reopening(nil))
    try await withTemporaryDirectory { directory in
      let reopening = try Reopening(directory)
      try await test(reopening)
      reopening.setting.cache.close()
    }
  }

  final class Reopening {
    private let directory: FilePath?
    private(set) var setting: Setting

    init(_ directory: FilePath?) throws {
      self.directory = directory
      setting = try Setting(directory: directory)
    }

    func get(
      _ origin: MemoryOrigin, _ fields: HTTPFields = [:], policy: RequestCachePolicy = .useProtocolCachePolicy
    ) async throws -> Answer {
      try reopen()
      return try await setting.get(from: origin, policy: policy, fields: fields)
    }

    func reopen() throws {
      guard let directory else { return }
      setting.cache.close()
      setting = try Setting(directory: directory)
    }
  }

  @Test("A stored part answers ranges within it, and is completed by requests for the rest")
  func partThenWhole() async throws {
    try await onEveryStore { cache in
      let origin = MemoryOrigin(text: "0123456789")
      #expect(try await cache.get(origin, [.range: "bytes=2-7"]).text == "234567")
      let inner = try await cache.get(origin, [.range: "bytes=4-5"])
      #expect(inner.text == "45")
      #expect(inner.source == .hit)
      #expect(inner.response.head.status == .partialContent)
      #expect(inner.response.head.headerFields[.contentRange] == "bytes 4-5/10")
      #expect(origin.requests.count == 1)
      // Two runs are missing: one of them is brought by a request for a range.
      #expect(try await cache.get(origin, [.range: "bytes=0-3"]).text == "0123")
      let whole = try await cache.get(origin)
      #expect(whole.text == "0123456789")
      #expect(whole.response.head.status == .ok)
      #expect(whole.response.head.headerFields[.contentLength] == "10")
      #expect(whole.response.head.headerFields[.contentRange] == nil)
      #expect(whole.reason == .completedByOrigin)
      #expect(whole.response.cacheStatus.forward == .partial)
      #expect(whole.response.cacheStatus.forwardStatus == 206)
      #expect(origin.requests.last?.headerFields[.range] == "bytes=8-")
      #expect(origin.requests.last?.headerFields[.ifRange] == "\"1\"")
      let again = try await cache.get(origin)
      #expect(again.text == "0123456789")
      #expect(again.source == .hit)
      #expect(origin.requests.count == 3)
    }
  }

  @Test("Several ranges are served from stored parts that contain them all")
  func multipart() async throws {
    let setting = try Setting()
    let origin = MemoryOrigin(text: "0123456789")
    _ = try await setting.get(from: origin, fields: [.range: "bytes=0-2"])
    _ = try await setting.get(from: origin, fields: [.range: "bytes=7-9"])
    let answer = try await setting.get(from: origin, fields: [.range: "bytes=1-2, -2"])
    #expect(answer.source == .hit)
    #expect(answer.text.contains("Content-Range: bytes 1-2/10\r\n\r\n12\r\n"))
    #expect(answer.text.contains("Content-Range: bytes 8-9/10\r\n\r\n89\r\n"))
    #expect(answer.response.head.headerFields[.contentLength] == String(answer.text.utf8.count))
    #expect(origin.requests.count == 2)
  }

  @Test("A broken transfer is resumed where it ended")
  func resumes() async throws {
    try await onEveryStore { cache in
      let origin = MemoryOrigin(text: "0123456789")
      origin.breakOff(after: [4, 3])
      await #expect(throws: Unreachable.self) { _ = try await cache.get(origin) }
      #expect(cache.setting.log.reasons(.stored) == [.storedAsPart])
      await #expect(throws: Unreachable.self) { _ = try await cache.get(origin) }
      let whole = try await cache.get(origin)
      #expect(whole.text == "0123456789")
      #expect(origin.requests.map { $0.headerFields[.range] } == [nil, "bytes=4-", "bytes=7-"])
      #expect(try await cache.get(origin).source == .hit)
    }
  }

  @Test("The client reads the stored bytes, then the fetched ones, then the transfer's error")
  func brokenCompletion() async throws {
    let setting = try Setting()
    let origin = MemoryOrigin(text: "0123456789")
    _ = try await setting.get(from: origin, fields: [.range: "bytes=0-2"])
    _ = try await setting.get(from: origin, fields: [.range: "bytes=7-9"])
    origin.breakOff(after: [2])
    let response = try await setting.cache.respond(to: .get(), transport: origin.transport)
    #expect(response.body.length == 10)
    var received: [UInt8] = []
    await #expect(throws: Unreachable.self) { for try await chunk in response.body { received += chunk } }
    #expect(String(decoding: received, as: UTF8.self) == "01234")
    #expect(try await setting.get(from: origin, fields: [.range: "bytes=0-4"]).source == .hit)
    #expect(try await setting.get(from: origin, fields: [.range: "bytes=-3"]).source == .hit)
    #expect(try await setting.get(from: origin).text == "0123456789")
    #expect(origin.requests.last?.headerFields[.range] == "bytes=5-6")
  }

  @Test("A completion that cannot use the network leaves the stored part unchanged")
  func unreachable() async throws {
    let setting = try Setting()
    let origin = MemoryOrigin(text: "0123456789")
    _ = try await setting.get(from: origin, fields: [.range: "bytes=0-2"])
    let dead = MemoryOrigin { _, _ in throw Unreachable() }
    await #expect(throws: Unreachable.self) { _ = try await setting.get(from: dead) }
    await #expect(throws: HTTPCacheError.notCached(.policyForbidsNetwork)) {
      _ = try await setting.get(from: dead, policy: .returnCacheDataDontLoad)
    }
    let only = try await setting.get(from: dead, fields: [.cacheControl: "only-if-cached"])
    #expect(only.response.head.status == .gatewayTimeout)
    #expect(setting.cache.storedResponse(for: .get(), policy: .returnCacheDataElseLoad) == nil)
    #expect(try await setting.get(from: dead, fields: [.range: "bytes=0-2"]).text == "012")
  }

  @Test("A changed representation is never mixed with the old one")
  func changed() async throws {
    try await onEveryStore { cache in
      let origin = MemoryOrigin(text: "0123456789")
      _ = try await cache.get(origin, [.range: "bytes=0-4"])
      origin.change(to: "abcdefghij")
      let whole = try await cache.get(origin)
      #expect(whole.text == "abcdefghij")
      #expect(origin.requests.count == 2, "If-Range brings all of it at once")
      origin.change(to: "ABCDEFGHIJ")
      #expect(try await cache.get(origin, [.range: "bytes=2-3", .cacheControl: "no-cache"]).text == "CD")
      #expect(try await cache.get(origin, [.range: "bytes=2-2"]).text == "C")
      #expect(try await cache.get(origin).text == "ABCDEFGHIJ")
    }
  }

  @Test("A response that does not match the requested range is discarded, and the whole requested")
  func strangeAnswers() async throws {
    for fields: HTTPFields in [
      [.contentRange: "bytes 5-9/10", .eTag: "\"2\""], [.contentRange: "bytes 4-8/10", .eTag: "\"1\""],
      [.contentRange: "bytes 5-9/10"], [.eTag: "\"1\""], [.contentRange: "bytes 5-10/11", .eTag: "\"1\""],
    ] {
      let setting = try Setting()
      let origin = MemoryOrigin { request, number in
        if number == 1 { return .part("01234", "bytes 0-4/10", "\"1\"") }
        if request.headerFields[.range] == nil { return .ok("abcdefghij") }
        return .ok("vwxyz", fields, status: .partialContent)
      }
      _ = try await setting.get(from: origin, fields: [.range: "bytes=0-4"])
      let answer = try await setting.get(from: origin)
      #expect(answer.text == "abcdefghij")
      #expect(answer.response.head.status == .ok)
      #expect(origin.requests.count == 3)
      #expect(setting.log.reasons(.forwarded).last == .completionUnusable)
    }
  }

  @Test(
    "A completion of the wrong length is never passed on as complete content", arguments: ["567", "56789X"],
    [true, false])
  func wrongCount(rest: String, isStreamed: Bool) async throws {
    let setting = try Setting()
    let origin = MemoryOrigin { request, number in
      if number == 1 { return .part("01234", "bytes 0-4/10", "\"1\"") }
      if request.headerFields[.range] == nil { return .ok("abcdefghij") }
      var part = TransportResponse.part(rest, "bytes 5-9/10", "\"1\"")
      if isStreamed { part.body = MessageBody(inPieces: rest.utf8) }
      return part
    }
    _ = try await setting.get(from: origin, fields: [.range: "bytes=0-4"])
    if isStreamed {
      await #expect(throws: HTTPCacheError.incompleteContent) { _ = try await setting.get(from: origin) }
    } else {
      #expect(try await setting.get(from: origin).text == "abcdefghij")
    }
    let stored = try await setting.get(from: origin, fields: [.range: "bytes=0-4"])
    #expect(stored.source == .hit)
    #expect(stored.text == (isStreamed ? "01234" : "abcde"))
  }

  @Test(
    "A part shorter or longer than its Content-Range says is not stored", arguments: ["012", "012345"],
    [true, false])
  func wrongPart(content: String, isStreamed: Bool) async throws {
    let setting = try Setting()
    let origin = MemoryOrigin { _, _ in
      var part = TransportResponse.part(content, "bytes 0-4/10", "\"1\"")
      if isStreamed { part.body = MessageBody(inPieces: content.utf8) }
      return part
    }
    #expect(try await setting.get(from: origin, fields: [.range: "bytes=0-4"]).text == content)
    #expect(setting.log.reasons(.notStored) == [isStreamed ? .incompleteContent : .partNotPlaced])
    #expect(setting.cache.store.usage.memoryEntries == 0)
  }

  @Test("A part whose transfer ends early is stored up to that point")
  func brokenPart() async throws {
    let setting = try Setting()
    let origin = MemoryOrigin(text: "0123456789")
    origin.breakOff(after: [3])
    await #expect(throws: Unreachable.self) {
      _ = try await setting.get(from: origin, fields: [.range: "bytes=2-8"])
    }
    let answer = try await setting.get(from: origin, fields: [.range: "bytes=2-4"])
    #expect(answer.text == "234")
    #expect(answer.source == .hit)
    #expect(try await setting.get(from: origin, fields: [.range: "bytes=2-5"]).source == .network)
  }

  @Test("Bytes read before the caller left are stored, and completed for the next request")
  func abandoned() async throws {
    let setting = try Setting()
    let ended = Gate()
    let (stream, feed) = ByteStream.makeStream()
    feed.onTermination = { _ in ended.open() }
    let origin = MemoryOrigin { request, _ in
      if request.headerFields[.range] != nil { return .part("3456789", "bytes 3-9/10", "\"1\"") }
      return .streamed(stream, [.cacheControl: "max-age=60", .eTag: "\"1\"", .contentLength: "10"])
    }
    feed.yield(Array("012".utf8)[...])
    do {
      let response = try await setting.cache.respond(to: .get(), transport: origin.transport)
      var chunks = response.body.makeAsyncIterator()
      #expect(try await chunks.next() == Array("012".utf8)[...])
    }
    await ended.wait()
    try await setting.log.reach(.stored)
    let answer = try await setting.get(from: origin)
    #expect(answer.text == "0123456789")
    #expect(origin.requests.map { $0.headerFields[.range] } == [nil, "bytes=3-"])
  }

  @Test("The beginning of a broken transfer is combined with a stored end into the whole")
  func joins() async throws {
    let setting = try Setting()
    let origin = MemoryOrigin(text: "0123456789")
    _ = try await setting.get(from: origin, fields: [.range: "bytes=3-9"])
    origin.breakOff(after: [4])
    await #expect(throws: Unreachable.self) {
      _ = try await setting.get(from: origin, policy: .reloadIgnoringLocalCacheData)
    }
    #expect(setting.log.reasons(.stored) == [.storedAsPart, .storedCombined])
    let whole = try await setting.get(from: origin)
    #expect(whole.text == "0123456789")
    #expect(whole.source == .hit)
  }

  @Test("A part whose resource was removed meanwhile is not stored")
  func removed() async throws {
    let setting = try Setting()
    let (stream, feed) = ByteStream.makeStream()
    let origin = MemoryOrigin { _, _ in
      .streamed(stream, [.cacheControl: "max-age=60", .eTag: "\"1\"", .contentLength: "10"])
    }
    feed.yield(Array("012".utf8)[...])
    let response = try await setting.cache.respond(to: .get(), transport: origin.transport)
    setting.cache.remove(.all)
    feed.finish(throwing: Unreachable())
    await #expect(throws: Unreachable.self) { try await response.body.collect(upTo: .max) }
    #expect(setting.log.reasons(.notStored) == [.removedMeanwhile])
    #expect(setting.cache.store.usage.memoryEntries == 0)
  }

  @Test("Concurrent requests for a partly stored response make one request for the rest")
  func collapsed() async throws {
    let setting = try Setting()
    let isFollowed = Gate()
    let origin = MemoryOrigin { _, number in
      if number == 1 { return .part("01234", "bytes 0-4/10", "\"1\"") }
      await isFollowed.wait()
      return .part("56789", "bytes 5-9/10", "\"1\"")
    }
    _ = try await setting.get(from: origin, fields: [.range: "bytes=0-4"])
    try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<16 { group.addTask { try await setting.get(from: origin).text } }
      try await setting.cache.fetches.followers(15)
      isFollowed.open()
      for try await text in group { #expect(text == "0123456789") }
    }
    #expect(origin.requests.count == 2)
  }

  struct Together: CustomTestStringConvertible, Sendable {
    var parts: Int
    var size: Int
    var overlap = 0
    var onDisk = false
    var streams = true
    var hasHook = false
    /// How many bytes of the last part come.
    var breaksOff: Int?

    var testDescription: String {
      let last = breaksOff.map { ", \($0) of the last" } ?? ""
      let how = (onDisk ? ", disk" : "") + (streams ? "" : ", at once") + (hasHook ? ", willStore" : "")
      return "\(parts) parts of \(size) bytes, overlapping by \(overlap)\(how)\(last)"
    }
  }

  @Test(
    "Parts that are fetched at the same time are all kept",
    arguments: [
      Together(parts: 2, size: 5), Together(parts: 16, size: 7, overlap: 3),
      Together(parts: 8, size: 10, streams: false), Together(parts: 8, size: 10, hasHook: true),
      Together(parts: 8, size: 10, onDisk: true), Together(parts: 4, size: 400_000, onDisk: true),
      Together(parts: 4, size: 400_000, overlap: 70_000, onDisk: true, streams: false),
      Together(parts: 6, size: 20, breaksOff: 13),
      Together(parts: 3, size: 300_000, onDisk: true, breaksOff: 200_000),
    ])
  func together(_ trial: Together) async throws {
    func run(_ setting: Setting) async throws {
      let step = trial.size - trial.overlap
      let length = step * (trial.parts - 1) + trial.size
      let content = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
      let gate = Gate()
      let origin = MemoryOrigin { request, _ in
        let range = try #require(request.headerFields[.range].flatMap { RangeField(parsing: $0) })
        let bounds = try #require(range.resolved(length: Int64(length)).first)
        await gate.wait()
        let part = content[Int(bounds.lowerBound)..<Int(bounds.upperBound)]
        let isLast = bounds.upperBound == length
        var response = TransportResponse.part(
          "", "bytes \(bounds.lowerBound)-\(bounds.upperBound - 1)/\(length)", "\"1\"")
        if let count = trial.breaksOff, isLast {
          response.body = MessageBody(inPieces: part.prefix(count), breaksOff: true)
        } else {
          response.body = trial.streams ? MessageBody(inPieces: part) : MessageBody(part)
        }
        return response
      }
      let hook: StorageHook = { $0.tiers = .all }
      @Sendable func isWhole(_ number: Int) async -> Bool {
        let (start, end) = (number * step, number * step + trial.size)
        let response = try? await setting.cache.respond(
          to: .get(fields: [.range: "bytes=\(start)-\(end - 1)"]), willStore: trial.hasHook ? hook : nil,
          transport: origin.transport)
        guard let bytes = try? await response?.body.collect(upTo: .max) else { return false }
        return Array(bytes) == Array(content[start..<end])
      }
      let whole = await withTaskGroup(of: Bool.self, returning: Int.self) { group in
        for number in 0..<trial.parts { group.addTask { await isWhole(number) } }
        await gate.arrived(trial.parts)
        gate.open()
        return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
      }
      #expect(whole == trial.parts - (trial.breaksOff == nil ? 0 : 1))
      // Everything that came answers without the origin.
      let end = length - (trial.breaksOff.map { trial.size - $0 } ?? 0)
      let stored = try await setting.cache.respond(
        to: .get(fields: [.range: "bytes=0-\(end - 1)"]), policy: .returnCacheDataDontLoad,
        transport: origin.transport)
      #expect(Array(try await stored.body.collect(upTo: .max)) == Array(content[..<end]))
      #expect(origin.requests.count == trial.parts)
    }
    if trial.onDisk {
      try await withTemporaryDirectory { directory in
        let setting = try Setting(directory: directory)
        try await run(setting)
        setting.cache.close()
      }
    } else {
      try await run(Setting())
    }
  }

  @Test("A late part does not replace a response that was stored whole meanwhile", arguments: [true, false])
  func overtaken(breaksOff: Bool) async throws {
    let setting = try Setting()
    let gate = Gate()
    let origin = MemoryOrigin { request, _ in
      guard request.headerFields[.range] != nil else {
        return .ok("0123456789", [.cacheControl: "max-age=60", .eTag: "\"1\""])
      }
      await gate.wait()
      var part = TransportResponse.part("01234", "bytes 0-4/10", "\"1\"")
      part.body = MessageBody(inPieces: (breaksOff ? "0123" : "01234").utf8, breaksOff: breaksOff)
      return part
    }
    async let part = try? setting.get(from: origin, fields: [.range: "bytes=0-4"])
    await gate.arrived(1)
    _ = try await setting.get(from: origin)
    gate.open()
    #expect(await part?.text == (breaksOff ? nil : "01234"))
    #expect(setting.log.reasons(.notStored) == [.partAlreadyStored])
    let whole = try await setting.get(from: origin)
    #expect(whole.source == .hit)
    #expect(whole.text == "0123456789")
  }

  @Test("Large content is resumed and streamed from disk")
  func large() async throws {
    try await withTemporaryDirectory { directory in
      let setting = try Setting(directory: directory)
      let letters = (0..<3_000_000).map { (place: Int) -> UInt8 in UInt8(65 + place / 7 % 26) }
      let content = String(decoding: letters, as: UTF8.self)
      let origin = MemoryOrigin(text: content)
      origin.breakOff(after: [2_000_000])
      await #expect(throws: Unreachable.self) { _ = try await setting.get(from: origin) }
      let range = try await setting.get(from: origin, fields: [.range: "bytes=1000000-1999999"])
      #expect(range.source == .hit)
      #expect(range.text == content.dropFirst(1_000_000).prefix(1_000_000))
      let whole = try await setting.get(from: origin)
      #expect(whole.text == content)
      #expect(origin.requests.last?.headerFields[.range] == "bytes=2000000-")
      #expect(try await setting.get(from: origin).text == content)
      #expect(origin.requests.count == 2)
      setting.cache.close()
    }
  }
}
