// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCaching

/// The content of a request that is sent while it arrives, and whose beginning is kept: an origin of HTTP/2 that has not looked at
/// the request gets it once more (RFC 9113 §8.7).
///
/// It is kept until the origin has answered, or has got more than ``limit``: such an origin opens no window. What is kept counts
/// as content in flight.
///
/// Each attempt has an iterator. While the content is kept, a read goes on when the attempt ends that has asked for it, and the next
/// attempt gets its result: the reader of a ``BodyFeed`` that is cancelled would abandon the content.
final class KeptContent: AsyncSequence, Sendable {
  typealias Element = ArraySlice<UInt8>
  typealias Failure = any Error

  /// As much as the window of a stream at its beginning (RFC 9113 §6.9.2), in bytes.
  static let limit = 64 << 10

  private typealias Reading = Task<ArraySlice<UInt8>?, any Error>

  private struct State {
    var kept: [ArraySlice<UInt8>] = []
    var isKept = true
    /// Number of chunks and of bytes that were read.
    var (count, bytes) = (0, 0)
    var reading: Reading?
    /// How the content has ended. A sequence that has thrown an error may end in good order when it is asked again.
    var end: Result<Void, any Error>?

    mutating func drop(_ transit: TransitBudget) {
      if isKept { transit.change(by: -bytes) }
      (kept, isKept) = ([], false)
    }
  }

  /// Reads the content.
  ///
  /// It is used by one read at a time: while the content is kept by `reading`, and then by the only attempt.
  private final class Source: @unchecked Sendable {
    var iterator: MessageBody.Iterator

    init(_ iterator: MessageBody.Iterator) { self.iterator = iterator }

    func next() async throws -> ArraySlice<UInt8>? { try await iterator.next() }
  }

  private let source: Source
  private let transit: TransitBudget
  private let state = Mutex(State())

  init(_ body: MessageBody, transit: TransitBudget) {
    source = Source(body.makeAsyncIterator())
    self.transit = transit
  }

  deinit { release() }

  /// Whether another attempt gets all of the content.
  var isWhole: Bool { state.withLock { $0.isKept || $0.count == 0 } }

  /// Keeps the content no longer.
  func release() { state.withLock { $0.drop(transit) } }

  func makeAsyncIterator() -> Iterator { Iterator(content: self) }

  struct Iterator: AsyncIteratorProtocol {
    fileprivate let content: KeptContent
    private var position = 0

    fileprivate init(content: KeptContent) { self.content = content }

    mutating func next() async throws -> ArraySlice<UInt8>? { try await next(isolation: nil) }

    mutating func next(isolation actor: isolated (any Actor)?) async throws -> ArraySlice<UInt8>? {
      let chunk = try await content.chunk(position)
      if chunk != nil { position += 1 }
      return chunk
    }
  }

  private enum Step {
    case kept(ArraySlice<UInt8>)
    case wait(Reading)
    case read
    case end(Result<Void, any Error>)
  }

  private func chunk(_ position: Int) async throws -> ArraySlice<UInt8>? {
    let step: Step = state.withLock { state in
      if position < state.count {
        return state.isKept
          ? .kept(state.kept[position]) : .end(.failure(HTTPCacheError.bodyAlreadyRead))
      }
      if let end = state.end { return .end(end) }
      if let reading = state.reading { return .wait(reading) }
      // All that was read before has gone to the origin.
      if state.bytes > Self.limit { state.drop(transit) }
      guard state.isKept else { return .read }
      let reading = Reading { try await self.read() }
      state.reading = reading
      return .wait(reading)
    }
    switch step {
    case .kept(let chunk): return chunk
    case .wait(let reading): return try await reading.value
    case .read: return try await read()
    case .end(let end):
      try end.get()
      return nil
    }
  }

  private func read() async throws -> ArraySlice<UInt8>? {
    do {
      let chunk = try await source.next()
      took(chunk)
      return chunk
    } catch {
      state.withLock { ($0.reading, $0.end) = (nil, .failure(error)) }
      throw error
    }
  }

  /// Counts a chunk that was read, and keeps it.
  private func took(_ chunk: ArraySlice<UInt8>?) {
    state.withLock { state in
      state.reading = nil
      guard let chunk else {
        state.end = .success(())
        return
      }
      state.count += 1
      state.bytes += chunk.count
      guard state.isKept else { return }
      state.kept.append(chunk)
      transit.change(by: chunk.count)
    }
  }
}
