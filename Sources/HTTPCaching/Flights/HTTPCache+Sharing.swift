import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes

/// Reading a response while it is being written.
extension HTTPCache {
  /// What followers can read of a response that is being stored whole; `nil` for one that they could not use.
  func transfer(
    of outcome: Outcome, _ response: TransportResponse, _ pending: PendingExchange, into writer: EntryWriter?
  ) -> SharedTransfer? {
    guard case .store(let stored, _) = outcome.storage, stored.parts == nil, outcome.assembly == nil,
      pending.forwarding.original.method != .head, stored.isReusable(at: clock.now)
    else { return nil }
    return SharedTransfer(
      stored, status: response.head.status.code, length: response.body.length, writer: writer)
  }

  /// What another's response that is on its way is to a follower.
  enum Reading {
    case answer(CachedResponse)
    /// It will be an answer when it is stored: to a range, or where its beginning is no longer at hand.
    case later
    /// The rules do not have it for this request, now or later: whoever waited for its end would wait in vain.
    case notForThis
  }

  /// Answers a follower with another's response that is on its way, if the rules have it for this request.
  func read(_ transfer: SharedTransfer, of flight: Flight, _ pending: PendingExchange) -> Reading {
    let forwarding = pending.forwarding
    let request = forwarding.original
    // RFC 9111 §4: it is for this request as it would be if it were stored.
    let plan = engine.plan(
      for: request, policy: forwarding.policy, candidates: [transfer.response], now: clock.now)
    guard case .serve(let service) = plan, !isMarked(transfer, since: flight.start, pending) else {
      return .notForThis
    }
    guard service.content == .whole || service.content == .notModified, service.revalidation == nil else {
      return .later
    }
    var body = MessageBody.empty
    if request.method != .head, service.content == .whole {
      let channel = BodyChannel(
        keeps: transfer.keeps,
        rest: { [self] offset in rest(of: transfer, flight, pending, from: offset) },
        onAbandon: { flight.leave() })
      guard transfer.join(channel) else { return .later }
      body = MessageBody(.stream(BodyReader(channel)), length: transfer.length)
    } else {
      flight.leave()
    }
    note(
      .served, request, service.reason, source: service.isStale ? .stale : .hit, byteCount: body.length,
      partition: pending.lookup.partition)
    return .answer(
      CachedResponse(
        head: transfer.response.response(service.content, age: service.age, boundary: boundary), body: body,
        source: service.isStale ? .stale : .hit, reason: service.reason,
        cacheStatus: CacheStatus(
          cache: configuration.name, isHit: false, forward: forwarding.reason.forward,
          forwardStatus: transfer.status,
          timeToLive: service.remainingLifetime, isStored: true, isCollapsed: true,
          key: shownKey(pending.lookup.key), detail: service.reason)))
  }

  /// Whether a group that the response belongs to was invalidated after the origin was asked, and perhaps before this
  /// request was made. (Of the key itself that was asked when the flight was joined: what it belongs to was not known
  /// then.)
  private func isMarked(
    _ transfer: SharedTransfer, since start: RemovalToken?, _ pending: PendingExchange
  ) -> Bool {
    guard let start, let key = pending.lookup.key else { return false }
    return store.mayBeMarked(transfer.response.scopes(under: key).map { StoreScope($0) }, since: start)
  }

  /// The content of a transfer from a byte on, for a reader that is behind: what the store has of it so far, what it gets
  /// while that is read, and in the end the entry.
  func rest(
    of transfer: SharedTransfer, _ flight: Flight, _ pending: PendingExchange, from offset: Int
  ) -> MessageBody {
    MessageBody(
      GrowingContent(transfer: transfer, start: offset) { [self] offset in
        try await storedRest(of: transfer, flight, pending, from: offset)
      })
  }

  /// The content of a transfer from a byte on, once it is an entry.
  ///
  /// - Throws: ``HTTPCacheError/incompleteContent`` if it could not be stored, or has been replaced meanwhile.
  private func storedRest(
    of transfer: SharedTransfer, _ flight: Flight, _ pending: PendingExchange, from offset: Int
  ) async throws -> MessageBody {
    switch await flight.follow() {
    case .cancelled: throw CancellationError()
    case .failed(let error): throw error
    case .notShared, .shared: throw HTTPCacheError.incompleteContent
    case .stored: break
    }
    guard let id = transfer.entry else { throw HTTPCacheError.incompleteContent }
    let lookup = await lookUp(
      pending.forwarding.original, content: pending.body, pending.lookup.partition)
    guard let entry = lookup.candidates.entries.first(where: { $0.id == id }), offset <= entry.bodyCount
    else {
      throw HTTPCacheError.incompleteContent
    }
    return MessageBody([MessageBody.Piece(entry.body, Int64(offset)..<Int64(entry.bodyCount))])
  }
}
