// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheStore
import HTTPCaching
import HTTPTypes
import NIOCore

/// Carries the content of a message from the event loop that receives it to the task that reads it.
///
/// The event loop never waits. It stops reading the socket while ``isFull``, and `signal` tells it to continue. The
/// bytes in the feed count in the budget for content in flight.
///
/// It is not NIO's `NIOThrowingAsyncSequenceProducer`, whose back-pressure counts only elements
/// (`didYield(bufferDepth:)`, `didConsume(bufferDepth:)`). This feed needs more:
///
/// - The limit is in bytes. The budget learns of each change, also when the reader leaves and waiting bytes are
///   dropped. A strategy sees neither the elements nor their loss.
/// - The feed takes less while *others* use the budget, but at least one chunk: an empty feed would never be read again.
/// - Many small chunks are stored as one block. As elements, 20,000 chunks of one byte would be as many arrays.
/// - The first demand is an event, which sends 100 (Continue). When a timer fires, ``isAwaited`` tells which side must
///   act: the sender only while a reader waits.
/// - A second reader gets an error. NIO's sequence ends the process.
final class BodyFeed: Sendable {
  /// Maximum bytes that a feed may hold before the socket is no longer read.
  static let limit = 256 << 10

  /// A signal to the receiving side.
  enum Signal: Sendable {
    /// More is wanted.
    case demand
    /// The reader is gone: the content will not be read.
    case abandoned
  }

  private typealias Reader = CheckedContinuation<ArraySlice<UInt8>?, any Error>

  private struct State {
    var blocks = ContentBlocks()
    /// Bytes that the budget counts for ``blocks``.
    var counted = 0
    var end: Result<Void, any Error>?
    var trailers: HTTPFields?
    var reader: Reader?
    /// `nil` when there are no more signals: the receiving side is then released.
    var signal: (@Sendable (Signal) -> Void)?
    var isAbandoned = false
    var wasAsked = false
    /// Whether the receiving side found the feed full, and waits for demand.
    var isHeldBack = false
    var isBeingRead = false

    func isFull(_ transit: TransitBudget) -> Bool {
      blocks.count > 0 && blocks.occupied >= transit.allowance(upTo: BodyFeed.limit)
    }

    /// Updates the budget with the bytes that the blocks occupy now.
    mutating func count(in transit: TransitBudget) {
      transit.change(by: blocks.occupied - counted)
      counted = blocks.occupied
    }
  }

  private let state: Mutex<State>
  private let transit: TransitBudget

  /// - Parameter signal: called on any thread.
  init(transit: TransitBudget, signal: @escaping @Sendable (Signal) -> Void) {
    self.transit = transit
    var state = State()
    state.signal = signal
    self.state = Mutex(state)
  }

  deinit {
    state.withLock { transit.change(by: -$0.counted) }
  }

  // MARK: - The event loop

  /// Passes bytes to the waiting reader, or keeps a copy of them: a slice would keep the buffer of a whole read.
  func push(_ chunk: ByteBuffer) {
    let bytes = Array(buffer: chunk)[...]
    let reader: Reader? = state.withLock { state in
      if state.isAbandoned { return nil }
      if let reader = state.reader {
        state.reader = nil
        return reader
      }
      state.blocks.append(bytes)
      state.count(in: transit)
      return nil
    }
    reader?.resume(returning: bytes)
  }

  func finish(_ result: Result<Void, any Error>, trailers: HTTPFields? = nil) {
    // The signal is released outside the lock: it may be the last reference to a connection.
    let (reader, _): (Reader?, (@Sendable (Signal) -> Void)?) = state.withLock { state in
      guard state.end == nil else { return (nil, nil) }
      state.end = result
      state.trailers = trailers
      defer { (state.reader, state.signal) = (nil, nil) }
      return (state.reader, state.signal)
    }
    reader?.resume(with: result.map { nil })
  }

  /// Whether the socket must not be read now. A caller that gets `true` receives a signal when there is demand again.
  ///
  /// The budget may have room again while the feed still holds bytes: its own reader takes those, and then there is
  /// demand.
  var isFull: Bool {
    state.withLock { state in
      state.isHeldBack = state.isFull(transit)
      return state.isHeldBack
    }
  }

  /// Whether a reader waits for bytes that have not arrived.
  var isAwaited: Bool { state.withLock { $0.reader != nil } }

  // MARK: - The task

  /// The trailers after the content, once the content has been read.
  var trailers: HTTPFields? { state.withLock { $0.trailers } }

  fileprivate func claim() -> Bool {
    state.withLock { state in
      defer { state.isBeingRead = true }
      return !state.isBeingRead
    }
  }

  fileprivate func next() async throws -> ArraySlice<UInt8>? {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        enum Step {
          case chunk(ArraySlice<UInt8>)
          case end(Result<Void, any Error>)
          case wait
        }
        let (step, demand): (Step, (@Sendable (Signal) -> Void)?) = state.withLock { state in
          if state.isAbandoned { return (.end(.failure(CancellationError())), nil) }
          if state.blocks.count > 0 {
            let chunk = state.blocks.read(from: state.blocks.start)
            state.blocks.drop(before: state.blocks.start + chunk.count)
            state.count(in: transit)
            guard state.isHeldBack, !state.isFull(transit) else { return (.chunk(chunk), nil) }
            state.isHeldBack = false
            return (.chunk(chunk), state.signal)
          }
          if let end = state.end { return (.end(end), nil) }
          state.reader = continuation
          defer { state.wasAsked = true }
          return (.wait, state.wasAsked ? nil : state.signal)
        }
        demand?(.demand)
        switch step {
        case .chunk(let chunk): continuation.resume(returning: chunk)
        case .end(let result): continuation.resume(with: result.map { nil })
        case .wait: break
        }
      }
    } onCancel: {
      abandon()
    }
  }

  func abandon() {
    let (reader, signal): (Reader?, (@Sendable (Signal) -> Void)?) = state.withLock { state in
      state.isAbandoned = true
      state.blocks = ContentBlocks()
      state.count(in: transit)
      defer { (state.reader, state.signal) = (nil, nil) }
      return (state.reader, state.signal)
    }
    reader?.resume(throwing: CancellationError())
    signal?(.abandoned)
  }
}

/// The reading end of a ``BodyFeed``; when the last copy is released, the content is abandoned.
final class FeedReader: AsyncSequence, Sendable {
  typealias Element = ArraySlice<UInt8>
  typealias Failure = any Error

  private let feed: BodyFeed

  init(_ feed: BodyFeed) {
    self.feed = feed
  }

  deinit {
    feed.abandon()
  }

  func makeAsyncIterator() -> Iterator {
    Iterator(reader: self, isOnly: feed.claim())
  }

  struct Iterator: AsyncIteratorProtocol {
    let reader: FeedReader
    let isOnly: Bool

    mutating func next() async throws -> ArraySlice<UInt8>? {
      try await next(isolation: nil)
    }

    mutating func next(isolation actor: isolated (any Actor)?) async throws -> ArraySlice<UInt8>? {
      guard isOnly else { throw HTTPCacheError.bodyAlreadyRead }
      return try await reader.feed.next()
    }
  }
}
