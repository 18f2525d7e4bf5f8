// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes

/// An exchange with the origin on the event loop or in the task of the client, without a task of its own.
///
/// The caller sends ``forwarded``, and passes the response to ``finish(_:)``. If the response has arrived in one piece, it is
/// judged, stored and returned there: most misses, requests that are passed on, and validations end so. A longer content,
/// or a disk that must be written, takes a task: it is that of a fetch, as for every other request. A request that equal
/// ones may join has a fetch from the beginning.
extension SentRequest {
  /// How a request is sent without a task.
  struct Direct: Sendable {
    /// The fetch that equal requests may join; `nil` if none can, and after the response has arrived.
    var fetch: Fetch?
    var client = Client.gone
  }

  /// The client of a request that is sent without a task.
  enum Client: Sendable {
    /// It has left or has its response, or a task answers it.
    case gone
    /// No other request can join.
    case alone(any Cancellable)
    case shares(Fetch.Claim)
  }

  /// What the response leads to.
  package enum Ending: Sendable {
    case answer(CachedResponse)
    /// The answer takes more: wait for ``SentRequest/response()``.
    case pending
    /// The client has left.
    case done
  }

  /// The request to send, without its content.
  package var forwarded: HTTPRequest { forwarding.request }

  /// Whether the client has left.
  package var isLeft: Bool { direct.withLock { if case .gone = $0.client { true } else { false } } }

  /// Ends the exchange with the response, or with the transport's error. It may be called on any thread.
  package func finish(_ result: Result<TransportResponse, any Error>) -> Ending {
    let joined = direct.withLock { $0.fetch.take() }
    // No caller wants the response, which may be that of a cancelled handler. An unsafe request removes what it has changed all
    // the same.
    let changesNothing = if case .failure = result { true } else { Invalidation.isSafe(request.method) }
    if isLeft, joined?.isAbandoned ?? true, changesNothing {
      joined?.finish(.abandoned)
      return .done
    }
    var exchange: OriginExchange?
    if case .success(let response) = result, response.head.status.kind != .informational {
      let arrived = OriginExchange(response, to: self, for: joined)
      if let answer = arrived.answerAtOnce() {
        joined?.finish(.abandoned)
        if case .gone = takeClient() { return .done }
        return .answer(answer)
      }
      exchange = arrived
    }
    guard let (fetch, claim) = joined.map({ ($0, nil) }) ?? begunFetch() else { return .done }
    let executor = cache.executor(for: call)
    if let exchange {
      exchange.fetch = fetch
      // Only the task uses it from here on.
      nonisolated(unsafe) let handedOver = exchange
      fetch.run(on: executor) {
        await $0.goOn(with: handedOver)
        withExtendedLifetime(claim) {}
      }
    } else {
      fetch.run(on: executor) { [self] in
        await $0.send(self, first: result)
        withExtendedLifetime(claim) {}
      }
    }
    return isLeft ? .done : .pending
  }

  /// Begins the fetch of a request that had none. If the client has left, it returns the claim of the task for an unsafe
  /// request, which removes what it has changed, and `nil` for others.
  private func begunFetch() -> (Fetch, claim: Fetch.Claim?)? {
    direct.withLock { direct in
      if case .alone = direct.client {
        let claim = Fetch.make(in: cache.fetches)
        direct.client = .shares(claim)
        return (claim.fetch, nil)
      }
      guard !Invalidation.isSafe(request.method) else { return nil }
      let claim = Fetch.make(hasLeader: false, in: cache.fetches)
      return (claim.fetch, claim)
    }
  }

  /// Waits for the answer, if ``finish(_:)`` did not have it.
  package func response() async throws -> CachedResponse {
    defer { leave() }
    guard case .shares(let claim) = direct.withLock({ $0.client }) else { throw CancellationError() }
    return try await claim.fetch.response()
  }

  /// The client has left. Requests that have joined keep the exchange.
  package func leave() {
    if case .alone(let work) = takeClient() { work.cancel() }
  }

  /// The claim is released outside the lock: the last one cancels the work.
  private func takeClient() -> Client {
    let client = direct.withLock { direct in
      defer { direct.client = .gone }
      return direct.client
    }
    if case .shares(let claim) = client { claim.fetch.leaderLeft() }
    return client
  }
}

extension HTTPCache {
  /// Begins the exchange of a pending request without a task, if the request does not wait before it is sent; otherwise returns
  /// `nil`, and the pending request, which has joined nothing, continues as it is.
  ///
  /// - Parameters:
  ///   - content: the content of the request.
  ///   - work: cancelled if no caller wants the response any more. ``SentRequest/finish(_:)`` must be called all the same.
  ///   - interim: gets the interim (1xx) responses, if there are any.
  ///   - executor: runs what takes more, in a cache without a disk; `nil` for Swift's own.
  ///   - origin: set if a handler in this process is the origin.
  ///   - transport: sends a further request, if it takes one.
  package func exchange(
    for begun: PendingRequest, body content: MessageBody = .empty, work: any Cancellable,
    interim: InterimReceiver? = nil, on executor: (any TaskExecutor)? = nil, from origin: LocalOrigin? = nil,
    transport: @escaping Transport
  ) -> SentRequest? {
    // A span of the tracer belongs to a task.
    guard configuration.tracer == nil else { return nil }
    // A copy: the caller's would keep the claim for as long as it exists.
    var pending = begun
    if case .join(let demand) = pending.action { pending.join(demand, in: self) }
    guard case .send(let demand, let claim, let collapsing, nil) = pending.action else { return nil }
    let call = Call(
      request: pending.request, body: content, policy: pending.policy, interim: interim, transport: transport,
      ruled: pending.ruled, executor: executor, localOrigin: origin, begun: pending.begun)
    claim?.fetch.run(work)
    let sent = SentRequest(
      call, demand.forwarding, pending.lookup, collapsing,
      SentRequest.Direct(fetch: claim?.fetch, client: claim.map { .shares($0) } ?? .alone(work)), in: self)
    sent.note(.forwarded, sent.forwarding.reason)
    return sent
  }

  /// The executor of a fetch: threads that may block, if the cache has a disk; `nil` for Swift's own.
  func executor(for call: Call) -> (any TaskExecutor)? {
    store.hasDisk ? BlockingExecutor.shared : call.executor
  }
}
