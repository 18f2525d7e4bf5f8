// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes

extension HTTPCache {
  /// Calls an observer for what the cache does, until the observation is cancelled.
  ///
  /// It is called on whatever thread the thing is done, in the order of what happens to one request, and must not block.
  /// What nobody wants to hear of costs one load.
  ///
  /// - Parameters:
  ///   - actions: the actions to report (default: all).
  ///   - observer: called with each event.
  /// - Returns: the observation, for ``CacheObservation/cancel()``.
  @discardableResult
  public func observe(
    _ actions: some Sequence<CacheEvent.Action> = CacheEvent.Action.allCases,
    _ observer: @escaping @Sendable (CacheEvent) -> Void
  ) -> CacheObservation {
    CacheObservation(hub, number: hub.add(actions, observer))
  }

  /// What the cache does, from now on. Each caller gets a stream of its own, which ends with the task that reads it, or with
  /// the cache.
  ///
  /// ```swift
  /// for await event in cache.events(of: [.notStored]) {
  ///   print(event.uri, event.reason)    // https://a.example/ The response carries no-store. (RFC 9111 §5.2.2.5)
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - actions: what to hear of: everything, unless set otherwise.
  ///   - limit: how many events wait for a slow reader; beyond that the oldest are lost.
  public func events(
    of actions: some Sequence<CacheEvent.Action> = CacheEvent.Action.allCases, keeping limit: Int = 1024
  ) -> AsyncStream<CacheEvent> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: CacheEvent.self, bufferingPolicy: .bufferingNewest(Swift.max(1, limit)))
    let number = hub.add(actions, onEnd: { continuation.finish() }) { continuation.yield($0) }
    let observation = CacheObservation(hub, number: number)
    continuation.onTermination = { _ in observation.cancel() }
    return stream
  }

  @inline(__always)
  func note(
    _ action: CacheEvent.Action, _ request: HTTPRequest, _ reason: CacheEngine.Reason,
    source: CachedResponse.Source? = nil, byteCount: Int? = nil, refusal: InsertRefusal? = nil,
    partition: String
  ) {
    guard hub.wants(action) else { return }
    var event = CacheEvent(
      action: action, request: request, reason: reason, source: source, byteCount: byteCount,
      partition: partition)
    event.refusal = refusal
    hub.send(event)
  }
}

/// An observer's place at a cache. It keeps it until it is cancelled, or the cache goes.
public final class CacheObservation: Sendable {
  private let remove: @Sendable () -> Void

  init(_ hub: EventHub, number: Int) {
    // Weak, for the hub holds the observer, which may hold this.
    remove = { [weak hub] in hub?.remove(number) }
  }

  /// Ends it; a call that is under way on another thread is not waited for.
  public func cancel() { remove() }
}
