// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCaching
import HTTPTypes

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension HTTPCacheSession {
  /// The result of loading one URL ahead of its use.
  public struct Prefetched: Sendable {
    /// The request.
    public let request: URLRequest
    /// The cache's answer, or the error. ``Answer/storage`` says whether the response is stored now.
    public let result: Result<Answer, any Error>
    /// The bytes of content that were read, from the origin or from the store.
    public let byteCount: Int
  }

  /// Loads responses into the cache before they are needed, a few at a time, and drops their content.
  ///
  /// ```swift
  /// for await one in session.prefetch(articles.map { URLRequest(url: $0) }, byteLimit: 50 << 20) {
  ///   done += 1
  /// }
  /// ```
  ///
  /// The results come in the order in which they are ready. A response that is fresh already is not loaded again. An error
  /// of one request does not end the others. If the stream is dropped, or the task that reads it is cancelled, the
  /// prefetching ends.
  ///
  /// - Parameters:
  ///   - requests: the requests, the most important first.
  ///   - count: maximum requests at the same time; less than 1 counts as 1.
  ///   - byteLimit: no further request is sent after this many bytes have come from origins; `nil` sets no limit. Requests
  ///     that are not sent make no result.
  ///   - options: the options of all these requests.
  public func prefetch(
    _ requests: [URLRequest], atMost count: Int = 4, byteLimit: Int? = nil,
    options: RequestOptions = RequestOptions()
  ) -> AsyncStream<Prefetched> {
    let (stream, continuation) = AsyncStream.makeStream(of: Prefetched.self)
    let task = Task {
      try? await running.run {
        await withTaskGroup(of: Prefetched.self) { group in
          var (waiting, byteCount) = (requests[...], 0)
          func startNext() {
            guard byteLimit.map({ byteCount < $0 }) ?? true, !Task.isCancelled, let next = waiting.popFirst()
            else { return }
            group.addTask { await self.prefetched(next, options) }
          }
          for _ in 0..<max(1, count) { startNext() }
          for await one in group {
            if case .success(let answer) = one.result, answer.source == .network {
              byteCount += one.byteCount
            }
            continuation.yield(one)
            startNext()
          }
        }
      }
      continuation.finish()
    }
    continuation.onTermination = { _ in task.cancel() }
    return stream
  }

  private func prefetched(_ request: URLRequest, _ options: RequestOptions) async -> Prefetched {
    var byteCount = 0
    do {
      let (bytes, answer) = try await bytes(for: request, options: options)
      for try await chunk in bytes.chunks { byteCount += chunk.count }
      try Task.checkCancellation()
      return Prefetched(request: request, result: .success(answer), byteCount: byteCount)
    } catch {
      return Prefetched(request: request, result: .failure(error), byteCount: byteCount)
    }
  }

  /// Returns a stream with an element each time new content has been stored for a request's URL, from now on. See
  /// `HTTPCache.updates(for:partition:)`.
  ///
  /// Show what is stored at once, whatever its age; then load again, and show what has changed:
  ///
  /// ```swift
  /// var stored = request
  /// stored.cachePolicy = .returnCacheDataElseLoad
  /// show(try await session.data(for: stored).0)
  /// let updates = session.updates(for: request)
  /// Task { try await session.data(for: request) }    // revalidates it if it is stale
  /// for await _ in updates { show(try await session.data(for: stored).0) }
  /// ```
  ///
  /// Content is stored before its load ends. So a load that has ended makes no element, and one that ends later does, the
  /// first one included.
  ///
  /// Updates of redirect targets belong to the targets.
  public func updates(
    for request: URLRequest, options: RequestOptions = RequestOptions()
  ) -> AsyncStream<CacheEvent> {
    guard let head = HTTPRequest(request) else { return AsyncStream { $0.finish() } }
    return cache.updates(for: head, partition: options.partition ?? binding.partition(of: request))
  }
}
