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
  /// Which requests go through the cache; all, unless set. Others go to the origin as though there were no cache. It is
  /// asked for `http` and `https` only.
  public var shouldIntercept: @Sendable (URLRequest) -> Bool = { _ in true }

  /// Called before a response is stored, as a delegate's `willCacheResponse` is where Foundation stores: it gives back the
  /// response as it is, or with other data, `userInfo` or storage policy, or `nil` to have nothing stored. The task gets
  /// what came.
  ///
  /// A change of status or fields counts for nothing. It must not block.
  public var willCache:
    (@Sendable (_ proposed: CachedURLResponse, _ request: URLRequest) -> CachedURLResponse?)?

  /// Whether an origin can be reached at all. Where it cannot, no request goes out, and all is as if it had failed with
  /// `URLError.notConnectedToInternet`. Unless set, requests go out, and their errors tell.
  public var isReachable: (@Sendable (_ url: URL) -> Bool)?

  /// The most redirects that are followed for one task.
  public var redirectLimit = 20

  /// The partition that a task's responses are kept in, as the account or the site that it is for; `nil` for the cache's
  /// own. It is asked of the task's first request, and holds for where that is redirected to.
  public var partition: @Sendable (_ request: URLRequest) -> String? = { _ in nil }

  /// Makes the transport that asks origins out of the session's own: to record what comes, or to make things go wrong.
  public var middleware: @Sendable (_ transport: @escaping Transport) -> Transport = { $0 }

  /// Answers a challenge with a disposition and a credential.
  public typealias Authenticate =
    @Sendable (_ challenge: URLAuthenticationChallenge) -> (
      URLSession.AuthChallengeDisposition, URLCredential?
    )

  /// Answers the challenges of origins and proxies, in place of a delegate. Unless set, the URL's own user and password
  /// and the configuration's credential storage do, where there are any.
  public var authenticate: Authenticate?

  /// Makes options with the defaults.
  public init() {}
}

extension CachingOptions {
  /// The hook by which the cache asks ``willCache`` of a response to a request.
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
