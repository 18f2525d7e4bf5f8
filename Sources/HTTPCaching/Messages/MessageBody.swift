// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheStore

/// The content of a request or a response, as chunks of bytes; read once, or as often as you like if it is in memory.
///
/// ```swift
/// for try await chunk in response.body { … }
/// let bytes = try await response.body.collect(upTo: 1 << 20)
/// ```
public struct MessageBody: AsyncSequence, Sendable {
  public typealias Element = ArraySlice<UInt8>
  public typealias Failure = any Error

  enum Storage: Sendable {
    case bytes(ArraySlice<UInt8>)
    /// The content of an entry in memory, in the store's own form.
    case resident(StoredBody)
    case pieces([Piece])
    case stream(any AsyncSequence<ArraySlice<UInt8>, any Error> & Sendable)
  }

  /// A run of bytes, in memory or in the store.
  enum Piece: Sendable {
    case bytes(ArraySlice<UInt8>)
    case stored(StoredBody, Range<Int>)

    /// Makes a piece from a range of a stored content.
    init(_ stored: StoredBody, _ range: Range<Int64>) {
      let range = Int(range.lowerBound)..<Int(range.upperBound)
      if stored.isResident, let bytes = try? stored.read(from: range.lowerBound, upTo: range.count) {
        self = .bytes(bytes)
      } else {
        self = range.isEmpty ? .bytes([]) : .stored(stored, range)
      }
    }

    var count: Int {
      switch self {
      case .bytes(let bytes): bytes.count
      case .stored(_, let range): range.count
      }
    }
  }

  let storage: Storage
  /// The length in bytes, if it is known before the last chunk.
  public let length: Int?

  init(_ storage: Storage, length: Int?) {
    self.storage = storage
    self.length = length
  }

  /// Empty content.
  public static let empty = MessageBody([UInt8]())

  /// Makes content from bytes in memory.
  public init(_ bytes: [UInt8]) {
    self.init(bytes[...])
  }

  /// Makes content from bytes in memory.
  public init(_ bytes: ArraySlice<UInt8>) {
    self.init(.bytes(bytes), length: bytes.count)
  }

  /// Makes content from a sequence of chunks.
  ///
  /// - Parameters:
  ///   - chunks: the content, chunk by chunk.
  ///   - length: the total number of bytes, if known.
  public init<Chunks: AsyncSequence & Sendable>(_ chunks: Chunks, length: Int? = nil)
  where Chunks.Element == ArraySlice<UInt8>, Chunks.Failure == any Error {
    self.init(.stream(chunks), length: length)
  }

  init(_ stored: StoredBody) {
    if stored.isResident {
      self.init(.resident(stored), length: stored.count)
    } else {
      self.init(.pieces([.stored(stored, 0..<stored.count)]), length: stored.count)
    }
  }

  /// Makes content from parts of a stored content.
  init(_ stored: StoredBody, pieces: [CacheEngine.ContentPiece]) {
    self.init(
      pieces.map { piece in
        switch piece {
        case .text(let text): .bytes(Array(text.utf8)[...])
        case .stored(let range): Piece(stored, range)
        }
      })
  }

  /// Makes content from pieces in order.
  init(_ pieces: [Piece]) {
    if pieces.count == 1, case .bytes(let bytes) = pieces[0] {
      self.init(bytes)
    } else {
      self.init(.pieces(pieces), length: pieces.reduce(0) { $0 + $1.count })
    }
  }

  /// All of the content, if it is in memory; otherwise `nil`.
  ///
  /// - Complexity: O(1). A stored content of 4 KiB or less is copied, in O(*n*); ``withBytes(_:)`` gives access without
  ///   a copy.
  public var bytes: ArraySlice<UInt8>? {
    switch storage {
    case .bytes(let bytes): bytes
    case .resident(let stored): stored.residentBytes
    case .pieces, .stream: nil
    }
  }

  /// Whether all of the content is in memory.
  public var isInMemory: Bool {
    switch storage {
    case .bytes, .resident: true
    case .pieces, .stream: false
    }
  }

  /// Whether the content was made from a sequence.
  package var isStream: Bool { if case .stream = storage { true } else { false } }

  /// The sequence that the content was made from; `nil` if it was made otherwise.
  package var stream: (any AsyncSequence<ArraySlice<UInt8>, any Error> & Sendable)? {
    if case .stream(let stream) = storage { stream } else { nil }
  }

  /// Ends the reading of a stream, from any thread: the reader that waits gets an error. It has no effect on other content.
  package func cancel() { (stream as? any CancellableStream)?.cancel() }

  /// Calls `work` with all of the content, without copying it, if it is in memory.
  ///
  /// - Returns: whether `work` was called.
  /// - Complexity: O(1).
  @discardableResult
  public func withBytes(_ work: (RawSpan) -> Void) -> Bool {
    switch storage {
    case .bytes(let bytes): bytes.withUnsafeBytes { work($0.bytes) }
    case .resident(let stored): stored.withResidentBytes(work)
    case .pieces, .stream: return false
    }
    return true
  }

  /// Returns all of the content.
  ///
  /// - Parameter limit: maximum bytes to read.
  /// - Throws: an ``HTTPCacheError`` with the code `contentTooLarge` beyond the limit, or the error of the stream.
  public func collect(upTo limit: Int) async throws -> ArraySlice<UInt8> {
    if let bytes {
      guard bytes.count <= limit else { throw HTTPCacheError.contentTooLarge(limit: limit) }
      return bytes
    }
    var collected: [UInt8] = []
    // The peer's announced length is not trusted: at most a megabyte is reserved for it.
    collected.reserveCapacity(Swift.min(length ?? 0, limit, 1 << 20))
    for try await chunk in self {
      guard collected.count + chunk.count <= limit else {
        throw HTTPCacheError.contentTooLarge(limit: limit)
      }
      collected += chunk
    }
    return collected[...]
  }

  /// The first stored part of the content, if that is not in memory.
  private var unreadPart: (body: StoredBody, start: Int)? {
    guard case .pieces(let pieces) = storage else { return nil }
    for case .stored(let body, let range) in pieces where !range.isEmpty {
      return body.isResident ? nil : (body, range.lowerBound)
    }
    return nil
  }

  /// Whether the content can begin; `false` if only ``canBegin()`` can tell, because that waits for the disk.
  var canBeginAtOnce: Bool {
    guard let (body, start) = unreadPart else { return true }
    return (try? body.prepare(from: start, atOnce: true)) ?? false
  }

  /// Reads the first block from disk before the head is sent. So no response begins whose content is damaged at its
  /// beginning.
  ///
  /// - Returns: `false` if the block is unreadable; the entry is then no longer stored.
  func canBegin() async -> Bool {
    guard let (body, start) = unreadPart else { return true }
    return await BlockingExecutor.run { (try? body.prepare(from: start)) != nil }
  }

  /// Begins to read. A streamed body can be read once.
  public func makeAsyncIterator() -> Iterator { Iterator(storage) }

  /// Reads a body from its beginning.
  public struct Iterator: AsyncIteratorProtocol {
    private enum Source {
      case bytes(ArraySlice<UInt8>)
      case pieces(ContentCursor)
      case stream(any AsyncIteratorProtocol<ArraySlice<UInt8>, any Error>)
    }

    private var source: Source

    init(_ storage: Storage) {
      switch storage {
      case .bytes(let bytes): source = .bytes(bytes)
      case .resident(let stored): source = .bytes(stored.residentBytes ?? [])
      case .pieces(let pieces): source = .pieces(ContentCursor(pieces))
      case .stream(let stream): source = .stream(stream.makeAsyncIterator())
      }
    }

    /// Returns the next chunk, or `nil` at the end.
    ///
    /// - Throws: the error of the transport, or of the disk.
    public mutating func next() async throws -> ArraySlice<UInt8>? {
      try await next(isolation: nil)
    }

    /// Returns the next chunk, or `nil` at the end. It runs on the caller's actor.
    ///
    /// - Throws: the error of the transport, or of the disk.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws -> ArraySlice<UInt8>? {
      switch source {
      case .bytes(let bytes):
        source = .bytes([])
        return bytes.isEmpty ? nil : bytes
      case .pieces(var cursor):
        defer { source = .pieces(cursor) }
        return try await cursor.next()
      case .stream(var iterator):
        let chunk = try await iterator.next(isolation: actor)
        source = .stream(iterator)
        return chunk
      }
    }
  }
}

/// A stream whose reading can be ended by another than its reader.
package protocol CancellableStream {
  /// Ends the reading: the reader that waits gets an error, and so does the next one.
  func cancel()
}

extension StoredBody {
  /// Reads a piece, on a thread that may block if the read would wait for the disk.
  func chunk(from offset: Int, upTo count: Int) async throws -> ArraySlice<UInt8> {
    if let chunk = try read(from: offset, upTo: count, atOnce: true) { return chunk }
    return try await BlockingExecutor.run { Result { try read(from: offset, upTo: count) } }.get()
  }
}
