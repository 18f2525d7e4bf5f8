// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPTypes

extension HTTPCache {
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
    guard let target = TargetURI(request).map(keyed) else {
      continuation.finish()
      return stream
    }
    let rule = configuration.targetRule
    let number = hub.add([.stored], onEnd: { continuation.finish() }) { event in
      guard event.partition == partition, event.reason != .storedAsPart,
        let stored = TargetURI(event.request), (rule.map { $0(stored) } ?? stored) == target
      else { return }
      continuation.yield(event)
    }
    let observation = CacheObservation(hub, number: number)
    continuation.onTermination = { _ in observation.cancel() }
    return stream
  }
}
