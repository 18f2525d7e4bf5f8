// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import Foundation
import TestSupport
import Testing

@testable import HTTPCacheURLSession

@Suite("Content that arrives faster than it is read", .timeLimit(.minutes(10)))
struct ArrivingContentTests {
  private static func bytes(_ count: Int, from start: Int) -> Data { Data(contentBytes(count, from: start)) }

  /// Adds pieces and reads, in a random order, until all is read; the pieces may exceed what waits in memory.
  @Test("All of it is read, in order, however the two sides alternate", arguments: UInt64(0)..<24)
  func model(seed: UInt64) async throws {
    var random = SplitMix64(seed: seed)
    let left = EventCount()
    let (content, arrivals) = ArrivingContent.make { left.next() }
    let reader = content.makeAsyncIterator()
    let most = [100, 40_000, 900_000].randomElement(using: &random) ?? 1
    var (added, read) = (0, 0)
    for _ in 0..<60 {
      let isAdding = read == added || Int.random(in: 0..<3, using: &random) > 0
      if isAdding {
        let count = Int.random(in: 0...most, using: &random)
        arrivals.add(Self.bytes(count, from: added))
        added += count
      } else {
        let chunk = try #require(try await reader.next())
        #expect(Data(chunk) == Self.bytes(chunk.count, from: read))
        read += chunk.count
      }
    }
    arrivals.end(nil)
    while let chunk = try await reader.next() {
      #expect(Data(chunk) == Self.bytes(chunk.count, from: read))
      read += chunk.count
    }
    #expect(read == added)
    #expect(try await reader.next() == nil)
    #expect(left.count == 0)
  }

  @Test("A reader that waits gets what arrives, the end, or the error", arguments: [true, false])
  func waiting(fails: Bool) async throws {
    let (content, arrivals) = ArrivingContent.make {}
    let pieces = EventCount()
    async let collected = {
      var all = Data()
      do {
        for try await chunk in content {
          all += chunk
          pieces.next()
        }
      } catch {
        all += "!".utf8
      }
      return all
    }()
    for (number, piece) in ["a", "bc", "d"].enumerated() {
      arrivals.add(Data())
      arrivals.add(Data(piece.utf8))
      try await pieces.reached(number + 1)
    }
    arrivals.end(fails ? URLError(.networkConnectionLost) : nil)
    #expect(String(decoding: await collected, as: UTF8.self) == (fails ? "abcd!" : "abcd"))
  }

  @Test("What arrived before an error is read first")
  func errorComesLast() async throws {
    let (content, arrivals) = ArrivingContent.make {}
    arrivals.add(Self.bytes(3 * ArrivingContent.memoryLimit, from: 0))
    arrivals.end(URLError(.networkConnectionLost))
    arrivals.add(Data([1]))
    let reader = content.makeAsyncIterator()
    var count = 0
    await #expect(throws: URLError(.networkConnectionLost)) {
      while let chunk = try await reader.next() { count += chunk.count }
    }
    #expect(count == 3 * ArrivingContent.memoryLimit)
  }

  @Test(
    "A reader that leaves ends the transfer once, and one that has read the end does not",
    arguments: [true, false])
  func leaving(isEarly: Bool) async throws {
    let left = EventCount()
    let arrivals: ArrivingContent.Arrivals
    do {
      let content: ArrivingContent
      (content, arrivals) = ArrivingContent.make { left.next() }
      arrivals.add(Self.bytes(2 * ArrivingContent.memoryLimit, from: 0))
      if !isEarly { arrivals.end(nil) }
      _ = try await content.makeAsyncIterator().next()
    }
    #expect(left.count == (isEarly ? 1 : 0))
    // What comes now is not read.
    arrivals.add(Self.bytes(2 * ArrivingContent.memoryLimit, from: 0))
    arrivals.end(nil)
    #expect(left.count == (isEarly ? 1 : 0))
  }

  @Test("A cancelled reader stops waiting")
  func cancelled() async throws {
    let (content, arrivals) = ArrivingContent.make {}
    let task = Task { try await content.makeAsyncIterator().next() }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    arrivals.end(nil)
  }

  @Test(
    "The temporary file has no name and is closed when it is read, or when the reader leaves",
    .enabled(if: FileManager.default.fileExists(atPath: "/proc/self/fd"), "the test reads /proc"),
    arguments: [true, false])
  func files(isRead: Bool) async throws {
    // The two cases run at the same time.
    let name = "ArrivingContentTests-\(isRead)"
    func waitingFiles() throws -> Int {
      try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").filter {
        let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")
        return target?.contains(name) == true
      }.count
    }
    do {
      let (content, arrivals) = ArrivingContent.make(named: name) {}
      arrivals.add(Self.bytes(ArrivingContent.memoryLimit, from: 0))
      #expect(try waitingFiles() == 0)
      arrivals.add(Self.bytes(1, from: 0))
      #expect(try waitingFiles() == 1)
      #expect(
        try FileManager.default.contentsOfDirectory(atPath: FileManager.default.temporaryDirectory.path)
          .allSatisfy { !$0.contains(name) })
      if isRead {
        let reader = content.makeAsyncIterator()
        var count = 0
        while count <= ArrivingContent.memoryLimit, let chunk = try await reader.next() {
          count += chunk.count
        }
        #expect(try waitingFiles() == 0)
      }
    }
    #expect(try waitingFiles() == 0)
  }
}
