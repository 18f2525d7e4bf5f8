// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Foundation
import HTTPCacheEngine
import HTTPCaching
import HTTPTypes
import HTTPTypesFoundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Answers the requests of a `URLSession` through an `HTTPCache`; switched on by
/// `URLSessionConfiguration.caching(with:base:)`. Without that call, its requests fail with an error that says so.
///
/// The class only translates: the cache decides what may be stored and reused. It follows redirects itself, each hop
/// through the cache, because on Linux the client's redirect call ends the process. It delivers the body in one piece,
/// because on Linux all but the last piece would be lost.
public class CachingURLProtocol: URLProtocol {
  private let loading = Mutex(LoadState())
  /// The fetches in whose middleware the task was made. On Linux, this object is made by the thread that resumes the task.
  private let enclosing = EnclosingFetches.current

  // MARK: - URLProtocol

  /// Whether the request is for the cache: `http` or `https`, and `CachingOptions/shouldIntercept` agrees.
  override public class func canInit(with request: URLRequest) -> Bool {
    switch request.url?.scheme?.lowercasedASCII {
    case "http", "https":
      // Without its cache, the request fails with an explanation.
      request.url?.host?.isEmpty == false
        && CacheCarriers.carrier(of: self)?.options.shouldIntercept(request) ?? true
    default: false
    }
  }

  /// Returns the request as it is.
  override public class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

  /// Starts to answer the request from the cache, or from the origin through it.
  override public func startLoading() {
    let started = loading.withLock { loading in
      loading.start().map { (number: $0, stream: loading.stream(of: request)) }
    }
    guard let (number, stream) = started else { return }
    let own = LoadingProtocol(value: self, number: number)
    let load: CachedLoad
    do {
      let binding = try CacheBinding.find(for: task, Self.self, request)
      var begun = CachedLoad(
        request: try TaskBody.request(request, of: task), stream: stream, binding: binding)
      if let stored = try begun.answerFromMemory(), let data = Data(inMemory: stored.response.body),
        let stored = stored.loaded(data)
      {
        // Makes no task: a hit costs a lookup and Foundation's own handling.
        return SessionQueue.wait { own.succeed(stored, $0) }
      }
      load = begun
    } catch {
      return SessionQueue.wait { own.fail(error, $0) }
    }
    let task = Task { [enclosing] in
      var load = load
      do {
        let loaded = try await EnclosingFetches.$current.withValue(enclosing) { try await load.run() }
        SessionQueue.hold(of: own.value.task) { own.succeed(loaded, $0) }
      } catch {
        SessionQueue.hold(of: own.value.task) { own.fail(error, $0) }
      }
    }
    if !loading.withLock({ $0.note(task, of: number) }) { task.cancel() }
  }

  /// Ends the load: the client takes nothing more of it.
  override public func stopLoading() {
    loading.withLock { loading in
      if loading.isAnswered { forgetClient() }
      return loading.stop()
    }?.cancel()
  }

  // MARK: - Client

  // Calls the client under the lock, so that `stopLoading` waits until the answer is delivered. On Linux, Foundation
  // completes a cancelled task right after `stopLoading`. To complete a task twice ends the process, because the
  // session's table no longer contains it. `SessionQueue` decides where the client is called from.

  fileprivate func succeed(_ loaded: CachedLoad.Loaded, _ number: Int, _ calls: SessionQueue.Calls) {
    defer { calls.finish() }
    loading.withLock { loading in
      guard loading.isCurrent(number) else { return }
      client?.urlProtocol(self, didReceive: loaded.response, cacheStoragePolicy: .notAllowed)
      if !loaded.data.isEmpty { client?.urlProtocol(self, didLoad: loaded.data) }
      loading.answer()
      calls.beginLast()
      client?.urlProtocolDidFinishLoading(self)
    }
  }

  fileprivate func fail(_ error: any Error, _ number: Int, _ calls: SessionQueue.Calls) {
    defer { calls.finish() }
    loading.withLock { loading in
      guard loading.isCurrent(number) else { return }
      loading.answer()
      calls.beginLast()
      client?.urlProtocol(self, didFailWithError: URLError.describing(error, of: request.url))
    }
  }
}

/// Passes the protocol object into the task of one load.
private struct LoadingProtocol: @unchecked Sendable {
  // Unchecked: Foundation makes the object, starts it, and does not touch it until stopLoading. The task calls only
  // `client`, while the session's queue waits. A lock ensures that it calls only until stopLoading. `request` does not
  // change.
  let value: CachingURLProtocol
  /// The number of the load.
  let number: Int

  func succeed(_ loaded: CachedLoad.Loaded, _ calls: SessionQueue.Calls) {
    value.succeed(loaded, number, calls)
  }

  func fail(_ error: any Error, _ calls: SessionQueue.Calls) { value.fail(error, number, calls) }
}
