// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// Records that are on their way to the log, in its order.
struct WriteBuffer: Sendable {
  /// Bytes of one segment.
  struct Piece: Sendable {
    let segment: UInt32
    let file: any File
    let offset: Int
    let bytes: RecordBytes

    var position: UInt64 { RecordLocation(segment: segment, offset: UInt32(offset), count: 0).position }
  }

  private(set) var pieces: [Piece] = []
  /// The bytes of all pieces, those that are just being written among them.
  private(set) var count = 0
  /// Body files of entries that were replaced by what is here: until that is written, a process that is killed leaves
  /// what was replaced, and whole.
  private(set) var orphans: [DiskIndex.BodyFile] = []
  /// How many removals and updates were never written, though their records had been here.
  var lostRemovals = 0

  mutating func append(_ piece: Piece) {
    pieces.append(piece)
    count += piece.bytes.count
  }

  mutating func append(_ orphan: DiskIndex.BodyFile) { orphans.append(orphan) }

  mutating func takeOrphans() -> [DiskIndex.BodyFile] {
    defer { orphans = [] }
    return orphans
  }

  /// Takes all pieces to write them. They count until they are ``finished(_:)``.
  mutating func take() -> [Piece] {
    defer { pieces = [] }
    return pieces
  }

  /// Takes the first pieces, one at least, until they have so many bytes; all body files, if that is all pieces.
  mutating func take(upTo bytes: Int) -> (pieces: [Piece], orphans: [DiskIndex.BodyFile]) {
    var (end, size) = (0, 0)
    while end < pieces.count, size < bytes {
      size += pieces[end].bytes.count
      end += 1
    }
    if end == pieces.count { return (take(), takeOrphans()) }
    defer { pieces.removeFirst(end) }
    return (Array(pieces[..<end]), [])
  }

  mutating func finished(_ written: [Piece]) {
    count -= written.reduce(0) { $0 + $1.bytes.count }
  }

  /// What is not being written is not needed any more.
  mutating func drop() { finished(take()) }
}
