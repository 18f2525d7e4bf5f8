// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPTypes
import Hummingbird
import NIOCore

/// The content that a handler writes, as a sequence that the cache reads: the writer waits for the reader.
///
/// The handler's closure runs in a task of its own from the first read on. If the reader is released, or cancelled, the
/// task is cancelled and the next write throws, so that the closure ends.
///
/// **Ownership** goes one way: the iterator owns the task and the channel, the task owns the channel. The channel owns
/// only the continuations of waiting tasks.
struct HandlerContent: AsyncSequence, Sendable {
  typealias Element = ArraySlice<UInt8>
  typealias Failure = any Error

  /// The fields after the content.
  final class Trailers: Sendable {
    private let value: Mutex<HTTPFields?>

    init(_ fields: HTTPFields? = nil) { value = Mutex(fields) }

    var fields: HTTPFields? {
      get { value.withLock { $0 } }
      set { value.withLock { $0 = newValue } }
    }
  }

  private let body: ResponseBody
  private let trailers: Trailers

  init(_ body: ResponseBody, _ trailers: Trailers) {
    self.body = body
    self.trailers = trailers
  }

  func makeAsyncIterator() -> Iterator {
    let channel = ContentChannel()
    let task = Task { [body, trailers] in
      let writer = Writer(channel: channel, trailers: trailers)
      do {
        try await body.write(writer)
        channel.end(.failure(HandlerContentError.notFinished))
      } catch {
        channel.end(.failure(error))
      }
    }
    return Iterator(reading: Reading(channel, task))
  }

  /// The reader's share. It leaves when it is released.
  fileprivate final class Reading: Sendable {
    let channel: ContentChannel
    private let task: Task<Void, Never>

    init(_ channel: ContentChannel, _ task: Task<Void, Never>) {
      self.channel = channel
      self.task = task
    }

    deinit {
      channel.leave()
      task.cancel()
    }
  }

  struct Iterator: AsyncIteratorProtocol {
    fileprivate let reading: Reading

    mutating func next() async throws -> ArraySlice<UInt8>? {
      try await reading.channel.next()
    }

    mutating func next(isolation actor: isolated (any Actor)?) async throws -> ArraySlice<UInt8>? {
      try await reading.channel.next()
    }
  }

  private struct Writer: ResponseBodyWriter {
    let channel: ContentChannel
    let trailers: Trailers

    mutating func write(_ buffer: ByteBuffer) async throws {
      guard buffer.readableBytes > 0 else { return }
      try await channel.write(ArraySlice(buffer.readableBytesView))
    }

    consuming func finish(_ trailingHeaders: HTTPFields?) async throws {
      trailers.fields = trailingHeaders
      channel.end(.success(()))
    }
  }
}

/// Passes chunks from one writer to one reader, and stores none: each write waits until its chunk is taken.
final class ContentChannel: Sendable {
  private enum State {
    /// Neither side waits.
    case idle
    case writing(ArraySlice<UInt8>, CheckedContinuation<Void, any Error>)
    case reading(CheckedContinuation<ArraySlice<UInt8>?, any Error>)
    /// The writer has ended.
    case ended(Result<Void, any Error>)
    /// The reader has left.
    case left
  }

  private let state = Mutex(State.idle)

  /// Passes a chunk to the reader, and waits until the reader has taken it.
  ///
  /// - Throws: `CancellationError` if the reader has left, or the task is cancelled.
  func write(_ chunk: ArraySlice<UInt8>) async throws {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
        enum Step {
          case wait, fail
          case deliver(CheckedContinuation<ArraySlice<UInt8>?, any Error>)
        }
        let step: Step = state.withLock { state in
          switch state {
          case .idle where !Task.isCancelled:
            state = .writing(chunk, continuation)
            return .wait
          case .reading(let reader):
            state = .idle
            return .deliver(reader)
          // Two writes at once, or a write after the end, are mistakes of the handler.
          case .idle, .writing, .ended, .left: return .fail
          }
        }
        switch step {
        case .wait: break
        case .fail: continuation.resume(throwing: CancellationError())
        case .deliver(let reader):
          reader.resume(returning: chunk)
          continuation.resume()
        }
      }
    } onCancel: {
      leave()
    }
  }

  /// Returns the next chunk, or `nil` at the end.
  ///
  /// - Throws: the writer's error; `CancellationError` if the task is cancelled, and then the writer ends, too.
  func next() async throws -> ArraySlice<UInt8>? {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation {
        (continuation: CheckedContinuation<ArraySlice<UInt8>?, any Error>) in
        let (result, writer):
          (Result<ArraySlice<UInt8>?, any Error>?, CheckedContinuation<Void, any Error>?) =
            state.withLock { state in
              switch state {
              case .idle:
                if Task.isCancelled {
                  state = .left
                  return (.failure(CancellationError()), nil)
                }
                state = .reading(continuation)
                return (nil, nil)
              case .writing(let chunk, let writer):
                state = .idle
                return (.success(chunk), writer)
              case .ended(let result): return (result.map { nil }, nil)
              case .reading, .left: return (.failure(CancellationError()), nil)
              }
            }
        writer?.resume()
        if let result { continuation.resume(with: result) }
      }
    } onCancel: {
      leave()
    }
  }

  /// Ends the content, after the chunks that were taken. Only the first call counts.
  func end(_ result: Result<Void, any Error>) {
    let reader: CheckedContinuation<ArraySlice<UInt8>?, any Error>? = state.withLock { state in
      switch state {
      case .reading(let reader):
        state = .ended(result)
        return reader
      case .idle: state = .ended(result)
      case .writing, .ended, .left: break
      }
      return nil
    }
    reader?.resume(with: result.map { nil })
  }

  /// Ends both sides with `CancellationError`.
  func leave() {
    let last = state.withLock { state in
      let last = state
      switch state {
      case .idle, .writing, .reading: state = .left
      case .ended, .left: break
      }
      return last
    }
    switch last {
    case .writing(_, let writer): writer.resume(throwing: CancellationError())
    case .reading(let reader): reader.resume(throwing: CancellationError())
    case .idle, .ended, .left: break
    }
  }
}
