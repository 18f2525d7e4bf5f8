import Foundation
import HTTPCacheEngine
import HTTPCaching
import HTTPTypes
import HTTPTypesFoundation
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Answers the requests of a `URLSession` through an ``HTTPCache``; switched on by
/// `URLSessionConfiguration.caching(with:base:)`.
///
/// It translates and does nothing else: what may be stored and reused is the cache's affair. Redirects are followed
/// here, each hop through the cache, because on Linux the client's redirect call ends the process. The body is
/// delivered in one piece, because there all but the last piece would be lost.
public class CachingURLProtocol: URLProtocol {
  private struct Loading {
    var task: Task<Void, Never>?
    var isStopped = false
  }

  private let loading = Mutex(Loading())

  // MARK: - URLProtocol

  override public class func canInit(with request: URLRequest) -> Bool {
    guard CacheBindings.shared.binding(of: self) != nil else { return false }
    return switch request.url?.scheme?.lowercased() {
    case "http", "https": request.url?.host?.isEmpty == false
    default: false
    }
  }

  override public class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

  override public func startLoading() {
    guard let binding = CacheBindings.shared.binding(of: Self.self) else {
      fail(URLError(.unknown))
      return
    }
    let load: CachedLoad
    do {
      load = CachedLoad(request: try TaskBody.request(request, of: task), binding: binding)
    } catch {
      fail(error)
      return
    }
    if let stored = load.fromMemory() {
      // No task, and no thread but this one: a hit costs a lookup and Foundation's own handling.
      succeed(stored)
      return
    }
    let own = LoadingProtocol(value: self)
    let task = Task {
      do {
        let loaded = try await load.run()
        own.value.succeed(loaded)
      } catch {
        own.value.fail(error)
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
      defer { loading.task = nil }
      return loading.task
    }?.cancel()
  }

  // MARK: - Client

  fileprivate func succeed(_ loaded: CachedLoad.Loaded) {
    guard !loading.withLock({ $0.isStopped }) else { return }
    client?.urlProtocol(self, didReceive: loaded.response, cacheStoragePolicy: .notAllowed)
    if !loaded.data.isEmpty { client?.urlProtocol(self, didLoad: loaded.data) }
    client?.urlProtocolDidFinishLoading(self)
  }

  fileprivate func fail(_ error: any Error) {
    guard !loading.withLock({ $0.isStopped }) else { return }
    client?.urlProtocol(self, didFailWithError: Self.urlError(for: error, url: request.url))
  }

  /// The error as Foundation's callers know it; the transport's own errors stay as they are.
  private static func urlError(for error: any Error, url: URL?) -> any Error {
    var details: [String: Any] = [NSLocalizedDescriptionKey: "\(error)"]
    if let url { details[NSURLErrorFailingURLErrorKey] = url }
    return switch error {
    case is CancellationError: URLError(.cancelled, userInfo: details)
    case HTTPCacheError.notCached: URLError(.resourceUnavailable, userInfo: details)
    case HTTPCacheError.incompleteContent: URLError(.networkConnectionLost, userInfo: details)
    case HTTPCacheError.contentTooLarge: URLError(.dataLengthExceedsMaximum, userInfo: details)
    default: error
    }
  }
}

/// The protocol object on its way into the task that loads.
private struct LoadingProtocol: @unchecked Sendable {
  // Unchecked: Foundation makes the object, starts it once, and leaves it alone until stopLoading. The task only calls
  // `client`, which takes calls from any thread, and only until stopLoading, which a lock sees to; `request` does not
  // change.
  let value: CachingURLProtocol
}
