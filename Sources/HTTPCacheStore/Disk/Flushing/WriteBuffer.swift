// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// Records that are not yet in the log's files, in their order.
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
  /// Bytes of all pieces, including those being written.
  private(set) var count = 0
  /// Body files of entries that buffered records replaced. They stay until those records are written: if the process is
  /// killed before, the old entry is still there, and whole.
  private(set) var orphans: [DiskIndex.BodyFile] = []
  /// Number of buffered removals and updates that were lost before they were written.
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

  /// Takes all pieces to write them. They count until ``finished(_:)`` is called.
  mutating func take() -> [Piece] {
    defer { pieces = [] }
    return pieces
  }

  /// Takes the first pieces until they have this many bytes, at least one. Also takes the body files if that empties
  /// the buffer.
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

  /// Discards the pieces that are not being written.
  mutating func drop() { finished(take()) }
}
