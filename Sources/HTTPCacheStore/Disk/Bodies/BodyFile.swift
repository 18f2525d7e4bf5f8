// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import SystemPackage

/// Writes a large body to its own file as it arrives, in 64 KiB of memory.
struct BodyFileWriter: Sendable {
  let number: UInt64
  private let bodies: BodyFiles
  private let file: any File
  private var chunk: [UInt8] = []
  private var table: [UInt8] = []
  private(set) var count = 0
  private var fileCount = 0
  /// The bytes reserved for the file.
  private(set) var reserved = 0

  private var hasher: KeyHasher { bodies.log.context.hasher }

  init(_ bodies: BodyFiles) throws(AppendFailure) {
    self.bodies = bodies
    (number, file) = try bodies.create()
    chunk.reserveCapacity(DiskFormat.bodyChunkSize)
  }

  mutating func append(_ bytes: ArraySlice<UInt8>) throws(AppendFailure) {
    var rest = bytes
    while !rest.isEmpty {
      let part = rest.prefix(DiskFormat.bodyChunkSize - chunk.count)
      chunk += part
      rest = rest[part.endIndex...]
      if chunk.count == DiskFormat.bodyChunkSize { try writeChunk() }
    }
  }

  /// Writes the current chunk. A chunk that cannot be written stays in memory, where it can be read.
  private mutating func writeChunk() throws(AppendFailure) {
    try write(chunk)
    table += DiskFormat.littleEndianBytes(hasher.checksum(chunk))
    count += chunk.count
    chunk.removeAll(keepingCapacity: true)
  }

  private mutating func write(_ bytes: [UInt8]) throws(AppendFailure) {
    guard bodies.reserve(bytes.count) else { throw .noRoom }
    reserved += bytes.count
    var reliefs = 0
    while true {
      do throws(FileFailure) {
        try file.write(bytes, at: fileCount)
        break
      } catch {
        reliefs += 1
        guard reliefs <= Log.mostReliefs, bodies.log.relieve(error, for: bytes.count) else {
          bodies.log.withLock { [error] log in log.failBody(error) }
          throw .inputOutput
        }
      }
    }
    fileCount += bytes.count
    bodies.log.context.counters.bytesWritten.increment(by: bytes.count)
  }

  /// Returns where the bytes in a range are, at most to the end of their chunk. It does no I/O.
  func locate(_ range: Range<Int>) -> Location {
    let offset = range.lowerBound
    guard offset < count else {
      return .memory(Array(chunk.dropFirst(offset - count).prefix(range.count))[...])
    }
    let start = offset / DiskFormat.bodyChunkSize * DiskFormat.bodyChunkSize
    // Copy the one word that is needed, not the whole table for each chunk.
    let word = Array(table[(start / DiskFormat.bodyChunkSize * 8)...].prefix(8))
    return .file(WrittenChunk(file: file, start: start, checksum: word, hasher: hasher))
  }

  /// The place of bytes of the body.
  enum Location: Sendable {
    /// A copy of bytes that are not yet written.
    case memory(ArraySlice<UInt8>)
    case file(WrittenChunk)
  }

  /// A full chunk of the body in its file. It never changes, and stays readable after the file is unlinked.
  struct WrittenChunk: Sendable {
    fileprivate let file: any File
    fileprivate let start: Int
    fileprivate let checksum: [UInt8]
    fileprivate let hasher: KeyHasher

    /// Reads the chunk and verifies it.
    ///
    /// - Parameter offset: where to begin, in bytes from the start of the body.
    /// - Returns: the bytes from there to the end of the chunk; `nil` if they cannot be read.
    func read(from offset: Int) -> ArraySlice<UInt8>? {
      guard let bytes = try? file.read(DiskFormat.bodyChunkSize, at: start),
        DiskFormat.littleEndianBytes(hasher.checksum(bytes)) == checksum
      else { return nil }
      return bytes.dropFirst(offset - start)
    }
  }

  /// Writes the rest of the body and the table of checksums; returns the table's checksum.
  mutating func finish() throws(AppendFailure) -> UInt64 {
    if !chunk.isEmpty { try writeChunk() }
    try write(table)
    return hasher.checksum(table)
  }

  /// Marks the file as belonging to an entry.
  func keep() {
    bodies.keep(number, reserved: reserved)
  }

  /// Removes the file.
  func discard() {
    bodies.discard(number, reserved: reserved)
  }
}

/// Reads a large body, and verifies every chunk before it returns any byte of it.
final class BodyFileReader: BodyReading {
  /// Maximum bytes that one read returns.
  private static let maximumRead = 1 << 20

  /// A chunk that was read and verified, but not yet returned.
  private struct Chunk: Sendable {
    let number: Int
    let bytes: [UInt8]
  }

  let count: Int
  let body: OpenBody
  private let checksum: UInt64
  private let log: LockedLog
  private let candidate: Catalog.Candidate
  private let prepared = Mutex<Chunk?>(nil)
  /// Whether a chunk is in memory.
  var hasPrepared: Bool { prepared.withLock { $0 != nil } }

  init(_ body: OpenBody, count: Int, checksum: UInt64, log: LockedLog, candidate: Catalog.Candidate) {
    self.body = body
    self.count = count
    self.checksum = checksum
    self.log = log
    self.candidate = candidate
  }

  func prepare(from offset: Int, atOnce: Bool) throws(StoreError) -> Bool {
    let number = offset / DiskFormat.bodyChunkSize
    if prepared.withLock({ $0?.number == number }) { return true }
    guard let bytes = try readChunks(number..<number + 1, atOnce: atOnce) else { return false }
    prepared.withLock { $0 = Chunk(number: number, bytes: bytes) }
    return true
  }

  func read(
    from offset: Int, upTo maximumCount: Int, atOnce: Bool
  ) throws(StoreError) -> ArraySlice<UInt8>? {
    let size = DiskFormat.bodyChunkSize
    let first = offset / size
    let start = first * size
    var end = offset + min(maximumCount, Self.maximumRead, count - offset)
    if let chunk = takePrepared(first) {
      return chunk[offset - start..<min(end - start, chunk.count)]
    }
    // A chunk is always read whole, even if only a part is wanted. So the read leaves such a last chunk to the next
    // read, unless it is the only one.
    if end < count, end / size > first { end = end / size * size }
    let bytes = try readChunks(first..<(end + size - 1) / size, atOnce: atOnce)
    return bytes?[offset - start..<end - start]
  }

  /// Returns a prepared chunk once; the next read of it reads the file.
  private func takePrepared(_ number: Int) -> [UInt8]? {
    prepared.withLock { prepared in
      guard let chunk = prepared, chunk.number == number else { return nil }
      prepared = nil
      return chunk.bytes
    }
  }

  /// Reads chunks and verifies them.
  ///
  /// - Parameter atOnce: whether to return `nil` instead of waiting or failing.
  private func readChunks(_ chunks: Range<Int>, atOnce: Bool) throws(StoreError) -> [UInt8]? {
    let size = DiskFormat.bodyChunkSize
    let start = chunks.lowerBound * size
    guard let checksums = try checksums(atOnce: atOnce),
      let bytes = try readFile(min(count, chunks.upperBound * size) - start, at: start, atOnce: atOnce)
    else { return nil }
    var position = 0
    for chunk in chunks {
      let next = min(position + size, bytes.count)
      guard log.context.hasher.checksum(bytes[position..<next]) == checksums[chunk] else {
        if atOnce { return nil }
        throw corrupt("the checksum of bytes \(chunk * size)..<\(chunk * size + next - position) is wrong")
      }
      position = next
    }
    return bytes
  }

  private func checksums(atOnce: Bool) throws(StoreError) -> [UInt64]? {
    if let known = body.table.withLock({ $0 }) { return known }
    guard let bytes = try readFile(DiskFormat.bodyFileSize(count) - count, at: count, atOnce: atOnce) else {
      return nil
    }
    guard log.context.hasher.checksum(bytes) == checksum else {
      if atOnce { return nil }
      throw corrupt("its table of checksums is wrong")
    }
    let words = DiskFormat.words(bytes)
    body.table.withLock { $0 = words }
    return words
  }

  private func readFile(_ count: Int, at offset: Int, atOnce: Bool) throws(StoreError) -> [UInt8]? {
    do throws(FileFailure) {
      if let bytes = try body.file.read(count, at: offset, atOnce: atOnce) { return bytes }
      if atOnce { return nil }
    } catch {
      log.context.counters.ioErrors.increment()
      dropEntry()
      throw error.storeError
    }
    throw corrupt("it is shorter than its record says")
  }

  /// Drops the entry, wherever its record is by now: the file is the same.
  private func dropEntry() {
    _ = log.withLock { log in log.dropUnreadable(hash: candidate.hash, id: candidate.id, location: nil) }
  }

  private func corrupt(_ what: String) -> StoreError {
    // Counted even if the entry is gone by now, because a reader met the damage.
    log.context.counters.corruptRecords.increment()
    dropEntry()
    return StoreError(.corrupt(what: what, path: body.file.path))
  }
}
