// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex

/// The log as readers see it: finds entries, and says where to read them.
///
/// **State**: the index (`DiskIndex`), the open files of segments, and the bytes of records that are not yet in their
/// files.
///
/// **Lock**: its own, which is the last of the tier. No I/O happens under it, so that a lookup never waits for a write.
/// Entries that were found are read without a lock: a file stays open as long as a reader uses it, even when its
/// segment is reclaimed.
///
/// **Crash**: none of it is on disk. An opening rebuilds it from the log (`LogRecovery`).
final class Catalog: Sendable {
  struct Contents: Sendable {
    var index = DiskIndex()
    var files = SegmentFiles()
    var sweeps = Sweeps()
    /// Records that are not yet in their files, by position.
    private var buffered: [UInt64: RecordBytes] = [:]

    /// Returns the bytes of a record that is not yet in its file.
    func buffered(at location: RecordLocation) -> RecordBytes? {
      buffered.isEmpty ? nil : buffered[location.position]
    }

    mutating func buffer(_ piece: WriteBuffer.Piece) { buffered[piece.position] = piece.bytes }
    mutating func unbuffer(_ piece: WriteBuffer.Piece) { buffered[piece.position] = nil }
    mutating func unbufferAll() { buffered = [:] }

    /// Removes all entries and files.
    mutating func removeAll() { (index, files, buffered) = (DiskIndex(), SegmentFiles(), [:]) }
  }

  private let contents: Mutex<Contents>

  init(_ contents: Contents = Contents()) {
    self.contents = Mutex(contents)
  }

  @inline(__always)
  func withLock<Result: Sendable>(_ body: (inout Contents) -> Result) -> Result {
    contents.withLock { body(&$0) }
  }

  /// An entry in the index, and the open files to read it from.
  struct Candidate: Sendable {
    /// The place of a record: in a file, or still in the buffer.
    struct Source: Sendable {
      let location: RecordLocation
      let file: any File
      let buffered: RecordBytes?

      /// Reads the bytes of the record; `nil` if the file ends before.
      ///
      /// - Parameter atOnce: see ``File/readAtOnce(into:at:)``.
      func read(atOnce: Bool = false) throws(FileFailure) -> [UInt8]? {
        if let buffered { return buffered.joined }
        return try file.read(Int(location.count), at: Int(location.offset), atOnce: atOnce)
      }
    }

    let hash: UInt64
    let fingerprint: UInt32
    let id: UInt64
    let source: Source
    /// Whether its body is in its own file.
    let hasBodyFile: Bool
    /// Where its updated metadata is; `nil` if it was not updated.
    let update: Update?

    /// Updates are rare. Inline, they would make every candidate half as large again.
    final class Update: Sendable {
      let source: Source

      init(_ source: Source) {
        self.source = source
      }
    }
  }

  var count: Int { contents.withLock { $0.index.count } }

  /// Whether the disk has an entry with this hash, and with this fingerprint if it is given.
  func contains(_ hash: UInt64, fingerprint: UInt32? = nil) -> Bool {
    contents.withLock { contents in
      fingerprint.map { contents.index.slot(for: hash, fingerprint: $0) != nil }
        ?? contents.index.contains(hash)
    }
  }

  func slot(for hash: UInt64, id: UInt64) -> UInt32? {
    contents.withLock { $0.index.slot(for: hash, id: id) }
  }

  /// The number of the insert or update that wrote the metadata of an entry; `nil` if the entry is not on disk.
  func revision(of id: UInt64, hash: UInt64) -> UInt64? {
    contents.withLock { contents in
      contents.index.slot(for: hash, id: id).map { _ in contents.index.updates[id]?.revision ?? id }
    }
  }

  /// Returns the entries on disk under a hash; each counts as hit. Usually there is one, which needs no array.
  @inline(__always)
  func candidates(for hash: UInt64) -> (first: Candidate?, others: [Candidate]) {
    var first: Candidate?
    var others: [Candidate] = []
    // The closure does not return the result, because that would be copied on its way.
    contents.withLock { catalog in
      var slot: UInt32?
      var otherSlots: [UInt32] = []
      catalog.index.forEach(under: hash) { found in
        if slot == nil { slot = found } else { otherSlots.append(found) }
      }
      guard let slot else { return }
      first = catalog.hit(slot, hash: hash)
      for slot in otherSlots {
        guard let other = catalog.hit(slot, hash: hash) else { continue }
        if first == nil { first = other } else { others.append(other) }
      }
    }
    return (first, others)
  }

  /// Returns the entry on disk of one variant under a hash. It does not count as hit.
  func candidate(for hash: UInt64, variant: UInt64) -> Candidate? {
    let fingerprint = DiskIndexEntry.fingerprint(of: variant, hash: hash)
    return contents.withLock { catalog in
      catalog.index.slot(for: hash, fingerprint: fingerprint).flatMap { catalog.candidate($0, hash: hash) }
    }
  }
}

extension Catalog.Contents {
  typealias Candidate = Catalog.Candidate

  func source(of location: RecordLocation) -> Candidate.Source? {
    guard let file = files[location.segment] else { return nil }
    return Candidate.Source(location: location, file: file, buffered: buffered(at: location))
  }

  /// Returns an entry, which counts as hit; `nil` if its file is gone.
  @inline(__always)
  fileprivate mutating func hit(_ slot: UInt32, hash: UInt64) -> Candidate? {
    guard let candidate = candidate(slot, hash: hash) else { return nil }
    if !index[slot].isHit { index[slot].isHit = true }
    return candidate
  }

  /// Returns an entry; `nil` if its file is gone.
  @inline(__always)
  func candidate(_ slot: UInt32, hash: UInt64) -> Candidate? {
    let entry = index[slot]
    guard let source = source(of: entry.location) else { return nil }
    let update = entry.hasUpdate ? index.updates[entry.id] : nil
    return Candidate(
      hash: hash, fingerprint: entry.fingerprint, id: entry.id, source: source,
      hasBodyFile: entry.hasBodyFile,
      update: update.flatMap { self.source(of: $0.location) }.map(Candidate.Update.init))
  }
}

/// The open files of the log's segments, by number.
///
/// The numbers are consecutive, so that a lookup needs no hashing, which would be a tenth of a read from the page
/// cache.
struct SegmentFiles: Sendable {
  private var first: UInt32 = 0
  private var files: ContiguousArray<(any File)?> = []

  subscript(number: UInt32) -> (any File)? {
    @inline(__always)
    get {
      let index = Int(number) - Int(first)
      return files.indices.contains(index) ? files[index] : nil
    }
    set {
      if files.isEmpty { first = number }
      if number < first {
        // The file is gone already.
        guard newValue != nil else { return }
        files.insert(contentsOf: repeatElement(nil, count: Int(first - number)), at: 0)
        first = number
      }
      let index = Int(number - first)
      while files.count <= index { files.append(nil) }
      files[index] = newValue
      while let last = files.last, last == nil { files.removeLast() }
      let gone = files.prefix { $0 == nil }.count
      files.removeFirst(gone)
      first += UInt32(gone)
    }
  }

  /// All open files, oldest first.
  var all: [(number: UInt32, file: any File)] {
    files.indices.compactMap { index in files[index].map { (first + UInt32(index), $0) } }
  }
}
