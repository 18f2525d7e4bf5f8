// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import SystemPackage
import TestSupport

@testable import HTTPCacheStore

/// What the parts of a disk tier need, without the tier: a directory that was opened, and a catalog.
struct PartBench {
  let context: DiskContext
  let catalog: Catalog
  private let opened: DiskOpening.Result
  private let capacity: Int

  init(
    _ files: any FileSystem = SimulatedFileSystem(), at directory: FilePath = "/cache",
    capacity: Int = 1 << 20, sync: DiskSync = .removals, observer: (@Sendable (DiskEvent) -> Void)? = nil
  ) throws {
    self.capacity = capacity
    opened = try DiskOpening(directory: directory, files: files, hashMask: .max)
      .open(startEmpty: false)
    let options = DiskOptions(
      segmentSize: nil, largeBodyThreshold: 1 << 20, variantsPerKey: 4, sync: sync, writeBuffer: 64 << 10,
      observer: observer)
    context = DiskContext(
      directory: directory, files: files, hasher: opened.hasher, options: options,
      sequence: SequenceNumbers(after: opened.log.lastSequence), changes: StripedCounters(),
      invalidations: opened.invalidations, counters: opened.counters)
    catalog = Catalog(opened.log.catalog)
  }

  func makeLog() -> Log {
    Log(opened.log, lockFile: opened.lockFile, capacity: capacity, context: context, catalog: catalog)
  }

  func makeLockedLog() -> LockedLog {
    LockedLog(makeLog(), flusher: Flusher(limit: context.options.writeBuffer))
  }

  func hash(_ number: Int) -> UInt64 { context.hasher.hash(key(number)) }

  /// The record of an entry whose bytes follow from a number.
  func record(_ number: Int, size: Int = 1000, storedAt: Int64 = 0) -> (RecordHeader, RecordBytes) {
    let id = context.sequence.take()
    var header = RecordHeader(
      kind: .entry, hash: hash(number), variant: 1, id: id, revision: id, storedAt: storedAt)
    let bytes = Record.encode(
      &header, key: key(number).bytes[...], metadata: [1, 2, 3], inlineBody: pattern(number, size)[...],
      hasher: context.hasher)
    return (header, RecordBytes(bytes))
  }

  /// The numbers, of those below a limit, of which there is an entry.
  func numbers(below limit: Int) -> [Int] { (0..<limit).filter { catalog.contains(hash($0)) } }
}

extension Log {
  mutating func insert(_ record: (header: RecordHeader, bytes: RecordBytes)) -> Bool {
    if case .stored = insert(record.header, record: record.bytes, objection: { nil }) { true } else { false }
  }

  /// Writes pieces of the buffer as the flusher does.
  mutating func write(_ pieces: some Sequence<WriteBuffer.Piece>) throws {
    for piece in pieces {
      var arrays: [[UInt8]] = []
      piece.bytes.append(to: &arrays)
      try piece.file.write(arrays, at: piece.offset)
      didWrite([piece])
    }
  }

  mutating func writeAll() throws { try write(buffer.take()) }
}

extension LockedLog {
  func insert(_ record: (header: RecordHeader, bytes: RecordBytes)) -> Bool {
    withLock { log in log.insert(record) }
  }
}

extension SimulatedFileSystem {
  /// What opening them would find, of the numbers below a limit.
  func numbers(below limit: Int) throws -> [Int] { try PartBench(self).numbers(below: limit) }

  var totalBytes: Int { files.values.reduce(0) { $0 + $1.count } }
}
