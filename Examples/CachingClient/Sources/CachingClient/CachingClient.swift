// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes

/// A client with a cache, made from the engine, a store, and a function that sends requests.
///
/// It loads contents whole, sends each request by itself, and revalidates before it answers. `HTTPCache` streams, coalesces
/// requests, and revalidates in the background.
public struct CachingClient: Sendable {
  /// A response with its content.
  public struct Response: Sendable {
    public var head: HTTPResponse
    public var content: [UInt8]

    public init(head: HTTPResponse, content: [UInt8]) { (self.head, self.content) = (head, content) }
  }

  private let engine = CacheEngine(.init(kind: .private))
  private let store: CacheStore
  private let now: @Sendable () -> Timestamp
  private let send: @Sendable (HTTPRequest) async throws -> Response

  /// - Parameters:
  ///   - store: keeps the responses.
  ///   - now: returns the present time.
  ///   - send: sends a request to its origin.
  public init(
    store: CacheStore, now: @escaping @Sendable () -> Timestamp,
    send: @escaping @Sendable (HTTPRequest) async throws -> Response
  ) {
    (self.store, self.now, self.send) = (store, now, send)
  }

  /// Answers a request from the store or from its origin.
  public func response(
    to request: HTTPRequest, policy: RequestCachePolicy = .useProtocolCachePolicy
  ) async throws -> Response {
    // Taken first: what is removed while the request is at the origin must not be stored.
    let key = CacheKey(request).map { StoreKey($0.bytes) }
    let token = key.map { store.removalToken(for: $0) }
    let found = try candidates(key)
    var response: Response
    switch engine.plan(for: request, policy: policy, candidates: found.map(\.response), now: now()) {
    case .fail(let refusal): response = Response(head: refusal.response, content: refusal.content)
    case .forward(let forwarding): response = try await exchange(forwarding, found, key, token)
    case .serve(let service):
      if let revalidation = service.revalidation {
        response = try await exchange(revalidation, found, key, token)
      } else {
        let candidate = found[service.candidate]
        response = answer(candidate.response, candidate.content, service.content, age: service.age)
      }
    }
    if request.method == .head { response.content = [] }
    return response
  }

  private struct Candidate {
    var response: StoredResponse
    var content: [UInt8]
    var variant: VariantID
  }

  private func candidates(_ key: StoreKey?) throws -> [Candidate] {
    guard let key else { return [] }
    return try store.lookup(key).compactMap { entry in
      let content = try entry.body.readAll()
      let head = StoredResponse(decoding: entry.metadata[...], contentLength: Int64(content.count))
      return head.map { Candidate(response: $0, content: Array(content), variant: entry.variant) }
    }
  }

  /// Sends requests until the engine has an answer, and does to the store what the engine says.
  private func exchange(
    _ first: CacheEngine.Forwarding, _ found: [Candidate], _ key: StoreKey?, _ token: RemovalToken?
  ) async throws -> Response {
    var forwarding = first
    while true {
      let sent = now()
      let received: Result<Response, any Error>
      do { received = .success(try await send(forwarding.request)) } catch { received = .failure(error) }
      let result: CacheEngine.Exchange.Result = (try? received.get()).map { .response($0.head) } ?? .failure
      let outcome = engine.outcome(
        of: CacheEngine.Exchange(
          forwarding: forwarding, candidates: found.map(\.response), result: result,
          contentLength: (try? received.get()).map { Int64($0.content.count) }, requestTime: sent,
          responseTime: now()))
      let content = assembled((try? received.get())?.content ?? [], outcome.assembly, found)
      apply(outcome, content, found, key, token)
      switch outcome.answer {
      case .network:
        var response = try received.get()
        for name in outcome.hiddenFields { response.head.headerFields[name] = nil }
        return response
      case .stored(let stored):
        return answer(stored.response, found[stored.candidate].content, stored.content, age: stored.age)
      case .completed(let stored): return answer(stored.response, content, stored.content, age: stored.age)
      case .generated(let refusal): return Response(head: refusal.response, content: refusal.content)
      case .forwardAgain(let next): forwarding = next
      case .failure: return try received.get()
      }
    }
  }

  /// Puts what was received between the stored parts of the same representation.
  private func assembled(
    _ received: [UInt8], _ assembly: CacheEngine.ContentAssembly?, _ found: [Candidate]
  ) -> [UInt8] {
    guard let assembly, let candidate = assembly.candidate else { return received }
    let stored = found[candidate].content
    let after = assembly.after(Int64(received.count))
    return stored[Int(assembly.before.lowerBound)..<Int(assembly.before.upperBound)] + received
      + stored[Int(after.lowerBound)..<Int(after.upperBound)]
  }

  private func apply(
    _ outcome: CacheEngine.Outcome, _ content: [UInt8], _ found: [Candidate], _ key: StoreKey?,
    _ token: RemovalToken?
  ) {
    for uri in outcome.invalidations { store.remove(StoreKey(CacheKey(uri).bytes)) }
    // Without an index of the responses in a scope, all responses are removed.
    if !outcome.invalidatedScopes.isEmpty { store.removeAll() }
    guard let key else { return }
    for removal in outcome.removals { store.remove(key, variant: found[removal].variant) }
    for update in outcome.updates { insert(update.response, found[update.candidate].content, key, token) }
    if case .store(let response, _) = outcome.storage { insert(response, content, key, token) }
  }

  private func insert(
    _ response: StoredResponse, _ content: [UInt8], _ key: StoreKey, _ token: RemovalToken?
  ) {
    store.insert(
      NewEntry(
        key: key, variant: store.fingerprint(of: response.variantKey), metadata: response.encoded(),
        body: content,
        storedAt: now().millisecondsSince1970),
      unlessRemovedSince: token)
  }

  /// Makes the response from a selection of stored content: all of it, none, or ranges.
  private func answer(
    _ stored: StoredResponse, _ content: [UInt8], _ selection: CacheEngine.ContentSelection, age: Duration?
  ) -> Response {
    // No content must contain the boundary between several ranges.
    let boundary = String(UInt64.random(in: .min ... .max), radix: 36)
    let pieces = stored.pieces(of: selection, boundary: boundary)
    return Response(
      head: stored.response(selection, age: age, boundary: boundary),
      content: pieces.flatMap { piece in
        switch piece {
        case .text(let text): Array(text.utf8)
        case .stored(let range):
          Array(content[Int(range.lowerBound)..<min(Int(range.upperBound), content.count)])
        }
      })
  }
}
