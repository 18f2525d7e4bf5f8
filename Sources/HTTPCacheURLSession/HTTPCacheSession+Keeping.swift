// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheStore
import HTTPCaching
import HTTPTypes

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension HTTPCacheSession {
  /// A URL that is kept for later.
  public struct Kept: Sendable, Hashable {
    /// The URL, in its normal form.
    public let url: URL
    /// The partition of its response.
    public let partition: String
    /// Bytes that it occupies on disk; 0 if its response was invalidated or removed.
    public let byteCount: Int
  }

  /// Keeps the response of a URL for later: it is not evicted, however much else is loaded.
  ///
  /// ```swift
  /// try await session.keep(article)
  /// let (text, _) = try await session.data(for: URLRequest(url: article, cachePolicy: .returnCacheDataDontLoad))
  /// ```
  ///
  /// A stored response is kept as it is, whatever its age. Otherwise the URL is loaded first. Later responses for the URL
  /// are kept in its place. The URL is kept until ``release(_:options:)``, or until its response or everything is removed
  /// by the application; see `HTTPCache.pin(_:partition:)`. If the URL redirects, all URLs up to the last one are kept as
  /// well, and listed; release each.
  ///
  /// The cache needs a directory. All kept responses take at most `CacheStore.Configuration.pinnedShare` of its disk.
  ///
  /// - Parameters:
  ///   - url: the URL.
  ///   - options: the options of the request.
  /// - Returns: the answer; its content is in the cache.
  /// - Throws: as ``data(for:options:)``; `URLError.badServerResponse` if the status is not 2xx, and
  ///   `URLError.resourceUnavailable` if the response, or a redirect that leads to it, is not stored. `StoreError` if the
  ///   cache has no disk (`noDisk`), or the limit would be exceeded (`pinLimit`). The URL is then as before.
  @discardableResult
  public func keep(_ url: URL, options: RequestOptions = RequestOptions()) async throws -> Answer {
    let request = URLRequest(url: url, cachePolicy: .returnCacheDataElseLoad)
    // That of the first request is also that of its redirects.
    let partition = partition(of: request, options)
    // First, so that the response is not evicted between its end and the pin.
    var added = try await pin(request, partition) ? [] : [request]
    do {
      let (bytes, answer) = try await bytes(for: request, options: options)
      for try await _ in bytes.chunks {}
      guard (200..<300).contains(answer.response.statusCode) else {
        throw URLError(.badServerResponse, url, "The status is \(answer.response.statusCode).")
      }
      let last = answer.response.url ?? url
      for passed in answer.redirected + [last] {
        let next = URLRequest(url: passed)
        // The first once more: now the response has its bytes, and may be in memory only.
        if try await !pin(next, partition) { added.append(next) }
      }
      if let missing = await firstMissing(request, options) {
        throw URLError(
          .resourceUnavailable, url,
          missing == last
            ? "The response is not stored. \(answer.storage.map { "\($0)" } ?? "It was removed meanwhile.")"
            : "The redirect of \(missing) is not stored, so it cannot be followed offline. The origin, or the option "
              + "lifetime, must give it a lifetime.")
      }
      return answer
    } catch {
      for request in added { _ = try? await unpin(request, partition) }
      throw error
    }
  }

  /// Ends ``keep(_:options:)`` for a URL. Its response stays until it is evicted.
  ///
  /// - Parameters:
  ///   - url: the URL.
  ///   - options: the options it was kept with: the partition counts.
  /// - Returns: whether the URL was kept. If it redirects, the URLs after it stay kept: release each.
  /// - Throws: `StoreError` if the disk fails; the URL may then be kept again when the cache is opened the next time.
  @discardableResult
  public func release(_ url: URL, options: RequestOptions = RequestOptions()) async throws -> Bool {
    let request = URLRequest(url: url)
    return try await unpin(request, partition(of: request, options))
  }

  /// The URLs that are kept, in the order in which they were kept, in all partitions of the cache.
  ///
  /// - Complexity: O(kept URLs).
  public var kept: [Kept] {
    cache.pinned.compactMap { pin in
      URL(string: pin.url).map { Kept(url: $0, partition: pin.partition, byteCount: pin.byteCount) }
    }
  }

  // MARK: - On the threads for the disk

  /// Returns whether the URL was pinned before.
  private func pin(_ request: URLRequest, _ partition: String?) async throws -> Bool {
    try await onDisk(request, partition) { cache, head, partition in
      let wasPinned = cache.isPinned(head, partition: partition)
      try cache.pin(head, partition: partition)
      return wasPinned
    }
  }

  private func unpin(_ request: URLRequest, _ partition: String?) async throws -> Bool {
    try await onDisk(request, partition) { cache, head, partition in
      try cache.unpin(head, partition: partition)
    }
  }

  /// Returns the first URL of a request and its redirects that no stored response can answer; `nil` if all are stored.
  ///
  /// Another session may have stored a response for the URL that this one, with other fields, cannot use.
  private func firstMissing(_ request: URLRequest, _ options: RequestOptions) async -> URL? {
    guard binding.options.shouldIntercept(request) else { return request.url }
    var load = CachedLoad(request: request, binding: binding, options: options, isOffline: true)
    do {
      _ = try await load.answer()
      return nil
    } catch {
      return load.url
    }
  }

  private func partition(of request: URLRequest, _ options: RequestOptions) -> String? {
    options.partition ?? binding.partition(of: request)
  }

  private func onDisk<Result: Sendable>(
    _ request: URLRequest, _ partition: String?,
    _ body: @escaping @Sendable (HTTPCache, HTTPRequest, String?) throws -> Result
  ) async throws -> Result {
    guard let head = HTTPRequest(request) else {
      throw URLError(.unsupportedURL, request.url, "The URL is neither http nor https.")
    }
    return try await BlockingExecutor.run { [cache] in
      Swift.Result { try body(cache, head, partition) }
    }.get()
  }
}
