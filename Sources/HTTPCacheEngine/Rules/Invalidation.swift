// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// The target URIs that an unsafe request invalidates (RFC 9111 §4.4).
package enum Invalidation {
  /// Whether a method cannot change anything at the origin (RFC 9110 §9.2.1); all others, including unknown ones, may.
  package static func isSafe(_ method: HTTPRequest.Method) -> Bool {
    switch method {
    case .get, .head, .options, .trace: true
    default: method.isQuery || ["PROPFIND", "REPORT", "SEARCH"].contains(method.rawValue)
    }
  }

  /// Returns the target URI, and those that Location and Content-Location name at the same origin.
  ///
  /// Only after a 2xx or 3xx response. URIs of other origins are excluded: otherwise any site could remove the
  /// responses of another.
  static func targets(of request: HTTPRequest, response: HTTPResponse) -> [TargetURI] {
    guard !isSafe(request.method), (200...399).contains(response.status.code),
      let target = TargetURI(request)
    else { return [] }
    var targets = [target]
    for name in [HTTPField.Name.location, .contentLocation] {
      guard let reference = response.headerFields[name], let uri = target.resolving(reference),
        uri.hasSameOrigin(as: target), !targets.contains(uri)
      else { continue }
      targets.append(uri)
    }
    return targets
  }
}
