// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes

extension HTTPCache.Configuration {
  /// Calls an observer for each event of the cache, from its opening on: also if the opening discards an unreadable cache,
  /// or if the disk or the shared tier fails from the start.
  ///
  /// - Parameters:
  ///   - actions: the actions to report (default: all).
  ///   - observer: called with each event, as by ``HTTPCache/observe(_:_:)``.
  public mutating func observe(
    _ actions: some Sequence<CacheEvent.Action> = CacheEvent.Action.allCases,
    _ observer: @escaping @Sendable (CacheEvent) -> Void
  ) {
    observers.append((Array(actions), observer))
  }
}

extension HTTPCache {
  /// Calls an observer for each event of the cache, until the observation is cancelled.
  ///
  /// The observer runs on the thread that caused the event and must not block; events of the disk come on a queue of the
  /// store. The events of one request come in order. If the disk fails already, the observer does not learn it: see
  /// ``Configuration/observe(_:_:)``. Events without listeners cost one load.
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

  /// Returns a stream of the cache's events, from now on. Each caller gets its own stream. It ends with the task that
  /// reads it, or with the cache.
  ///
  /// ```swift
  /// for await event in cache.events(of: [.notStored]) {
  ///   print(event)    // notStored GET https://a.example/: The response carries no-store. (RFC 9111 §5.2.2.5)
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - actions: the actions to report (default: all).
  ///   - limit: maximum events buffered for a slow reader; beyond it the oldest are dropped.
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

  /// Returns a stream with an element each time new content has been stored for a request's target, from now on.
  ///
  /// Use it to show a stored response at once, and the new one when a request in the background has brought it:
  ///
  /// ```swift
  /// for await _ in cache.updates(for: request) {
  ///   show(cache.storedResponse(for: request, policy: .returnCacheDataDontLoad))
  /// }
  /// ```
  ///
  /// The response is in the cache when its element arrives. A 304 makes no element, because the content stays. Neither does
  /// a part of a response. A slow reader gets one element for several responses. The stream ends with the task that reads
  /// it, or with the cache.
  ///
  /// - Parameters:
  ///   - request: the request whose target counts; its method and fields do not.
  ///   - partition: the partition; `nil` for the cache's own.
  /// - Complexity: O(1) for each response that is stored while the stream exists.
  public func updates(for request: HTTPRequest, partition: String? = nil) -> AsyncStream<CacheEvent> {
    let partition = partition ?? configuration.partition
    let (stream, continuation) = AsyncStream.makeStream(
      of: CacheEvent.self, bufferingPolicy: .bufferingNewest(1))
    guard let target = TargetURI(request).map(responses.keyed) else {
      continuation.finish()
      return stream
    }
    let rule = configuration.targetRule
    let number = hub.add([.stored], onEnd: { continuation.finish() }) { event in
      guard event.partition == partition, event.reason != .storedAsPart,
        let stored = event.request.flatMap({ TargetURI($0) }), (rule.map { $0(stored) } ?? stored) == target
      else { return }
      continuation.yield(event)
    }
    let observation = CacheObservation(hub, number: number)
    continuation.onTermination = { _ in observation.cancel() }
    return stream
  }
}

/// An observer's registration at a cache. It lasts until it is cancelled, or the cache is released.
public final class CacheObservation: Sendable {
  private let remove: @Sendable () -> Void

  init(_ hub: EventHub, number: Int) {
    // Weak, because the hub retains the observer, and the observer may retain this object.
    remove = { [weak hub] in hub?.remove(number) }
  }

  /// Ends the observation. It does not wait for a call in progress on another thread.
  public func cancel() { remove() }
}
