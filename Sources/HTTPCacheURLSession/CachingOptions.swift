// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheStore
import HTTPCaching

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Per-session options.
public struct CachingOptions: Sendable {
  /// Which requests go through the cache (default: all). Others go to the origin as if there were no cache. The closure
  /// is called for `http` and `https` only.
  public var shouldIntercept: @Sendable (URLRequest) -> Bool = { _ in true }

  /// Called before a response is stored, like `willCacheResponse` of a delegate where Foundation stores. It returns the
  /// response as it is, or with other data, `userInfo` or storage policy, or `nil` to store nothing. The task gets the
  /// original response.
  ///
  /// A change of status or fields is ignored. The closure must not block.
  public var willCache:
    (@Sendable (_ proposed: CachedURLResponse, _ request: URLRequest) -> CachedURLResponse?)?

  /// Sets the freshness lifetime of a response that has just arrived from its origin, in place of the origin; `nil` leaves
  /// it to the origin. See `LifetimeRule` for what it replaces.
  ///
  /// ```swift
  /// options.lifetime = { request, response in
  ///   request.url?.host == "config.example.com" && [200, 304].contains(response.statusCode) ? .seconds(600) : nil
  /// }
  /// ```
  ///
  /// The closure is also called for a 304, which confirms a stored response. The answer's reason is then
  /// `freshByApplication`. The closure must not block.
  public var lifetime: (@Sendable (_ request: URLRequest, _ response: HTTPURLResponse) -> Duration?)?

  /// Called before a redirect is followed, wherever it came from. It returns the next request as it is, or changed, or
  /// `nil` to refuse: the redirect is then the task's response.
  ///
  /// ```swift
  /// options.willRedirect = { redirect, next in next.url?.host == redirect.url?.host ? next : nil }
  /// ```
  public var willRedirect: (@Sendable (_ redirect: HTTPURLResponse, _ next: URLRequest) -> URLRequest?)?

  /// Called before a request is sent to its origin, with the fields that the cache adds, such as `If-None-Match`. It may
  /// change anything: the changed request is sent. The response is stored for the unchanged request.
  ///
  /// ```swift
  /// options.willSend = { request in
  ///   var request = request
  ///   request.setValue(UUID().uuidString, forHTTPHeaderField: "X-Request-ID")
  ///   return request
  /// }
  /// ```
  ///
  /// Content of a file, or of more than 256 KiB from a stream, is in `httpBodyStream` of the request for the closure to
  /// read; the content that is sent stays, unless the closure sets `httpBody`.
  ///
  /// An error that it throws ends the task. It is not called when the cache answers by itself.
  public var willSend: (@Sendable (_ request: URLRequest) throws -> URLRequest)?

  /// Whether an origin is reachable. If it returns `false`, the cache sends nothing, and behaves as if the request had
  /// failed with `URLError.notConnectedToInternet`. By default, requests go out, and their errors decide.
  public var isReachable: (@Sendable (_ url: URL) -> Bool)?

  /// Maximum number of redirects that are followed for one task (default: 20).
  public var redirectLimit = 20

  /// The partition of a task's responses, for example its account or site; `nil` for the cache's own. It is called with
  /// the task's first request, and also holds for the targets of redirects.
  ///
  /// ```swift
  /// options.partition = { $0.value(forHTTPHeaderField: "X-Account") }
  /// ```
  ///
  /// The request has the `httpAdditionalHeaders` of its session. Return an identifier of the account, and not its token: the
  /// partition is plain text in keys, files, logs and events.
  public var partition: @Sendable (_ request: URLRequest) -> String? = { _ in nil }

  /// The cache policy of a request, in place of its own `cachePolicy`; `nil` leaves it as it is. For
  /// `.useProtocolCachePolicy`, the session's policy applies. It is called again for the targets of redirects. The request
  /// is without the `httpAdditionalHeaders` of its session.
  public var policy: (@Sendable (_ request: URLRequest) -> URLRequest.CachePolicy?)?

  /// Wraps the session's transport, for example to record responses or to simulate failures.
  ///
  /// It may change a request, its scheme, authority and path included, and its content: the changed request is sent. The
  /// response is stored for the unchanged URL. To send the request once more, call the transport again. A load through the
  /// session does not wait for the request that the middleware is called for, and calls the middleware again. On Apple
  /// platforms, this holds for ``HTTPCacheSession`` only: if the middleware loads the same URL by a task of a `URLSession`,
  /// the task waits for itself.
  public var middleware: @Sendable (_ transport: @escaping Transport) -> Transport = { $0 }

  /// Answers a challenge with a disposition and a credential.
  public typealias Authenticate =
    @Sendable (_ challenge: URLAuthenticationChallenge) -> (
      URLSession.AuthChallengeDisposition, URLCredential?
    )

  /// Answers the challenges of origins and proxies, in place of a delegate. By default, the URL's own user and password
  /// and the configuration's credential storage do, if there are any. On Apple platforms, a session's delegate is asked
  /// before the storage; see <doc:FirstRunOnApplePlatforms>.
  ///
  /// The challenge's `previousFailureCount` is the number of credentials that the origin has refused for the task. After
  /// three, the task ends with the 401.
  public var authenticate: Authenticate?

  /// Makes options with the defaults.
  public init() {}
}

extension CachingOptions {
  /// Returns the hook through which the cache calls ``willCache`` for a response to a request.
  func storageHook(for request: URLRequest) -> StorageHook? {
    guard let willCache, let url = request.url else { return nil }
    return { proposal in
      guard let response = HTTPURLResponse(proposal.response, url: url) else { return }
      let proposed = CachedURLResponse(response: response, data: Data(proposal.content))
      guard let accepted = willCache(proposed, request) else {
        proposal.tiers = []
        return
      }
      if accepted.data != proposed.data { proposal.content = Array(accepted.data) }
      proposal.tiers = StoreTiers(accepted.storagePolicy)
      proposal.annotation = CacheNote(accepted).encoded()
    }
  }
}

extension HTTPCacheSession {
  /// What one request of the session has of its own. The cache policy is the `cachePolicy` of the `URLRequest`.
  public struct RequestOptions: Sendable {
    /// The freshness lifetime of the response, in place of the origin's; `nil` leaves it to ``CachingOptions/lifetime``.
    ///
    /// It applies if the request goes to the origin and the response is successful (2xx), or confirms a stored one (304).
    /// See `LifetimeRule` for what it replaces.
    public var lifetime: Duration?
    /// The partition of the response; `nil` leaves it to ``CachingOptions/partition``.
    public var partition: String?

    /// Makes options. Each parameter is documented at the property of its name.
    public init(lifetime: Duration? = nil, partition: String? = nil) {
      self.lifetime = lifetime
      self.partition = partition
    }
  }
}
