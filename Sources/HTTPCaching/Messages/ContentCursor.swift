// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheStore

/// A position in content that is in memory or in files, which moves on as bytes are taken.
///
/// Content in memory is there as a whole. Of content in files, one block at a time is in memory: from its read until its bytes
/// are taken, or it is dropped.
package struct ContentCursor: Sendable {
  /// Maximum bytes of a block: those that have one checksum in a file.
  package static let blockSize = 64 << 10

  private enum Source: Sendable {
    case whole(MessageBody)
    /// The pieces from the position on; it is in the first one.
    case pieces(ArraySlice<MessageBody.Piece>)
  }

  private var source: Source
  /// The bytes before the position, of the whole content or of the first piece.
  private var offset = 0
  /// The bytes at the position that were read from a file.
  private var block: ArraySlice<UInt8> = []
  /// The number of bytes from the position to the end.
  package private(set) var left: Int

  private init(_ source: Source, count: Int) {
    self.source = source
    left = count
  }

  /// Begins at the start of content that is not a stream.
  package init(_ body: MessageBody) {
    switch body.storage {
    case .bytes, .resident: self.init(.whole(body), count: body.length ?? 0)
    case .pieces(let pieces): self.init(pieces)
    case .stream: preconditionFailure("a stream has no positions")
    }
  }

  init(_ pieces: [MessageBody.Piece]) {
    self.init(.pieces(pieces.filter { $0.count > 0 }[...]), count: pieces.reduce(0) { $0 + $1.count })
  }

  /// The number of bytes at the position that can be taken without a read.
  package var available: Int {
    switch source {
    case .whole: left
    case .pieces(let pieces):
      if case .bytes(let bytes)? = pieces.first { bytes.count - offset } else { block.count }
    }
  }

  /// Whether bytes that were read from a file are in memory.
  package var hasBlock: Bool { !block.isEmpty }

  /// Calls `work` with the next bytes: at most `limit`, and those that are available.
  package func withNext(_ limit: Int, _ work: (RawSpan) -> Void) {
    let count = Swift.min(limit, available)
    switch source {
    case .whole(let body): body.withBytes { work($0.extracting(offset..<offset + count)) }
    case .pieces(let pieces):
      if case .bytes(let bytes)? = pieces.first {
        bytes.withUnsafeBytes { work($0.bytes.extracting(offset..<offset + count)) }
      } else {
        block.withUnsafeBytes { work($0.bytes.extracting(first: count)) }
      }
    }
  }

  /// Moves past bytes that are available.
  package mutating func advance(by count: Int) {
    left -= count
    offset += count
    guard case .pieces(var pieces) = source, let piece = pieces.first else { return }
    block = block.count == count ? [] : block.dropFirst(count)
    guard offset == piece.count else { return }
    offset = 0
    pieces.removeFirst()
    source = .pieces(pieces)
  }

  /// Forgets the block. It can be read again.
  package mutating func drop() { block = [] }

  /// The read that makes bytes available; `nil` if some are, or at the end.
  package var nextRead: Read? {
    guard case .pieces(let pieces) = source, block.isEmpty, case .stored(let body, let range)? = pieces.first
    else { return nil }
    return Read(
      body: body, offset: range.lowerBound + offset, count: Swift.min(Self.blockSize, range.count - offset))
  }

  /// A read of a block from a file.
  package struct Read: Sendable {
    fileprivate let body: StoredBody
    fileprivate let offset: Int
    fileprivate let count: Int

    /// Returns the bytes; `nil` if that would wait for the disk, or fail.
    package func atOnce() -> ArraySlice<UInt8>? {
      (try? body.read(from: offset, upTo: count, atOnce: true)) ?? nil
    }

    /// Returns the bytes, which it reads on a thread that may block, if the read would wait for the disk.
    ///
    /// - Throws: the error of the disk.
    package func bytes() async throws -> ArraySlice<UInt8> { try await body.chunk(from: offset, upTo: count) }
  }

  /// Makes the bytes of a read available.
  package mutating func insert(_ bytes: ArraySlice<UInt8>) { block = bytes }

  /// Returns the available bytes, and moves past them. Reads a block if there are none; returns `nil` at the end.
  ///
  /// - Throws: the error of the disk.
  mutating func next() async throws -> ArraySlice<UInt8>? {
    if let read = nextRead { insert(try await read.bytes()) }
    guard case .pieces(let pieces) = source, let piece = pieces.first else { return nil }
    let next = if case .bytes(let bytes) = piece { bytes.dropFirst(offset) } else { block }
    advance(by: next.count)
    return next
  }
}
