// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheEngine
import HTTPTypes

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The target of a redirect response, and the method to use (RFC 9110 §15.4).
struct RedirectTarget {
  private let url: URL
  /// Whether the next request is a GET without content.
  let becomesGet: Bool
  private let isSameOrigin: Bool

  /// Reads the target of a response; `nil` if it is not a redirect, or has no usable `Location`: the application then gets the
  /// response itself.
  init?(_ response: HTTPResponse, of request: HTTPRequest, url: URL) {
    switch response.status.code {
    case 301, 302:
      // For POST, user agents change the method, and the RFC allows it (§15.4.2, §15.4.3).
      becomesGet = request.method == .post
    case 303: becomesGet = request.method != .head
    case 307, 308: becomesGet = false
    default: return nil
    }
    guard let location = response.headerFields[.location], !location.isEmpty,
      let target = URL(string: location, relativeTo: url)?.absoluteURL,
      let scheme = target.scheme, !scheme.isEmpty,
      target.host?.isEmpty == false || !Self.isHTTP(scheme)
    else { return nil }
    self.url = target.fragment == nil ? Self.inheriting(url.fragment, target) : target
    isSameOrigin = Self.origin(of: target) == Self.origin(of: url)
  }

  /// Returns the request to continue with.
  ///
  /// - Throws: `URLError.unsupportedURL` if the redirect leaves HTTP.
  func request(from request: URLRequest) throws -> URLRequest {
    guard Self.isHTTP(url.scheme ?? "") else {
      throw URLError(.unsupportedURL, url, "The redirect leads to a URL that is neither http nor https.")
    }
    var next = request
    next.url = url
    if becomesGet {
      next.httpMethod = "GET"
      next.httpBody = nil
      next.httpBodyStream = nil
      for name in [
        "Content-Length", "Content-Type", "Content-Encoding", "Content-Language", "Content-Location",
      ] {
        next.setValue(nil, forHTTPHeaderField: name)
      }
    }
    if !isSameOrigin {
      // Credentials for one origin must not go to another (§15.4).
      for name in ["Authorization", "Cookie", "Host"] { next.setValue(nil, forHTTPHeaderField: name) }
    }
    return next
  }

  private static func isHTTP(_ scheme: String) -> Bool {
    ["http", "https"].contains(scheme.lowercasedASCII)
  }

  /// The scheme, the host and the port (RFC 6454 §4).
  private static func origin(of url: URL) -> [String?] {
    let scheme = url.scheme?.lowercasedASCII
    let port = url.port ?? (scheme == "https" ? 443 : 80)
    return [scheme, url.host?.lowercasedASCII, "\(port)"]
  }

  /// Gives a target without a fragment the fragment of the URL that redirected to it (§10.2.2).
  private static func inheriting(_ fragment: String?, _ url: URL) -> URL {
    guard let fragment, var components = URLComponents(url: url, resolvingAgainstBaseURL: true) else {
      return url
    }
    components.percentEncodedFragment = fragment
    return components.url ?? url
  }
}
