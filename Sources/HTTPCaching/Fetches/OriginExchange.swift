// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes

/// One exchange with the origin: a request, the response as it arrives, and what the engine decided about it.
///
/// It belongs to the task of the fetch, and is a class for the same reason as ``RequestRun``.
final class OriginExchange {
  let sent: SentRequest
  let fetch: Fetch
  let exchange: CacheEngine.Exchange
  var outcome: CacheEngine.Outcome
  /// The key that the response is stored under.
  var place: StoreKey?
  /// The number of bytes received from the network.
  var received = 0
  /// The sizes that kept the response from being stored, if a known length did.
  var refusal: InsertRefusal?
  /// Records whether the response was stored; `nil` if it is not being stored.
  var settlement: Settlement?
  /// The memory reserved for its content in flight, in bytes.
  var reserved = 0
  /// Whether the content has room until it is stored. Without it, the content of a slow reader may be dropped for a faster
  /// one, so others fetch their own.
  var hasRoom = true

  init(
    _ sent: SentRequest, _ exchange: CacheEngine.Exchange, _ outcome: CacheEngine.Outcome, for fetch: Fetch
  ) {
    (self.sent, self.exchange, self.outcome, self.fetch) = (sent, exchange, outcome, fetch)
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

  /// Returns the length of all content to store, if known: the stored content around the network's is added to the
  /// length that the transport announces.
  func length(of response: TransportResponse) -> Int? {
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

extension Fetch {
  /// Sends a request to the origin, and applies the engine's outcome to the response. Runs in the task of the fetch.
  func send(_ sent: SentRequest) async {
    let (cache, key) = (sent.cache, sent.lookup.key)
    sent.note(.forwarded, sent.forwarding.reason)
    let requestTime = cache.clock.now
    let response: TransportResponse
    do {
      let step: TracedStep = sent.isInBackground ? .revalidation : .fetch
      response = try await cache.configuration.traced(step, of: sent.forwarding.request) { span in
        if let span { self.span = span.context }
        let response = try await sent.send()
        span?.record(response.head.status)
        return response
      }
    } catch is TransportAbandoned {
      return
    } catch {
      finish(.failed(error))
      let outcome = sent.outcome(of: error, requestTime: requestTime)
      if let response = await cache.answers.respond(toFailure: outcome, sent) {
        deliver(.success(response))
      } else {
        deliver(.failure(TransportFault.cause(of: error).error))
      }
      return
    }
    let exchange = sent.exchange(
      .response(response.head), length: response.body.length, requestTime: requestTime)
    let outcome = cache.engine.outcome(of: exchange)
    let isOwnInvalidation =
      !outcome.invalidations.isEmpty
      && !cache.responses.isRemoved(key, outcome.scopes(under: key), since: sent.tokens.key)
    let isUpdated = sent.apply(outcome, under: lease)
    // The response to a POST may replace what the POST invalidates (RFC 9110 §9.3.3), but not what others have
    // invalidated since.
    let sent = isOwnInvalidation ? sent.with() : sent
    switch outcome.answer {
    case .forwardAgain(let forwarding): await send(sent.with(forwarding: forwarding))
    case .stored(let answer):
      let body = cache.answers.content(of: answer, sent)
      guard await body.canBegin() else { return await sendAgain(sent) }
      let status = response.head.status.code
      cache.fetches.note(
        answer.response.isReusable(after: exchange.times), nil, of: key, sent.forwarding, status: status)
      finish(.stored(status: status, at: exchange.times))
      deliver(
        .success(
          cache.answers.respond(
            with: answer, body, outcome, sent, forwardStatus: status, isUpdated: isUpdated)))
    case .generated(let refusal):
      finish(.notShared)
      deliver(.success(cache.answers.generate(refusal, sent, status: response.head.status.code)))
    case .network, .completed, .failure:
      let arrival = OriginExchange(sent, exchange, outcome, for: self)
      guard await arrival.canBegin() else { return await sendAgain(sent) }
      await arrival.passOn(response)
    }
  }

  /// Fetches the complete response, because the stored response that would have answered turned out to be damaged.
  private func sendAgain(_ sent: SentRequest) async {
    var lookup = sent.lookup
    (lookup.entries, lookup.responses) = ([], [])
    let plan = sent.cache.engine.plan(
      for: sent.request, policy: sent.forwarding.policy, candidates: [], now: sent.cache.clock.now)
    switch plan {
    case .forward(let forwarding): await send(sent.with(forwarding: forwarding, lookup: lookup))
    case .serve, .fail:
      // It was forwarded with stored responses, so it can be sent without them.
      deliver(.failure(HTTPCacheError.notCached(plan.reason)))
    }
  }
}

extension CacheEngine.Outcome {
  /// Returns the scopes of the response that will be stored.
  func scopes(under key: CacheKey?) -> [StoreScope] {
    guard case .store(let stored, _) = storage, let key else { return [] }
    return stored.scopes(under: key).map { StoreScope($0) }
  }
}
