// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCaching
import HTTPTypes

/// Where the fetches of the cache ask the task of a request to run its handler.
///
/// A fetch asks with ``run(_:_:)`` and waits for the reply. The request's task takes each ask with ``next()``. After
/// ``close()``, every ask fails with `TransportAbandoned`, so that a request that waits for the fetch leads another.
final class HandlerDesk: Sendable {
  /// A request that a fetch waits for.
  struct Ask: Sendable {
    let head: HTTPRequest
    /// The content, if it is in memory; otherwise the handler reads that of the client's request.
    let content: MessageBody
    /// The context in which the fetch is recorded; `nil` if it is not.
    let traced: (any Sendable)?
    fileprivate let ticket: Ticket

    /// Gives the fetch its response, unless it was cancelled.
    func reply(_ result: Result<TransportResponse, any Error>) { ticket.reply(result) }
  }

  /// The place where one reply arrives.
  fileprivate final class Ticket: Sendable {
    private enum State {
      case open
      case waiting(CheckedContinuation<TransportResponse, any Error>)
      case replied(Result<TransportResponse, any Error>)
      case over
    }

    private let state = Mutex(State.open)

    func reply(_ result: Result<TransportResponse, any Error>) {
      let waiting: CheckedContinuation<TransportResponse, any Error>? = state.withLock { state in
        switch state {
        case .open: state = .replied(result)
        case .waiting(let continuation):
          state = .over
          return continuation
        case .replied, .over: break
        }
        return nil
      }
      waiting?.resume(with: result)
    }

    func response() async throws -> TransportResponse {
      try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { continuation in
          let result: Result<TransportResponse, any Error>? = state.withLock { state in
            switch state {
            case .open:
              state = .waiting(continuation)
              return nil
            case .replied(let result):
              state = .over
              return result
            case .waiting, .over: return .failure(CancellationError())
            }
          }
          if let result { continuation.resume(with: result) }
        }
      } onCancel: {
        reply(.failure(CancellationError()))
      }
    }
  }

  private struct State {
    var asks: [Ask] = []
    var server: CheckedContinuation<Ask?, Never>?
    var isClosed = false
  }

  private let state = Mutex(State())

  /// Asks for a run of the handler, and waits for its response.
  ///
  /// - Parameter traced: the context in which the fetch is recorded.
  /// - Throws: `TransportAbandoned` if the request's task is over; `CancellationError`.
  func run(
    _ head: HTTPRequest, _ content: MessageBody, traced: (any Sendable)?
  ) async throws -> TransportResponse {
    let ask = Ask(head: head, content: content, traced: traced, ticket: Ticket())
    let (isClosed, server) = state.withLock { state in
      if state.isClosed { return (true, nil as CheckedContinuation<Ask?, Never>?) }
      defer { state.server = nil }
      if state.server == nil { state.asks.append(ask) }
      return (false, state.server)
    }
    if isClosed { throw TransportAbandoned() }
    server?.resume(returning: ask)
    return try await ask.ticket.response()
  }

  /// Returns the next ask, or `nil` after ``close()``. Only the request's task may call it.
  func next() async -> Ask? {
    await withCheckedContinuation { continuation in
      let (isReady, ask) = state.withLock { state in
        if !state.asks.isEmpty { return (true, state.asks.removeFirst() as Ask?) }
        if state.isClosed { return (true, nil) }
        state.server = continuation
        return (false, nil)
      }
      if isReady { continuation.resume(returning: ask) }
    }
  }

  /// Refuses the asks that are not served yet, and all later ones.
  func close() {
    let (asks, server) = state.withLock { state in
      state.isClosed = true
      defer { (state.asks, state.server) = ([], nil) }
      return (state.asks, state.server)
    }
    for ask in asks { ask.reply(.failure(TransportAbandoned())) }
    server?.resume(returning: nil)
  }
}
