// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes

extension HTTPCache {
  /// Answers a request from the store if the rules and the policy allow it, and otherwise from the origin.
  ///
  /// - Parameters:
  ///   - request: the request; its target URI and fields select the stored response.
  ///   - content: the request's content, for methods that have some.
  ///   - policy: what the request allows the cache to do.
  ///   - partition: separates the responses of one account or site from those of another (default: the
  ///     configuration's).
  ///   - interim: gets the interim (1xx) responses to this request as they arrive. They are not stored: a request that
  ///     is answered from the store, or coalesced with another, gets none.
  ///   - willStore: called before a response to this request is stored; it may change or refuse what is stored.
  ///   - lifetime: sets the freshness lifetime of the origin's response, in place of the origin.
  ///   - transport: sends a request to the origin; called once for all concurrent requests that can share the response.
  /// - Throws: ``HTTPCacheError`` (``HTTPCacheError/Code-swift.struct/notCached``) if the policy forbids the network
  ///   and no stored response can answer; the transport's error if no stored response may be used instead.
  public func respond(
    to request: HTTPRequest, body content: MessageBody = .empty,
    policy: RequestCachePolicy = .useProtocolCachePolicy, partition: String? = nil,
    interim: InterimReceiver? = nil, willStore: StorageHook? = nil, lifetime: LifetimeRule? = nil,
    transport: @escaping Transport
  ) async throws -> CachedResponse {
    try await answer(
      Call(
        request: request, body: content, policy: policy, interim: interim, willStore: willStore,
        lifetime: lifetime, transport: transport), partition)
  }

  /// Does the same for a request that ``begin(_:policy:partition:)`` could not answer at once. The request has no content.
  ///
  /// - Parameters:
  ///   - pending: the request that has begun.
  ///   - interim: gets the interim (1xx) responses to this request as they arrive.
  ///   - willStore: called before a response to this request is stored.
  ///   - lifetime: sets the freshness lifetime of the origin's response.
  ///   - transport: sends a request to the origin.
  /// - Returns: the response, as ``respond(to:body:policy:partition:interim:willStore:lifetime:transport:)`` does.
  /// - Throws: as that method.
  public func respond(
    to pending: PendingRequest, interim: InterimReceiver? = nil, willStore: StorageHook? = nil,
    lifetime: LifetimeRule? = nil, transport: @escaping Transport
  ) async throws -> CachedResponse {
    let call = Call(
      request: pending.request, body: .empty, policy: pending.policy, interim: interim, willStore: willStore,
      lifetime: lifetime, transport: transport)
    return try await answer(call, nil, begun: pending)
  }

  /// Does the same, and runs the request to the origin on an executor if the cache has no disk.
  ///
  /// A server's event loop can thus do all of a miss on its own thread: each hop to another one takes two system calls
  /// or more.
  ///
  /// - Parameters:
  ///   - pending: the request, if it has begun; it then has no content.
  ///   - executor: runs the fetch, also for requests that are coalesced with this one.
  ///   - withhold: withholds requests from an origin that does not answer.
  package func respond(
    to request: HTTPRequest, begun pending: PendingRequest? = nil, body content: MessageBody,
    policy: RequestCachePolicy, interim: InterimReceiver?, on executor: any TaskExecutor,
    withhold: Withholding? = nil, transport: @escaping Transport
  ) async throws -> CachedResponse {
    let call = Call(
      request: request, body: content, policy: policy, interim: interim, transport: transport,
      executor: executor, withhold: withhold)
    return try await answer(call, nil, begun: pending)
  }

  /// Does the same for a handler in this process, see ``LocalOrigin``.
  ///
  /// - Parameters:
  ///   - pending: the request, if it has begun.
  ///   - handler: runs the handler. If the response ``CachedResponse/isPassedThrough``, its body is empty: the
  ///     caller has the content itself, because the transport returned it.
  package func respond(
    to request: HTTPRequest, begun pending: PendingRequest? = nil, body content: MessageBody,
    partition: String?, from origin: LocalOrigin, handler: @escaping Transport
  ) async throws -> CachedResponse {
    let call = Call(
      request: request, body: content, policy: .useProtocolCachePolicy, transport: handler,
      localOrigin: origin)
    return try await answer(call, partition, begun: pending)
  }

  /// Answers a request of a server from the store if the rules allow it, and otherwise runs the server's handler.
  ///
  /// A handler in this process differs from an origin on the network:
  ///
  /// - A response that declares nothing about caching, by `Cache-Control` or `Expires`, is not stored. Its content does not
  ///   pass through the cache.
  /// - A reload by a client (`no-cache`, `max-age`) is answered from a fresh stored response.
  /// - By the field `HTTPCacheEngine-Cache-Control`, the handler speaks to this cache alone. It replaces `Cache-Control`,
  ///   except in a response with cookies, and clients do not get it.
  /// - A handler that throws counts as a response with 500: a stored response may answer, by its `stale-if-error`.
  ///
  /// - Parameters:
  ///   - request: the request, with `scheme` and `authority`.
  ///   - content: the request's content.
  ///   - partition: separates the responses of one account or site from those of another (default: the configuration's).
  ///   - interim: gets the interim (1xx) responses of the handler.
  ///   - handler: makes the response. It runs once for all concurrent requests that can share the response, and without a
  ///     client for a revalidation in the background.
  /// - Returns: the response, with `Content-Length` if the length is known. In reply to HEAD, send only its head.
  /// - Throws: the handler's error if no stored response may be used instead.
  public func handle(
    _ request: HTTPRequest, body content: MessageBody = .empty, partition: String? = nil,
    interim: InterimReceiver? = nil, handler: @escaping Transport
  ) async throws -> CachedResponse {
    let own = OwnResult()
    let call = Call(
      request: request, body: content, policy: .useProtocolCachePolicy, interim: interim,
      transport: { request, content in await own.result { try await handler(request, content) } },
      localOrigin: LocalOrigin { request, content in
        // Apart from that of the request, which may have ended.
        await OwnResult().result { try await handler(request, content) }
      })
    var response = try await answer(call, partition)
    if response.isPassedThrough { response.body = try own.content() }
    // A head that changes no longer knows the length.
    let length = request.method == .head ? response.storedLength : response.body.length
    if let name = HTTPField.Name(LocalOrigin.target), response.head.headerFields.contains(name) {
      response.head.headerFields[name] = nil
    }
    let status = response.head.status
    if let length, response.head.headerFields[.contentLength] == nil, status != .noContent,
      status != .notModified
    {
      response.head.headerFields[.contentLength] = "\(length)"
    }
    return response
  }

  /// Answers a request whose caller can wait no longer as if the origin had failed: with a stored response, where
  /// `stale-if-error` or the configuration permits it (RFC 5861 §4, RFC 9111 §4.2.4).
  ///
  /// - Throws: `error` if no stored response may be used.
  package func respond(
    toOverdue request: HTTPRequest, policy: RequestCachePolicy, partition: String?, error: any Error
  ) async throws -> CachedResponse {
    let call = Call(request: request, body: .empty, policy: policy, transport: { _, _ in throw error })
    let ruled = currentRules.table?.ruled(request)
    let partition = partition ?? ruled?.partition(of: request) ?? configuration.partition
    var pending = PendingRequest(
      ruled?.rewritten(request) ?? request, policy, by: ruled, Lookup(partition: partition), endCount: 0,
      revalidatesInBackground: true)
    pending.machine = RequestMachine(.overdue)
    pending.action = .lookUp
    return try await answer(call, partition, begun: pending)
  }

  private func answer(
    _ call: Call, _ partition: String?, begun: PendingRequest? = nil
  ) async throws -> CachedResponse {
    guard let tracer = configuration.tracer else { return try await answerUntraced(call, partition, begun) }
    return try await tracer.trace(.answer, of: call.request) { span in
      let response = try await answerUntraced(call, partition, begun)
      span.record(response)
      return response
    }
  }

  private func answerUntraced(
    _ call: Call, _ partition: String?, _ begun: PendingRequest?
  ) async throws -> CachedResponse {
    if let begun { return try await RequestRun(self, call, begun).answer() }
    switch beginning(
      of: call.request, content: call.body, call.policy, partition,
      revalidatesInBackground: call.revalidatesInBackground, isLocal: call.localOrigin != nil)
    {
    case .answer(let response): return response
    case .pending(let pending): return try await RequestRun(self, call, pending).answer()
    }
  }

  // MARK: - Without waiting

  /// The first step of a request without content.
  public enum Beginning: Sendable {
    /// A stored response answers the request.
    case answer(CachedResponse)
    /// The answer takes more: waiting for the disk or for another request, or the origin.
    case pending(PendingRequest)
  }

  /// Answers a request without content if a stored response can answer at once; otherwise it returns what
  /// ``respond(to:interim:willStore:lifetime:transport:)`` continues with. So the request is looked up once.
  ///
  /// ```swift
  /// switch cache.begin(request) {
  /// case .answer(let response): …
  /// case .pending(let pending): Task { try await cache.respond(to: pending, transport: transport) … }
  /// }
  /// ```
  ///
  /// The call never suspends, and never waits for the disk: use it on an event loop. On Linux it also answers from the
  /// disk, if the system's page cache has the response; of content in its own file, the first block is enough. Continue
  /// soon, because a pending request is answered by what was stored when it began. It may be dropped.
  ///
  /// - Parameters:
  ///   - request: the request; its target URI and fields select the stored response.
  ///   - policy: what the request allows the cache to do.
  ///   - partition: see ``respond(to:body:policy:partition:interim:willStore:lifetime:transport:)``.
  public func begin(
    _ request: HTTPRequest, policy: RequestCachePolicy = .useProtocolCachePolicy, partition: String? = nil
  ) -> Beginning {
    begin(request, policy: policy, partition: partition, revalidatesInBackground: true)
  }

  /// - Parameters:
  ///   - content: the content of the request.
  ///   - revalidatesInBackground: whether a stale response may be served while it is revalidated.
  ///   - isLocal: whether the origin is a handler in this process.
  package func begin(
    _ request: HTTPRequest, body content: MessageBody = .empty,
    policy: RequestCachePolicy = .useProtocolCachePolicy, partition: String?, revalidatesInBackground: Bool,
    isLocal: Bool = false
  ) -> Beginning {
    switch beginning(
      of: request, content: content, policy, partition, revalidatesInBackground: revalidatesInBackground,
      isLocal: isLocal)
    {
    case .answer(let response): return .answer(traced(response, request))
    case .pending(let pending):
      // A revalidation in the background needs the transport.
      guard case .serve(let service, _) = pending.action, service.revalidation == nil else {
        return .pending(pending)
      }
      return .answer(serve(service, pending))
    }
  }

  /// Returns the response to a request without content if a stored one can answer at once, without the origin;
  /// otherwise `nil`.
  ///
  /// The call never suspends, and never waits for the disk: use it on an event loop, or to inspect a cache. It returns
  /// `nil` for a QUERY request, and for a response whose use requires a revalidation in the background. Use
  /// ``begin(_:policy:partition:)`` if a request to the origin may follow.
  public func storedResponse(
    for request: HTTPRequest, policy: RequestCachePolicy = .useProtocolCachePolicy, partition: String? = nil
  ) -> CachedResponse? {
    guard !policy.ignoresStored else { return nil }
    switch beginning(of: request, content: .empty, policy, partition, mayForward: false) {
    case .answer(let response): return traced(response, request)
    case .pending(let pending):
      switch pending.action {
      case .serve(let service, _): return service.revalidation == nil ? serve(service, pending) : nil
      default: return nil
      }
    }
  }

  /// Serves the stored response that was chosen without waiting.
  private func serve(_ service: CacheEngine.Service, _ pending: PendingRequest) -> CachedResponse {
    traced(
      answers.serve(service, to: pending.request, pending.lookup, since: pending.begun), pending.request)
  }

  /// Records an answer that was given without waiting.
  private func traced(_ response: CachedResponse, _ request: HTTPRequest) -> CachedResponse {
    configuration.tracer?.traceHit(response, to: request)
    return response
  }

  /// Answers a request with a plain hit, or decides what it does next.
  ///
  /// - Parameter mayForward: whether the request may go to the origin.
  private func beginning(
    of request: HTTPRequest, content: MessageBody, _ policy: RequestCachePolicy, _ partition: String?,
    mayForward: Bool = true, revalidatesInBackground: Bool = true, isLocal: Bool = false
  ) -> Beginning {
    guard let ruled = currentRules.table?.ruled(request) else {
      return beginning(
        of: request, by: nil, content: content, policy, partition ?? configuration.partition,
        mayForward: mayForward, revalidatesInBackground: revalidatesInBackground, isLocal: isLocal)
    }
    return beginning(
      of: ruled.rewritten(request), by: ruled, content: content, policy,
      partition ?? ruled.partition(of: request) ?? configuration.partition,
      mayForward: mayForward, revalidatesInBackground: revalidatesInBackground, isLocal: isLocal)
  }

  /// - Parameter request: the request as the rules have changed it.
  @inline(__always)
  private func beginning(
    of request: HTTPRequest, by ruled: RuledRequest?, content: MessageBody, _ policy: RequestCachePolicy,
    _ partition: String, mayForward: Bool, revalidatesInBackground: Bool, isLocal: Bool
  ) -> Beginning {
    let endCount = fetches.endCount
    let begun = hub.beginRequest()
    let lookup: Lookup?
    switch responses.immediate(for: request, content: content, partition) {
    case .entries(let key, let found):
      if ruled?.allowsPlainHits != false,
        let response = hit(request, policy, key, found, partition, since: begun)
      {
        return .answer(response)
      }
      lookup = responses.lookup(of: found, key, for: request, partition)
    case .wouldWait: lookup = nil
    case .otherwise:
      lookup =
        request.method.isQuery
        ? nil : responses.lookUp(request, content: content, partition, atOnce: true)
    }
    var pending = PendingRequest(
      request, policy, by: ruled, lookup ?? Lookup(partition: partition), endCount: endCount,
      revalidatesInBackground: revalidatesInBackground, isLocal: isLocal)
    pending.begun = begun
    if let lookup, mayForward || !lookup.entries.isEmpty { pending.judge(in: self) }
    return .pending(pending)
  }

  /// Returns the response if there is a single stored response, which is fresh and needs no other check;
  /// `nil` if the decision takes more.
  private func hit(
    _ request: HTTPRequest, _ policy: RequestCachePolicy, _ key: CacheKey, _ found: FoundEntries,
    _ partition: String, since begun: EventHub.Moment
  ) -> CachedResponse? {
    guard let entry = found.entries.only, entry.tier == .memory || entry.isResident,
      !store.mayBeMarked(entry, in: found.entries)
    else { return nil }
    // The tier compares the time with its own only, which began with this process.
    if let shared, !shared.mayTrust(revision: entry.revision, at: clock.now) { return nil }
    guard let now = responses.earlier.now(for: entry) else { return nil }
    // The remaining bytes are checked only here, each time they are served. The check allocates nothing and takes less
    // than a tenth of the time of a response. The store, which could check once, does not know HTTP.
    var hit: CacheEngine.Hit?
    entry.withMetadata { bytes in
      guard let fresh = engine.hit(for: request, policy: policy, stored: bytes, now: now),
        StoredResponse.canDecode(bytes)
      else { return }
      hit = fresh
    }
    guard let hit else { return nil }
    return answers.serve(hit, entry, found.variants, under: key, to: request, partition, since: begun)
  }

  // MARK: - A part of a response

  /// Answers the conditions and the range of a request with a part of a response that a handler has just made.
  ///
  /// Without it, the first request for a response would get all of it, and the second 304 or 206.
  ///
  /// - Returns: the response with status 304, 206 or 416; `nil` if all of it answers the request.
  package func selection(of response: CachedResponse, for request: HTTPRequest) -> CachedResponse? {
    guard response.source == .network else { return nil }
    let bytes = response.body.bytes
    guard
      let (stored, selection) = engine.selection(
        of: response.head, length: bytes.map { Int64($0.count) }, for: request, now: clock.wallTime)
    else { return nil }
    var answer = response
    var head = stored.response(selection, ageInSeconds: nil, boundary: answers.boundary)
    if let name = HTTPField.Name.cacheStatus, !head.headerFields.contains(name) {
      head.headerFields[values: name] = response.head.headerFields[values: name]
    }
    answer.head = head
    let pieces = stored.pieces(of: selection, boundary: answers.boundary).map { piece -> MessageBody.Piece in
      switch piece {
      case .text(let text): .bytes(Array(text.utf8)[...])
      case .stored(let range):
        .bytes(bytes?.dropFirst(Int(range.lowerBound)).prefix(range.count) ?? [])
      }
    }
    answer.body = request.method == .head ? .empty : MessageBody(pieces)
    return answer
  }
}
