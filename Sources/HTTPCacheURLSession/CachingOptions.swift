// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheStore
import HTTPCaching
import HTTPTypesFoundation

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

  /// Whether an origin is reachable. If it returns `false`, the cache sends nothing, and behaves as if the request had
  /// failed with `URLError.notConnectedToInternet`. By default, requests go out, and their errors decide.
  public var isReachable: (@Sendable (_ url: URL) -> Bool)?

  /// Maximum number of redirects that are followed for one task (default: 20).
  public var redirectLimit = 20

  /// The partition of a task's responses, for example its account or site; `nil` for the cache's own. It is called with
  /// the task's first request, and also holds for the targets of redirects.
  public var partition: @Sendable (_ request: URLRequest) -> String? = { _ in nil }

  /// Wraps the session's transport, for example to record responses or to simulate failures.
  public var middleware: @Sendable (_ transport: @escaping Transport) -> Transport = { $0 }

  /// Answers a challenge with a disposition and a credential.
  public typealias Authenticate =
    @Sendable (_ challenge: URLAuthenticationChallenge) -> (
      URLSession.AuthChallengeDisposition, URLCredential?
    )

  /// Answers the challenges of origins and proxies, in place of a delegate. By default, the URL's own user and password
  /// and the configuration's credential storage do, if there are any.
  public var authenticate: Authenticate?

  /// Makes options with the defaults.
  public init() {}
}

extension CachingOptions {
  /// Returns the hook through which the cache calls ``willCache`` for a response to a request.
  func storageHook(for request: URLRequest) -> StorageHook? {
    guard let willCache, let url = request.url else { return nil }
    return { proposal in
      guard let response = HTTPURLResponse(httpResponse: proposal.response, url: url) else { return }
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
