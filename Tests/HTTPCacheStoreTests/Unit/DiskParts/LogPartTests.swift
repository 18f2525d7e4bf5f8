// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Foundation
import SystemPackage
import TestSupport
import Testing

@testable import HTTPCacheStore

@Suite("The log", .timeLimit(.minutes(10)))
struct LogPartTests {
  @Test("The log stays within its capacity, seals segments with summaries, and reopens unchanged")
  func churn() throws {
    let files = SimulatedFileSystem()
    let bench = try PartBench(files)
    var log = bench.makeLog()
    for number in 0..<2000 {
      check(log.insert(bench.record(number)))
      try log.writeAll()
      try #require(files.totalBytes <= log.space.used && log.space.used <= log.space.capacity)
    }
    #expect(log.segments.count > 5 && bench.context.counters.evictions.value > 1000)
    for segment in log.segments.dropLast() {
      let summary = try SegmentSummary.read(
        from: segment.file, endingAt: segment.count, segment: segment.number, hasher: bench.context.hasher)
      #expect(segment.isSealed && summary != nil)
    }
    let found = bench.numbers(below: 2000)
    #expect(found.last == 1999 && found.count > 300)
    #expect(try SimulatedFileSystem(files.files).numbers(below: 2000) == found)
  }

  @Test("The used space is correct after the last segment is reclaimed")
  func lastSegment() throws {
    let files = SimulatedFileSystem()
    let bench = try PartBench(files)
    var log = bench.makeLog()
    for number in 0..<10 { check(log.insert(bench.record(number))) }
    try log.writeAll()
    var room = DiskRoom(bytes: log.space.capacity - 1000, use: .entry)
    guard case .done = log.makeRoom(&room) else {
      Issue.record("there is no room")
      return
    }
    #expect(log.segments.isEmpty && log.space.used == DiskOpening.fixedBytes)
    #expect(!files.files.keys.contains { $0.hasPrefix("segment") })
  }

  @Test("A hit entry is carried forward with its latest metadata; the others are evicted")
  func carrying() throws {
    let bench = try PartBench()
    var log = bench.makeLog()
    let (hit, id) = (bench.hash(0), bench.context.sequence.upcoming)
    for number in 0..<10 { check(log.insert(bench.record(number))) }
    let revision = bench.context.sequence.take()
    check(
      log.updateMetadata(
        of: id, hash: hit, metadata: [9, 9], storedAt: 5, revision: revision, unless: { false }))
    let first = log.segments[0].number
    // Until the segment they are in has gone.
    var number = 10
    while log.segments[0].number == first {
      _ = bench.catalog.candidates(for: hit)
      check(log.insert(bench.record(number)))
      try log.writeAll()
      number += 1
    }
    #expect(bench.numbers(below: 10) == [0] && bench.context.counters.carries.value == 1)
    let candidate = try #require(bench.catalog.candidate(for: hit, variant: 1))
    let record = try #require(try candidate.source.read())
    let header = try #require(Record.verifiedHeader(record, hasher: bench.context.hasher))
    #expect(header.id == id && header.revision == revision && Array(record[header.metadataRange]) == [9, 9])
  }

  @Test("The log ends at a lost write and continues in another segment")
  func losing() throws {
    let files = SimulatedFileSystem()
    let bench = try PartBench(files)
    var log = bench.makeLog()
    for number in 0..<10 { check(log.insert(bench.record(number))) }
    let pieces = log.buffer.take()
    // The head of the segment, and five entries.
    try log.write(pieces[..<6])
    log.lose(Array(pieces[6...]), because: FileFailure(operation: "write", path: "/cache", errno: EIO))
    #expect(bench.numbers(below: 20) == Array(0..<5))
    let written = files.files.reduce(0) { $0 + ($1.key.hasPrefix("segment") ? $1.value.count : 0) }
    #expect(log.buffer.count == 0 && log.space.used == written + DiskOpening.fixedBytes)
    #expect((0..<10).filter { log.suspects.contains(bench.hash($0)) } == Array(5..<10))
    #expect(log.segments.map(\.isSealed) == [true])
    check(log.insert(bench.record(11)) && log.segments.count == 2)
  }

  @Test("The log is empty and accepts nothing once its directory is gone")
  func lostDirectory() throws {
    let (scratch, files) = (ScratchDirectory(), FaultyFileSystem())
    let bench = try PartBench(files, at: scratch.path)
    var log = bench.makeLog()
    for number in 0..<10 { check(log.insert(bench.record(number))) }
    files.set { $0.isDirectoryGone = true }
    #expect(!log.isInPlace() && log.segments.isEmpty && log.space.used == 0 && bench.catalog.count == 0)
    #expect(log.abandoned.count == 1 && !log.insert(bench.record(11)))
  }

  @Test("Events are passed on in order, without a lock held")
  func events() throws {
    let (told, files, scratch) = (Told(), FaultyFileSystem(), ScratchDirectory())
    let bench = try PartBench(files, at: scratch.path) { told.add($0) }
    let log = bench.makeLockedLog()
    told.probe.withLock { $0 = { log.bytes + log.withLock { $0.space.used } } }
    files.set { $0.failing = [.create: ENOSPC] }
    for number in 0..<3 { #expect(!log.insert(bench.record(number))) }
    files.set { $0.failing = [:] }
    check(log.insert(bench.record(4)))
    log.events.drain()
    let events = told.events.all
    #expect(events.count == 2 && events.last == .recovered && bench.context.counters.failures.value == 1)
  }

  /// What an observer was told, which asks the log each time.
  private final class Told: Sendable {
    let events = Recorder<DiskEvent>()
    let probe = Mutex<(@Sendable () -> Int)?>(nil)

    func add(_ event: DiskEvent) {
      _ = probe.withLock { $0 }?()
      events.add(event)
    }
  }
}

/// `#expect` for a call that changes a value, which the macro cannot make.
private func check(_ isTrue: Bool, sourceLocation: SourceLocation = #_sourceLocation) {
  #expect(isTrue, sourceLocation: sourceLocation)
}
