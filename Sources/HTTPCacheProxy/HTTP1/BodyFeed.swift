import HTTPCaching
import HTTPTypes
import NIOCore
import Synchronization

/// Carries the content of a message from the event loop that receives it to the task that reads it.
///
/// The event loop never waits: it stops reading the socket while ``isFull``, and `onDemand` tells it to go on.
final class BodyFeed: Sendable {
  /// Bytes that may wait to be read before the socket is left alone.
  static let limit = 256 << 10

  /// What the receiving side must hear of.
  enum Signal: Sendable {
    /// More is wanted.
    case demand
    /// Nobody will read any more.
    case abandoned
  }

  private struct State {
    var chunks: [ByteBuffer] = []
    var first = 0
    var bytes = 0
    var end: Result<Void, any Error>?
    var trailers: HTTPFields?
    var reader: CheckedContinuation<ByteBuffer?, any Error>?
    var isAbandoned = false
    var wasAsked = false
    var isBeingRead = false

    mutating func popFirst() -> ByteBuffer? {
      guard first < chunks.count else { return nil }
      let chunk = chunks[first]
      first += 1
      if first == chunks.count {
        chunks.removeAll(keepingCapacity: true)
        first = 0
      }
      bytes -= chunk.readableBytes
      return chunk
    }
  }

  private let state = Mutex(State())
  private let signal: @Sendable (Signal) -> Void

  /// - Parameter signal: called on any thread.
  init(signal: @escaping @Sendable (Signal) -> Void) {
    self.signal = signal
  }

  // MARK: - The event loop

  func push(_ chunk: ByteBuffer) {
    state.withLock { state in
      if state.isAbandoned { return nil as CheckedContinuation<ByteBuffer?, any Error>? }
      if let reader = state.reader {
        state.reader = nil
        return reader
      }
      state.chunks.append(chunk)
      state.bytes += chunk.readableBytes
      return nil
    }?.resume(returning: chunk)
  }

  func finish(_ result: Result<Void, any Error>, trailers: HTTPFields? = nil) {
    state.withLock { state in
      guard state.end == nil else { return nil as CheckedContinuation<ByteBuffer?, any Error>? }
      state.end = result
      state.trailers = trailers
      defer { state.reader = nil }
      return state.reader
    }?.resume(with: result.map { nil })
  }

  /// Whether as much waits to be read as may.
  var isFull: Bool { state.withLock { $0.bytes >= Self.limit } }

  /// Whether somebody waits for bytes that have not come.
  var isAwaited: Bool { state.withLock { $0.reader != nil } }

  /// Whether all of the content has come.
  var isComplete: Bool { state.withLock { $0.end != nil } }

  // MARK: - The task

  /// What came behind the content, once that has been read.
  var trailers: HTTPFields? { state.withLock { $0.trailers } }

  fileprivate func claim() -> Bool {
    state.withLock { state in
      defer { state.isBeingRead = true }
      return !state.isBeingRead
    }
  }

  fileprivate func next() async throws -> ByteBuffer? {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        enum Step {
          case chunk(ByteBuffer)
          case end(Result<Void, any Error>)
          case wait
        }
        let (step, isNews): (Step, Bool) = state.withLock { state in
          if state.isAbandoned { return (.end(.failure(CancellationError())), false) }
          let wasFull = state.bytes >= Self.limit
          if let chunk = state.popFirst() { return (.chunk(chunk), wasFull && state.bytes < Self.limit) }
          if let end = state.end { return (.end(end), false) }
          state.reader = continuation
          defer { state.wasAsked = true }
          return (.wait, !state.wasAsked)
        }
        if isNews { signal(.demand) }
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
    let (reader, isNews) = state.withLock { state in
      let isNews = !state.isAbandoned && state.end == nil
      state.isAbandoned = true
      state.chunks = []
      state.first = 0
      state.bytes = 0
      defer { state.reader = nil }
      return (state.reader, isNews)
    }
    reader?.resume(throwing: CancellationError())
    if isNews { signal(.abandoned) }
  }
}

/// The reading end of a ``BodyFeed``; when the last copy is gone, the content is abandoned.
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
      guard let chunk = try await reader.feed.next() else { return nil }
      return Array(buffer: chunk)[...]
    }
  }
}
