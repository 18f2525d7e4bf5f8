// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes

/// An exchange with the origin on the event loop of the client, without a task.
///
/// The caller sends ``request``, and passes the response to ``finish(_:)``. If the response has arrived in one piece, it is
/// judged, stored and returned there: most misses, requests that are passed on, and validations end so. A longer content,
/// or a disk that must be written, takes a task: the fetch then goes on as every other. Equal requests may join the fetch
/// meanwhile.
package final class DirectExchange: Sendable, Equatable {
  /// What the response leads to.
  package enum Result: Sendable {
    case answer(CachedResponse)
    /// The answer takes more: wait for ``response()``.
    case pending
    /// The client has left.
    case done
  }

  private let sent: SentRequest
  private let fetch: Fetch
  private let time: SendingTime
  private let state: Mutex<State>

  private struct State {
    /// Until the client leaves.
    var claim: Fetch.Claim?
    var isFinished = false
  }

  fileprivate init(_ sent: SentRequest, _ claim: Fetch.Claim, _ work: any Cancellable) {
    (self.sent, fetch) = (sent, claim.fetch)
    state = Mutex(State(claim: claim))
    sent.note(.forwarded, sent.forwarding.reason)
    time = SendingTime(sent)
    fetch.run(work)
  }

  deinit {
    // The event loop is gone before it could call `finish(_:)`: requests that have joined must not wait.
    if !state.withLock({ $0.isFinished }) { fetch.finish(.abandoned) }
  }

  package static func == (one: DirectExchange, other: DirectExchange) -> Bool { one === other }

  /// The request to send, which has no content.
  package var request: HTTPRequest { sent.forwarding.request }

  /// Whether the client has left.
  package var isLeft: Bool { state.withLock { $0.claim == nil } }

  /// Ends the exchange with the response, or with the transport's error. It may be called on any thread.
  package func finish(_ result: Swift.Result<TransportResponse, any Error>) -> Result {
    state.withLock { $0.isFinished = true }
    if case .success(let response) = result, response.head.status.kind != .informational {
      let exchange = OriginExchange(response, to: sent, at: time, for: fetch)
      if exchange.answerAtOnce() {
        let answer = fetch.takeAnswer()
        fetch.finish(.abandoned)
        leave()
        return answer.map { .answer($0) } ?? .done
      }
      // Only the task uses it from here on.
      nonisolated(unsafe) let handedOver = exchange
      fetch.run(on: executor) { await $0.goOn(with: handedOver) }
    } else {
      fetch.run(on: executor) { [sent, time] in await $0.send(sent, at: time, first: result) }
    }
    return isLeft ? .done : .pending
  }

  private var executor: (any TaskExecutor)? { sent.cache.executor(for: sent.call) }

  /// Waits for the answer, if ``finish(_:)`` did not have it.
  package func response() async throws -> CachedResponse {
    defer { leave() }
    return try await fetch.response()
  }

  /// The client has left. Requests that have joined keep the exchange.
  package func leave() {
    fetch.leaderLeft()
    // Released outside the lock: the last claim cancels the work.
    let claim = state.withLock { $0.claim.take() }
    withExtendedLifetime(claim) {}
  }
}

extension HTTPCache {
  /// Begins the exchange of a pending request without a task, if the request does not wait before it is sent; otherwise returns
  /// `nil`, and the pending request continues as it is.
  ///
  /// - Parameters:
  ///   - work: cancelled if no caller wants the response any more. ``DirectExchange/finish(_:)`` must be called all the same.
  ///   - interim: gets the interim (1xx) responses, if there are any.
  ///   - executor: runs what takes more, in a cache without a disk.
  ///   - transport: sends a further request, if it takes one.
  package func exchange(
    for pending: inout PendingRequest, work: any Cancellable, interim: InterimReceiver?,
    on executor: any TaskExecutor, transport: @escaping Transport
  ) -> DirectExchange? {
    // A span of the tracer belongs to a task.
    guard configuration.tracer == nil else { return nil }
    if case .join(let demand) = pending.action { pending.join(demand, in: self) }
    guard case .send(let demand, let claim, let collapsing, nil) = pending.action else { return nil }
    let call = Call(
      request: pending.request, body: .empty, policy: pending.policy, interim: interim, transport: transport,
      executor: executor, begun: pending.begun)
    return DirectExchange(
      SentRequest(call, demand.forwarding, pending.lookup, collapsing, in: self),
      claim ?? Fetch.make(in: fetches), work)
  }

  /// The executor of a fetch: threads that may block, if the cache has a disk; `nil` for Swift's own.
  func executor(for call: Call) -> (any TaskExecutor)? {
    store.hasDisk ? BlockingExecutor.shared : call.executor
  }
}
