// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// What an unsafe request makes invalid (RFC 9111 §4.4).
enum Invalidation {
  /// Methods that cannot change anything at the origin (RFC 9110 §9.2.1); all others, unknown ones too, may.
  static func isSafe(_ method: HTTPRequest.Method) -> Bool {
    switch method {
    case .get, .head, .options, .trace: true
    default: method.isQuery || ["PROPFIND", "REPORT", "SEARCH"].contains(method.rawValue)
    }
  }

  /// The target URI, and those that Location and Content-Location name at the same origin.
  ///
  /// Only after a 2xx or 3xx response; a URI of another origin is left alone, or any site could empty our cache of
  /// another's.
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
