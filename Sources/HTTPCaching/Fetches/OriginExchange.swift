// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes

/// One exchange with the origin: a request, the response as it arrives, and what the engine decided about it.
///
/// It belongs to the task of the fetch, and is a class for the same reason as ``RequestRun``. What does not wait is in
/// functions that are neither async nor inlined: an async function keeps room for all that it handles, and the frames of a
/// miss had 17 KB. Now they have 8 KB.
final class OriginExchange {
  private(set) var sent: SentRequest
  /// The fetch that the response is for; `nil` as long as the request has no task, and no other can join it.
  var fetch: Fetch?
  let response: TransportResponse
  let exchange: CacheEngine.Exchange
  var outcome: CacheEngine.Outcome
  /// Whether a stored response was updated.
  private var isUpdated = false
  /// The client's response, while it is being stored.
  var answer: CachedResponse?
  /// The key that the response is stored under.
  var place: StoreKey?
  /// The number of bytes received from the network.
  var received = 0
  /// Why the store has no place for the response: because of its known length, or of what has arrived of its content.
  var refused: Refused?
  /// The response as it was to be stored.
  var replacement: StoredResponse?
  /// Records whether the response was stored; `nil` if it is not being stored.
  var settlement: Settlement?
  /// The memory reserved for its content in flight, in bytes.
  var reserved = 0
  /// Whether the content has room until it is stored. Without it, the content of a slow reader may be dropped for a faster
  /// one, so others fetch their own.
  var hasRoom = true

  /// Decides about a response whose head has arrived.
  @inline(never)
  init(_ response: TransportResponse, to sent: SentRequest, for fetch: Fetch?) {
    sent.note(.received, sent.forwarding.reason, since: sent.sendingBegun)
    var response = response
    if let ruled = sent.call.ruled {
      response.head = ruled.engine.ruled(
        response.head, length: response.body.length.map { Int64($0) },
        validated: sent.forwarding.selected.map { sent.lookup.responses[$0] })
    }
    exchange = sent.exchange(.response(response.head), length: response.body.length)
    outcome = sent.cache.outcome(of: exchange, by: sent.call.ruled)
    (self.response, self.fetch, self.sent) = (response, fetch, sent)
  }

  /// Changes the stored responses as the outcome requires.
  @inline(never)
  private func apply() {
    let key = sent.lookup.key
    let isOwnInvalidation =
      !outcome.invalidations.isEmpty
      && !cache.responses.isRemoved(key, outcome.scopes(under: key), since: sent.tokens.key)
    var changes = outcome
    // See `removeSuperseded()`.
    if case .network = outcome.answer { changes.removals = [] }
    isUpdated = sent.apply(changes, under: fetch?.lease)
    // The response to a POST may replace what the POST invalidates (RFC 9110 §9.3.3), but not what others have
    // invalidated since.
    if isOwnInvalidation { sent = sent.with() }
  }

  var cache: HTTPCache { sent.cache }

  /// Whether requests that have waited for the response can use it without a revalidation.
  var isReusable: Bool {
    guard case .store(let stored, _) = outcome.storage else { return false }
    return stored.isReusable(after: exchange.times)
  }

  /// Whether the answer has stored content before or after the network's.
  var isCompleted: Bool { if case .completed = outcome.answer { true } else { false } }

  /// The number of bytes that must come from the network, if known. It is the length of the expected part, or the
  /// Content-Length of a response with content (RFC 9112 §8).
  var expected: Int? {
    if let assembly = outcome.assembly { return assembly.received.count }
    guard case .store(let stored, _) = outcome.storage else { return nil }
    return stored.value(of: .contentLength).flatMap { Int($0) }
  }

  /// The length of all content to store, if known: the stored content around the network's is added to the length that the
  /// transport announces.
  var length: Int? {
    let around = outcome.assembly.map { Int($0.count) - $0.received.count } ?? 0
    return response.body.length.map { $0.addingReportingOverflow(around).partialValue }
  }

  private func stored(_ range: Range<Int64>?) -> MessageBody.Piece {
    guard let range, let candidate = outcome.assembly?.candidate else { return .bytes([]) }
    return MessageBody.Piece(sent.lookup.entries[candidate].body, range)
  }

  /// The stored content before the received content.
  var before: MessageBody.Piece { stored(outcome.assembly?.before) }
  /// The stored content after the received content.
  var after: MessageBody.Piece { stored(outcome.assembly?.after(Int64(received))) }
  /// The number of bytes to store: the received ones, and the stored ones around them.
  var storedCount: Int { received + before.count + after.count }
}

/// What the client gets.
extension OriginExchange {
  /// Answers the leader.
  ///
  /// - Returns: the request to send instead, if this response is of no use.
  func answerLeader() async -> SentRequest? {
    apply()
    // The client must not meet what it has invalidated in the process that takes the place of this one.
    if outcome.removes, cache.removalPeers.isPresent { await cache.removalPeers.haveApplied() }
    if case .forwardAgain(let forwarding) = outcome.answer { return sent.with(forwarding: forwarding) }
    let stored = storedContent
    if !stored.canBeginAtOnce, !(await stored.canBegin()) { return withoutStored }
    if let answer = answerWithoutNetwork(stored) {
      fetch?.deliver(.success(answer))
    } else {
      await passOn()
    }
    return nil
  }

  /// Returns the leader's answer if nothing has to be waited for; otherwise does nothing, and ``answerLeader()`` answers.
  func answerAtOnce() -> CachedResponse? {
    guard response.body.isInMemory || staysWithCaller, outcome.assembly == nil,
      !(cache.store.hasDisk && outcome.changesStore), !(cache.removalPeers.isPresent && outcome.removes)
    else { return nil }
    if case .forwardAgain = outcome.answer { return nil }
    // A part may have to be combined with what others have stored meanwhile.
    if case .store(let stored, _) = outcome.storage, stored.parts != nil { return nil }
    let stored = storedContent
    guard stored.canBeginAtOnce else { return nil }
    apply()
    return answerWithoutNetwork(stored) ?? passedOnAtOnce()
  }

  /// Whether the content is the caller's own, because a handler of this process made it and it is not stored.
  private var staysWithCaller: Bool {
    if case .store = outcome.storage { false } else { sent.call.localOrigin != nil && !isCompleted }
  }

  /// The stored content that the answer begins with.
  @inline(never)
  private var storedContent: MessageBody {
    switch outcome.answer {
    case .stored(let answer): cache.answers.content(of: answer, sent)
    case .completed: MessageBody([before])
    case .network, .forwardAgain, .generated, .failure: .empty
    }
  }

  /// The request for the complete response, because the stored response that would have answered turned out to be damaged.
  @inline(never)
  private var withoutStored: SentRequest? {
    var lookup = sent.lookup
    (lookup.entries, lookup.responses) = ([], [])
    let plan = cache.plan(
      for: sent.request, by: sent.call.ruled, policy: sent.forwarding.policy, candidates: [],
      now: cache.clock.now)
    switch plan {
    case .forward(let forwarding): return sent.with(forwarding: forwarding, lookup: lookup)
    case .serve, .fail:
      // It was forwarded with stored responses, so it can be sent without them.
      fetch?.deliver(.failure(HTTPCacheError.notCached(plan.reason)))
      return nil
    }
  }

  /// Returns a stored or a generated response, if the outcome says so.
  @inline(never)
  private func answerWithoutNetwork(_ content: MessageBody) -> CachedResponse? {
    let status = response.head.status.code
    switch outcome.answer {
    case .stored(let answer):
      cache.fetches.note(
        answer.response.isReusable(after: exchange.times), of: sent.lookup.key, sent.forwarding,
        status: status)
      fetch?.finish(.stored(status: status, at: exchange.times))
      return cache.answers.respond(
        with: answer, content, outcome, sent, forwardStatus: status, isUpdated: isUpdated)
    case .generated(let refusal):
      fetch?.finish(.notShared)
      return cache.answers.generate(refusal, sent, status: status)
    case .network, .completed, .forwardAgain, .failure: return nil
    }
  }
}

extension Fetch {
  /// Sends a request to the origin, and applies the engine's outcome to the response. Runs in the task of the fetch.
  func send(_ sent: SentRequest) async {
    var next: SentRequest? = sent
    while let sent = next {
      next = nil
      sent.note(.forwarded, sent.forwarding.reason)
      next = await exchange(sent, first: nil)
    }
  }

  /// Does the same with a request whose first response is there, or has failed to come.
  func send(_ sent: SentRequest, first: Result<TransportResponse, any Error>) async {
    guard let next = await exchange(sent, first: first) else { return }
    await send(next)
  }

  /// Does the same with an exchange that is decided about.
  func goOn(with exchange: OriginExchange) async {
    guard let next = await exchange.answerLeader() else { return }
    await send(next)
  }

  /// - Returns: the request to send instead, if the response is of no use.
  private func exchange(
    _ sent: SentRequest, first: Result<TransportResponse, any Error>?
  ) async -> SentRequest? {
    let exchange: OriginExchange
    do {
      exchange = OriginExchange(try await response(to: sent, first), to: sent, for: self)
    } catch is TransportAbandoned {
      return nil
    } catch {
      await fail(error, sent)
      return nil
    }
    return await exchange.answerLeader()
  }

  @inline(never)
  private func response(
    to sent: SentRequest, _ first: Result<TransportResponse, any Error>?
  ) async throws -> TransportResponse {
    if let first { return try await sent.final(first.get()) }
    guard sent.cache.configuration.tracer != nil else { return try await sent.send() }
    let step: TracedStep = sent.isInBackground ? .revalidation : .fetch
    return try await sent.cache.configuration.traced(step, of: sent.forwarding.request) { span in
      if let span { self.span = span.context }
      let response = try await sent.send()
      span?.record(response.head.status)
      return response
    }
  }

  /// Ends the fetch after the transport has failed: a stored response may answer the leader.
  @inline(never)
  private func fail(_ error: any Error, _ sent: SentRequest) async {
    finish(.failed(error))
    let outcome = sent.outcome(of: error)
    if let response = await sent.cache.answers.respond(toFailure: outcome, sent) {
      deliver(.success(response))
    } else {
      deliver(.failure(TransportFault.cause(of: error).error))
    }
  }
}

extension CacheEngine.Outcome {
  /// Whether stored responses change, or another is added.
  fileprivate var changesStore: Bool {
    if case .store = storage { return true }
    return !updates.isEmpty || removes
  }

  /// Whether stored responses are removed.
  fileprivate var removes: Bool {
    !removals.isEmpty || !invalidations.isEmpty || !invalidatedScopes.isEmpty
  }

  /// Returns the scopes of the response that will be stored.
  func scopes(under key: CacheKey?) -> [StoreScope] {
    guard case .store(let stored, _) = storage, let key else { return [] }
    return stored.scopes(under: key).map { StoreScope($0) }
  }
}
