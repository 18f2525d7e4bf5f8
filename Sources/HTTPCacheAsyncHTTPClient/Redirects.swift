// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import AsyncHTTPClient
import NIOHTTP1

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Follows redirects as `HTTPClient` does, so that a program behaves the same with a cache.
struct Redirects {
  private let rules: HTTPClient.Configuration.RedirectConfiguration.FollowConfiguration
  private var visited: [String]

  init(_ rules: HTTPClient.Configuration.RedirectConfiguration.FollowConfiguration, from url: String) {
    self.rules = rules
    visited = [url]
  }

  /// Returns the request that follows a response; `nil` if the response is the answer.
  ///
  /// - Throws: `HTTPClientError.redirectLimitReached` or `redirectCycleDetected`.
  mutating func next(
    after response: HTTPResponseHead, to request: HTTPClientRequest
  ) throws -> HTTPClientRequest? {
    guard let url = URL(string: request.url), let target = Self.target(of: response, from: url) else {
      return nil
    }
    guard visited.count <= rules.max else { throw HTTPClientError.redirectLimitReached }
    guard rules.allowCycles || !visited.contains(target.absoluteString) else {
      throw HTTPClientError.redirectCycleDetected
    }
    visited.append(target.absoluteString)
    var next = request
    next.url = target.absoluteString
    if becomesGet(response.status, request.method) {
      next.method = .GET
      next.body = nil
      for name in ["Content-Length", "Content-Type"] { next.headers.remove(name: name) }
    }
    if !url.hasSameOrigin(as: target) {
      // Credentials for one origin must not go to another (RFC 9110 §15.4).
      for name in ["Origin", "Cookie", "Authorization", "Proxy-Authorization", "Host"] {
        next.headers.remove(name: name)
      }
    }
    // Content that was sent from a stream is gone.
    if let body = next.body, !body.isReplayable { return nil }
    return next
  }

  private static func target(of response: HTTPResponseHead, from url: URL) -> URL? {
    switch response.status {
    case .movedPermanently, .found, .seeOther, .temporaryRedirect, .permanentRedirect: break
    default: return nil
    }
    guard let location = response.headers.first(name: "Location"),
      let target = URL(string: location, relativeTo: url)?.absoluteURL,
      let scheme = target.scheme?.lowercased(),
      scheme == "http" || scheme == "https"
    else { return nil }
    return target
  }

  /// Whether the next request is a GET without content (RFC 9110 §15.4).
  private func becomesGet(_ status: HTTPResponseStatus, _ method: HTTPMethod) -> Bool {
    switch status {
    case .seeOther: method != .HEAD
    case .movedPermanently: method == .POST && !rules.retainHTTPMethodAndBodyOn301
    case .found: method == .POST && !rules.retainHTTPMethodAndBodyOn302
    default: false
    }
  }
}

extension URL {
  fileprivate func hasSameOrigin(as other: URL) -> Bool {
    host == other.host && scheme == other.scheme && port == other.port
  }
}
