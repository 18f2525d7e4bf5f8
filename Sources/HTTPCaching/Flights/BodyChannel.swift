import Synchronization

/// Carries a body from the task that receives and stores it to the caller that reads it.
///
/// The sender waits while the reader is more than ``limit`` bytes behind, but not between ``stopWaiting()`` and
/// ``waitAgain()``: others wait for the body then, and must not depend on how fast this reader is. One that falls behind
/// then gets the rest from the store, if it can be had there; it is not kept in memory.
final class BodyChannel: Sendable {
  /// Bytes that may wait to be read.
  static let limit = 256 * 1024

  private struct State {
    var chunks: [ArraySlice<UInt8>] = []
    var firstChunk = 0
    var bytes = 0
    var end: Result<Void, any Error>?
    var isAbandoned = false
    var isUnlimited = false
    /// Bytes handed to the reader.
    var taken = 0
    /// The reader gets from the store what comes behind the chunks that wait.
    var isBehind = false
    var isBeingRead = false
    var reader: CheckedContinuation<ArraySlice<UInt8>?, any Error>?
    var sender: CheckedContinuation<Void, Never>?

    mutating func popFirst() -> ArraySlice<UInt8>? {
      guard firstChunk < chunks.count else { return nil }
      let chunk = chunks[firstChunk]
      firstChunk += 1
      if firstChunk == chunks.count {
        chunks.removeAll(keepingCapacity: true)
        firstChunk = 0
      }
      bytes -= chunk.count
      taken += chunk.count
      return chunk
    }

    /// Queues a chunk, or leaves it to the store.
    mutating func append(_ chunk: ArraySlice<UInt8>, keeping most: Int?) {
      if isBehind { return }
      if isUnlimited, let most, bytes + chunk.count > most, bytes > 0 {
        isBehind = true
        return
      }
      chunks.append(chunk)
      bytes += chunk.count
    }

    mutating func takeSender() -> CheckedContinuation<Void, Never>? {
      defer { sender = nil }
      return sender
    }
  }

  private let state = Mutex(State())
  private let onAbandon: @Sendable () -> Void
  /// Bytes that are kept for a reader that is not waited for.
  private let keeps: Int
  /// Brings the content from this byte on, as the store comes to have it.
  private let rest: (@Sendable (Int) async throws -> MessageBody)?

  /// What is kept where it is not known how long the content is: it may turn out too large to be stored, and then there is
  /// no rest for a reader that was not waited for. Readers share the chunks, so this is what one transfer holds.
  static let limitOfUnknownLength = 8 << 20

  /// - Parameters:
  ///   - keeps: the most bytes that wait for a reader that nobody waits for.
  ///   - rest: brings the content from a byte on, as the store comes to have it; `nil` if it cannot be had from there.
  ///   - onAbandon: called once if the reader goes away before the end.
  init(
    keeps: Int = BodyChannel.limit, rest: (@Sendable (Int) async throws -> MessageBody)? = nil,
    onAbandon: @escaping @Sendable () -> Void
  ) {
    self.keeps = keeps
    self.rest = rest
    self.onAbandon = onAbandon
  }

  // MARK: - Sender

  /// Hands a chunk over; waits while the reader is behind. `false` once nobody reads any more.
  func send(_ chunk: ArraySlice<UInt8>) async -> Bool {
    guard !chunk.isEmpty else { return state.withLock { !$0.isAbandoned } }
    let (reader, isAbandoned) = state.withLock { state in
      if state.isAbandoned { return (nil as CheckedContinuation<ArraySlice<UInt8>?, any Error>?, true) }
      if let reader = state.reader {
        state.reader = nil
        state.taken += chunk.count
        return (reader, false)
      }
      state.append(chunk, keeping: rest == nil ? nil : keeps)
      return (nil, false)
    }
    reader?.resume(returning: chunk)
    if isAbandoned { return false }
    await withCheckedContinuation { continuation in
      let mayGoOn = state.withLock { state in
        if state.bytes <= Self.limit || state.isUnlimited || state.isAbandoned { return true }
        state.sender = continuation
        return false
      }
      if mayGoOn { continuation.resume() }
    }
    return state.withLock { !$0.isAbandoned }
  }

  /// Hands a chunk over without waiting; one who is behind gets it from the store.
  func offer(_ chunk: ArraySlice<UInt8>) {
    guard !chunk.isEmpty else { return }
    state.withLock { state in
      if state.isAbandoned { return nil as CheckedContinuation<ArraySlice<UInt8>?, any Error>? }
      if let reader = state.reader {
        state.reader = nil
        state.taken += chunk.count
        return reader
      }
      state.isUnlimited = true
      state.append(chunk, keeping: rest == nil ? nil : keeps)
      return nil
    }?.resume(returning: chunk)
  }

  /// Has the reader get everything from the store.
  func startBehind() {
    state.withLock { state in
      state.isUnlimited = true
      state.isBehind = true
    }
  }

  var isAbandonedByReader: Bool { state.withLock { $0.isAbandoned } }

  /// What the reader has to get from the store: everything from this byte on; `nil` if all came here.
  fileprivate var behind: Int? {
    state.withLock { $0.isBehind && $0.firstChunk >= $0.chunks.count && !$0.isAbandoned ? $0.taken : nil }
  }

  fileprivate func bringRest(from offset: Int) async throws -> MessageBody? { try await rest?(offset) }

  /// Says that the body is whole, or why it is not.
  func finish(_ result: Result<Void, any Error>) {
    let reader = state.withLock { state in
      guard state.end == nil else { return nil as CheckedContinuation<ArraySlice<UInt8>?, any Error>? }
      state.end = result
      defer { state.reader = nil }
      return state.reader
    }
    reader?.resume(with: result.map { nil })
  }

  /// From now on the sender does not wait for the reader.
  func stopWaiting() {
    state.withLock { state in
      state.isUnlimited = true
      return state.takeSender()
    }?.resume()
  }

  /// From now on the sender waits for the reader again.
  func waitAgain() {
    state.withLock { $0.isUnlimited = false }
  }

  // MARK: - Reader

  /// The next chunk, or `nil` behind the last.
  func next() async throws -> ArraySlice<UInt8>? {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        enum Step {
          case chunk(ArraySlice<UInt8>, CheckedContinuation<Void, Never>?)
          case end(Result<Void, any Error>)
          case wait
        }
        let step: Step = state.withLock { state in
          if state.isAbandoned { return .end(.failure(CancellationError())) }
          if let chunk = state.popFirst() {
            return .chunk(chunk, state.bytes <= Self.limit ? state.takeSender() : nil)
          }
          if let end = state.end { return .end(end) }
          state.reader = continuation
          return .wait
        }
        switch step {
        case .chunk(let chunk, let sender):
          sender?.resume()
          continuation.resume(returning: chunk)
        case .end(let result): continuation.resume(with: result.map { nil })
        case .wait: break
        }
      }
    } onCancel: {
      abandon()
    }
  }

  /// Says that nobody will read any more.
  func abandon() {
    let (reader, sender, isNews) = state.withLock { state in
      let isNews = !state.isAbandoned && state.end == nil
      state.isAbandoned = true
      state.chunks = []
      state.firstChunk = 0
      state.bytes = 0
      defer { state.reader = nil }
      return (state.reader, state.takeSender(), isNews)
    }
    reader?.resume(throwing: CancellationError())
    sender?.resume()
    if isNews { onAbandon() }
  }

  /// Claims the only reading there can be.
  fileprivate func claim() -> Bool {
    state.withLock { state in
      defer { state.isBeingRead = true }
      return !state.isBeingRead
    }
  }
}

/// The reading end of a ``BodyChannel``; when the last copy is gone, the channel is abandoned.
final class BodyReader: AsyncSequence, Sendable {
  typealias Element = ArraySlice<UInt8>
  typealias Failure = any Error

  private let channel: BodyChannel

  init(_ channel: BodyChannel) {
    self.channel = channel
  }

  deinit {
    channel.abandon()
  }

  func makeAsyncIterator() -> Iterator {
    Iterator(reader: self, isOnly: channel.claim())
  }

  struct Iterator: AsyncIteratorProtocol {
    let reader: BodyReader
    let isOnly: Bool
    /// What came into the store while this reader was behind.
    var rest: MessageBody.Iterator?

    mutating func next() async throws -> ArraySlice<UInt8>? {
      try await next(isolation: nil)
    }

    mutating func next(isolation actor: isolated (any Actor)?) async throws -> ArraySlice<UInt8>? {
      guard isOnly else { throw HTTPCacheError.bodyAlreadyRead }
      if rest != nil { return try await rest?.next(isolation: actor) }
      if let offset = reader.channel.behind {
        rest = try await reader.channel.bringRest(from: offset)?.makeAsyncIterator()
        return try await rest?.next(isolation: actor)
      }
      return try await reader.channel.next()
    }
  }
}
