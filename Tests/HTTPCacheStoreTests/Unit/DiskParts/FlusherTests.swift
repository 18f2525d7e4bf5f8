// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import SystemPackage
import Testing

@testable import HTTPCacheStore

@Suite("The flusher", .timeLimit(.minutes(10)))
struct FlusherTests {
  /// A buffer for files in memory, without a log.
  private final class Source: FlushSource {
    func relieve(_ failure: FileFailure, for bytes: Int) -> Bool { false }

    struct State: Sendable {
      var buffer = WriteBuffer()
      var written: [[Int]] = []
      var lost: [Int] = []
      var finished = 0
    }

    let files = SimulatedFileSystem()
    let state = Mutex(State())
    let flusher: Flusher

    init(limit: Int) {
      flusher = Flusher(limit: limit)
    }

    /// Adds pieces of 8 bytes to the end of a file.
    func add(_ count: Int, to segment: UInt32, from offset: Int = 0) throws {
      let file = try files.open(FilePath("/cache/\(segment)"), creating: true)
      for index in 0..<count {
        let place = offset + index * 8
        let bytes = RecordBytes([UInt8](repeating: UInt8(truncatingIfNeeded: place), count: 8))
        state.withLock {
          $0.buffer.append(WriteBuffer.Piece(segment: segment, file: file, offset: place, bytes: bytes))
        }
      }
    }

    var bufferedBytes: Int { state.withLock { $0.buffer.count } }

    func take(upTo bytes: Int) -> FlushBatch {
      state.withLock { state in
        let taken = state.buffer.take(upTo: bytes)
        return FlushBatch(pieces: taken.pieces, orphans: taken.orphans, allocation: 4096)
      }
    }

    func didWrite(_ run: [WriteBuffer.Piece]) {
      state.withLock { state in
        state.buffer.finished(run)
        state.written.append(run.map { Int($0.segment) << 16 | $0.offset })
      }
    }

    func lose(_ pieces: [WriteBuffer.Piece], because failure: FileFailure) {
      state.withLock { state in
        let lost = pieces + state.buffer.take()
        state.buffer.finished(lost)
        state.lost += lost.map { Int($0.segment) << 16 | $0.offset }
      }
    }

    func finish(_ batch: FlushBatch) { state.withLock { $0.finished += 1 } }
    func file(of segment: UInt32) -> (any File)? { nil }
    func resume() {
      if state.withLock({ !$0.buffer.pieces.isEmpty }) { flusher.schedule(self) }
    }
  }

  private func places(_ segment: Int, _ offsets: StrideTo<Int>) -> [Int] {
    offsets.map { segment << 16 | $0 }
  }

  @Test("Adjacent pieces of a file are written together, in the order of their addition")
  func order() throws {
    let source = Source(limit: 1 << 20)
    try source.add(10, to: 1)
    try source.add(5, to: 2)
    #expect(source.flusher.flush(source))
    let state = source.state.withLock { $0 }
    #expect(
      state.written == [places(1, stride(from: 0, to: 80, by: 8)), places(2, stride(from: 0, to: 40, by: 8))])
    #expect(state.buffer.count == 0 && state.lost.isEmpty)
    let bytes = try #require(source.files.files["1"])
    #expect(bytes == (0..<80).map { (place: Int) -> UInt8 in UInt8(place / 8 * 8) })
  }

  @Test("Nothing is written after a failed write, and the flush reports the failure")
  func failure() throws {
    let source = Source(limit: 1 << 20)
    for segment in 1...3 as ClosedRange<UInt32> { try source.add(2, to: segment) }
    // The pieces of a segment are written one by one here: all of the first, and half of the second.
    source.files.die(afterChanges: 3)
    #expect(!source.flusher.flush(source))
    let state = source.state.withLock { $0 }
    #expect(state.written == [places(1, stride(from: 0, to: 16, by: 8))])
    #expect(
      state.lost == places(2, stride(from: 0, to: 16, by: 8)) + places(3, stride(from: 0, to: 16, by: 8)))
    #expect(state.buffer.count == 0)
  }

  @Test("Scheduled pieces are written in the background, including those added during a write")
  func background() throws {
    let source = Source(limit: 1 << 20)
    try source.add(3, to: 1)
    for _ in 0..<5 { source.flusher.schedule(source) }
    source.flusher.drain()
    // The others found one on its way.
    #expect(source.state.withLock { $0.written.count } == 1 && source.bufferedBytes == 0)
    try source.flusher.whileIdle(for: source) {
      try source.add(3, to: 1, from: 24)
      source.flusher.schedule(source)
    }
    // The first may come before a flush that is scheduled again.
    for _ in 0..<2 { source.flusher.drain() }
    #expect(source.bufferedBytes == 0 && source.files.files["1"]?.count == 48)
  }

  @Test("A thread that stores writes the buffer once it is half full", arguments: [(3, true), (8, false)])
  func halfFull(pieces: Int, staysBuffered: Bool) throws {
    let source = Source(limit: 64)
    try source.add(pieces, to: 1)
    source.flusher.awaitBuffer(of: source)
    #expect((source.bufferedBytes > 0) == staysBuffered)
  }
}
