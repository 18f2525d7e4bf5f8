// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheEngine
import HTTPCaching
import HTTPTypes
import HTTPTypesFoundation
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Answers the requests of a `URLSession` through an `HTTPCache`; switched on by
/// `URLSessionConfiguration.caching(with:base:)`.
///
/// It translates and does nothing else: what may be stored and reused is the cache's affair. Redirects are followed
/// here, each hop through the cache, because on Linux the client's redirect call ends the process. The body is
/// delivered in one piece, because there all but the last piece would be lost.
public class CachingURLProtocol: URLProtocol {
  private struct Loading {
    var task: Task<Void, Never>?
    var isStopped = false
    /// Whether the client has been told how the task ends.
    var isAnswered = false
  }

  private let loading = Mutex(Loading())

  // MARK: - URLProtocol

  override public class func canInit(with request: URLRequest) -> Bool {
    guard let binding = CacheBindings.shared.value(of: self) else { return false }
    return switch request.url?.scheme?.lowercased() {
    case "http", "https": request.url?.host?.isEmpty == false && binding.options.shouldIntercept(request)
    default: false
    }
  }

  override public class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

  override public func startLoading() {
    let own = LoadingProtocol(value: self)
    guard let binding = CacheBindings.shared.value(of: Self.self) else {
      return SessionQueue.wait { own.value.fail(URLError(.unknown), $0) }
    }
    let load: CachedLoad
    do {
      var begun = CachedLoad(request: try TaskBody.request(request, of: task), binding: binding)
      if let stored = try begun.fromMemory() {
        // No task: a hit costs a lookup and Foundation's own handling.
        return SessionQueue.wait { own.value.succeed(stored, $0) }
      }
      load = begun
    } catch {
      return SessionQueue.wait { own.value.fail(error, $0) }
    }
    let task = Task {
      var load = load
      do {
        let loaded = try await load.run()
        SessionQueue.hold(of: own.value.task) { own.value.succeed(loaded, $0) }
      } catch {
        SessionQueue.hold(of: own.value.task) { own.value.fail(error, $0) }
      }
    }
    let isStopped = loading.withLock { loading in
      loading.task = task
      return loading.isStopped
    }
    if isStopped { task.cancel() }
  }

  override public func stopLoading() {
    loading.withLock { loading in
      loading.isStopped = true
      #if canImport(FoundationNetworking)
        // Right after this, Foundation tells the client that a cancelled task failed. A task that has its answer is told
        // nothing more.
        if loading.isAnswered { client = nil }
      #endif
      defer { loading.task = nil }
      return loading.task
    }?.cancel()
  }

  // MARK: - Client

  // The client is called under the lock, so that `stopLoading` waits until the answer is through. On Linux, Foundation
  // completes a cancelled task right after `stopLoading`. To complete one twice ends the process, as the session's table
  // has lost it by then. Where the client is called from is for `SessionQueue` to say.

  fileprivate func succeed(_ loaded: CachedLoad.Loaded, _ calls: SessionQueue.Calls) {
    defer { calls.finish() }
    loading.withLock { loading in
      guard !loading.isStopped else { return }
      client?.urlProtocol(self, didReceive: loaded.response, cacheStoragePolicy: .notAllowed)
      if !loaded.data.isEmpty { client?.urlProtocol(self, didLoad: loaded.data) }
      loading.isAnswered = true
      calls.beginLast()
      client?.urlProtocolDidFinishLoading(self)
    }
  }

  fileprivate func fail(_ error: any Error, _ calls: SessionQueue.Calls) {
    defer { calls.finish() }
    loading.withLock { loading in
      guard !loading.isStopped else { return }
      loading.isAnswered = true
      calls.beginLast()
      client?.urlProtocol(self, didFailWithError: Self.urlError(for: error, url: request.url))
    }
  }

  /// The error as Foundation's callers know it; the transport's own errors stay as they are.
  private static func urlError(for error: any Error, url: URL?) -> any Error {
    var details: [String: Any] = [NSLocalizedDescriptionKey: "\(error)"]
    if let url { details[NSURLErrorFailingURLErrorKey] = url }
    return switch error {
    case is CancellationError: URLError(.cancelled, userInfo: details)
    case let error as HTTPCacheError where error.code == .notCached:
      URLError(.resourceUnavailable, userInfo: details)
    case let error as HTTPCacheError where error.code == .contentTooLarge:
      URLError(.dataLengthExceedsMaximum, userInfo: details)
    default: error
    }
  }
}

/// The protocol object on its way into the task that loads.
private struct LoadingProtocol: @unchecked Sendable {
  // Unchecked: Foundation makes the object, starts it once, and leaves it alone until stopLoading. The task only calls
  // `client`, while the session's queue waits, and only until stopLoading, which a lock sees to; `request` does not change.
  let value: CachingURLProtocol
}
