// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import AsyncHTTPClient
import HTTPCacheEngine
import NIOHTTP1

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension CachingHTTPClient.Redirects {
  /// Makes the rules of `RedirectConfiguration.follow(max:allowCycles:)`: a 301 or 302 to a POST is followed with a GET.
  ///
  /// - Parameters:
  ///   - max: maximum number of redirects.
  ///   - allowCycles: whether a URL may occur twice.
  public static func follow(max: Int, allowCycles: Bool = false) -> Self {
    Self(
      max: max, allowCycles: allowCycles, retainHTTPMethodAndBodyOn301: false,
      retainHTTPMethodAndBodyOn302: false)
  }
}

/// Follows redirects as `HTTPClient` does, so that a program behaves the same with a cache.
extension CachingHTTPClient.Redirects {
  /// Returns the request that follows the last response; `nil` if that is the answer.
  ///
  /// - Parameter history: all requests so far, and their responses.
  /// - Throws: `HTTPClientError.redirectLimitReached` or `redirectCycleDetected`.
  func next(after history: [HTTPClientRequestResponse]) throws -> HTTPClientRequest? {
    // The status first: parsing the URL takes longer than the rest of a hit.
    guard let last = history.last, Self.isRedirect(last.responseHead.status),
      let url = URL(string: last.request.url), let target = Self.target(of: last.responseHead, from: url)
    else { return nil }
    guard history.count <= max else { throw HTTPClientError.redirectLimitReached }
    guard allowCycles || !history.contains(where: { $0.request.url == target.absoluteString }) else {
      throw HTTPClientError.redirectCycleDetected
    }
    var next = last.request
    next.url = target.absoluteString
    if becomesGet(last.responseHead.status, next.method) {
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
    return next
  }

  private static func isRedirect(_ status: HTTPResponseStatus) -> Bool {
    switch status {
    case .movedPermanently, .found, .seeOther, .temporaryRedirect, .permanentRedirect: true
    default: false
    }
  }

  private static func target(of response: HTTPResponseHead, from url: URL) -> URL? {
    guard let location = response.headers.first(name: "Location"),
      let target = URL(string: location, relativeTo: url)?.absoluteURL,
      let scheme = target.scheme?.lowercasedASCII,
      scheme == "http" || scheme == "https"
    else { return nil }
    return target
  }

  /// Whether the next request is a GET without content (RFC 9110 §15.4).
  private func becomesGet(_ status: HTTPResponseStatus, _ method: HTTPMethod) -> Bool {
    switch status {
    case .seeOther: method != .HEAD
    case .movedPermanently: method == .POST && !retainHTTPMethodAndBodyOn301
    case .found: method == .POST && !retainHTTPMethodAndBodyOn302
    default: false
    }
  }
}

extension URL {
  fileprivate func hasSameOrigin(as other: URL) -> Bool {
    host == other.host && scheme == other.scheme && port == other.port
  }
}
