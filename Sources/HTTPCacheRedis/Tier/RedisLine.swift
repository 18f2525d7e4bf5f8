// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex

/// A connection of its own for commands that block, one at a time. It is made when it is needed, and again after a
/// failure.
final class RedisLine: Sendable {
  private struct Request {
    var arguments: [[UInt8]]
    var timeout: Duration
    var continuation: CheckedContinuation<RedisValue, any Error>
  }

  private struct State {
    var request: Request?
    var worker: (task: Task<Void, Never>, number: Int)?
    var lastWorker = 0
    /// The worker with a number, while it waits for a request.
    var waiting: (continuation: CheckedContinuation<Request?, Never>, number: Int)?
    var isStopped = false
  }

  private let client: RedisClient
  private let key: [UInt8]
  private let state = Mutex(State())

  init(_ client: RedisClient, key: [UInt8]) {
    self.client = client
    self.key = key
  }

  deinit { stop() }

  /// Sends a command and waits for its reply. If the task is cancelled, the connection ends.
  func send(_ arguments: [[UInt8]], timeout: Duration) async throws -> RedisValue {
    let deadline = CallDeadline(in: timeout, on: client.configuration.clock)
    let reply = try await sendOnce(arguments, timeout: timeout)
    guard reply.errorCode == "MOVED" else { return reply }
    // The client follows the redirection, and remembers the node for the next connection.
    _ = try await client.send([Array("EXISTS".utf8), key], key: key, timeout: deadline.rest)
    return try await sendOnce(arguments, timeout: deadline.rest)
  }

  private func sendOnce(_ arguments: [[UInt8]], timeout: Duration) async throws -> RedisValue {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let request = Request(arguments: arguments, timeout: timeout, continuation: continuation)
        let (waiting, isRefused) = state.withLock { state in
          if state.isStopped || state.request != nil || Task.isCancelled {
            return (nil as CheckedContinuation<Request?, Never>?, true)
          }
          if let waiting = state.waiting.take() { return (waiting.continuation, false) }
          state.request = request
          if state.worker == nil { begin(&state) }
          return (nil, false)
        }
        if isRefused { continuation.resume(throwing: CancellationError()) }
        waiting?.resume(returning: request)
      }
    } onCancel: {
      // The command may block for long: only the end of the connection ends it. If the worker has not taken the request yet,
      // it takes none any more.
      let (worker, request) = state.withLock { ($0.worker.take(), $0.request.take()) }
      worker?.task.cancel()
      request?.continuation.resume(throwing: CancellationError())
    }
  }

  private func begin(_ state: inout State) {
    state.lastWorker += 1
    let number = state.lastWorker
    let client = client
    let key = key
    state.worker = (
      Task { [weak self] in
        try? await client.withConnection(key: key) { connection in
          while let request = await self?.next(number) {
            do {
              let reply = try await connection.send(request.arguments, timeout: request.timeout)
              // Another node may have the key now: the next request finds it with a new connection.
              if case .error = reply {
                self?.ended(number)
                request.continuation.resume(returning: reply)
                return
              }
              request.continuation.resume(returning: reply)
            } catch {
              self?.ended(number)
              request.continuation.resume(throwing: error)
              throw error
            }
          }
        }
        self?.ended(number)
      }, number
    )
  }

  private func ended(_ number: Int) {
    let request = state.withLock { state -> Request? in
      guard state.worker?.number == number else { return nil }
      state.worker = nil
      return state.request.take()
    }
    request?.continuation.resume(
      throwing: RedisError(.connectionLost, "the connection for the log has ended"))
  }

  /// Waits for the next request; `nil` when this worker is over.
  private func next(_ number: Int) async -> Request? {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let result: Request?? = state.withLock { state in
          if state.worker?.number != number || state.isStopped || Task.isCancelled { return .some(nil) }
          if let request = state.request.take() { return .some(request) }
          state.waiting = (continuation, number)
          return nil
        }
        if let result { continuation.resume(returning: result) }
      }
    } onCancel: {
      // A worker that begins late must not end the wait of its successor.
      state.withLock { state in state.waiting?.number == number ? state.waiting.take() : nil }?
        .continuation.resume(returning: nil)
    }
  }

  func stop() {
    let (worker, waiting, request) = state.withLock { state in
      state.isStopped = true
      return (state.worker.take(), state.waiting.take(), state.request.take())
    }
    worker?.task.cancel()
    waiting?.continuation.resume(returning: nil)
    request?.continuation.resume(throwing: RedisError(.closed, "the shared tier was closed"))
  }
}
