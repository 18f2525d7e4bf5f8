// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// The scopes that a response invalidates besides the URIs that it names: groups (RFC 9875), and all of its origin
/// (Clear-Site-Data).
enum ScopeInvalidation {
  /// Maximum number of groups that one response marks separately. Beyond it, all of their origin is marked. The more
  /// marks one response can leave, the sooner those of others must be dropped.
  static let mostGroups = 64

  static func scopes(
    after exchange: CacheEngine.Exchange, response: HTTPResponse, _ fields: ResponseFields,
    configuration: CacheEngine.Configuration
  ) -> [CacheEngine.Outcome.InvalidatedScope] {
    let request = exchange.forwarding.original
    // RFC 9875 §3: the field is ignored on responses to safe methods. The most frequent case is checked first.
    let isCleared = fields.clearsSiteData && clearsOrigin(response, to: request, configuration)
    guard isCleared || !Invalidation.isSafe(request.method), let target = TargetURI(request) else {
      return []
    }
    func everything(_ reason: CacheEngine.Reason) -> [CacheEngine.Outcome.InvalidatedScope] {
      [.init(scope: CacheScope(target: target), reason: reason)]
    }
    if isCleared { return everything(.clearedByOrigin) }
    var groups: [(name: String, reason: CacheEngine.Reason)] = []
    if let name = HTTPField.Name.cacheGroupInvalidation {
      let named = (try? StructuredField.strings(response.headerFields[values: name])) ?? []
      groups = named.map { ($0, .invalidatedByGroup) }
    }
    // RFC 9875 §2.2.1: a stored response is invalidated together with those that share a group with it. It is not
    // transitive.
    if !Invalidation.targets(of: request, response: response).isEmpty {
      for stored in exchange.candidates { groups += stored.groups.map { ($0, .invalidatedWithGroup) } }
    }
    var seen: Set<String> = []
    groups = groups.filter { seen.insert($0.name).inserted }
    guard groups.count <= mostGroups else { return everything(.invalidatedByGroup) }
    return groups.map { .init(scope: CacheScope(target: target, group: $0.name), reason: $0.reason) }
  }

  /// Whether the response clears all of its origin, by `Clear-Site-Data: "cache"` or `"*"`.
  ///
  /// Only over HTTPS, as the specification requires: on an unencrypted connection, anyone could send it. The field is
  /// for user agents. In a shared cache, one user's logout would empty the cache for all, and so would a client that
  /// requests that page repeatedly.
  static func clearsOrigin(
    _ response: HTTPResponse, to request: HTTPRequest, _ configuration: CacheEngine.Configuration
  ) -> Bool {
    guard configuration.clearsSiteData ?? (configuration.kind == .private),
      request.scheme?.lowercasedASCII == "https", let name = HTTPField.Name.clearSiteData
    else { return false }
    return response.headerFields[values: name].contains { line in
      line.withFieldBytes { bytes in
        var members = ListMembers(bytes.whole)
        while let member = members.next(in: bytes) {
          let text = bytes.string(member)
          if text == "\"cache\"" || text == "\"*\"" { return true }
        }
        return false
      }
    }
  }
}

extension HTTPField.Name {
  fileprivate static let cacheGroupInvalidation = HTTPField.Name("Cache-Group-Invalidation")
  fileprivate static let clearSiteData = HTTPField.Name("Clear-Site-Data")
}

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
