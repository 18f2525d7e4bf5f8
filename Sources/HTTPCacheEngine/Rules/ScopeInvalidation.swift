// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// What a response makes invalid beside the URIs that it names: groups (RFC 9875), and all of its origin
/// (Clear-Site-Data).
enum ScopeInvalidation {
  /// The most groups of one response that are marked one by one. For more, their origin is: the more marks one response
  /// can leave, the sooner those of others must be given up.
  static let mostGroups = 64

  static func scopes(
    after exchange: CacheEngine.Exchange, response: HTTPResponse, _ fields: ResponseFields,
    configuration: CacheEngine.Configuration
  ) -> [CacheEngine.Outcome.InvalidatedScope] {
    let request = exchange.forwarding.original
    // RFC 9875 §3: the field is ignored on responses to safe methods. What concerns nearly all is asked first.
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
    // RFC 9875 §2.2.1: with a stored response, those that share a group with it. That goes no further.
    if !Invalidation.targets(of: request, response: response).isEmpty {
      for stored in exchange.candidates { groups += stored.groups.map { ($0, .invalidatedWithGroup) } }
    }
    var seen: Set<String> = []
    groups = groups.filter { seen.insert($0.name).inserted }
    guard groups.count <= mostGroups else { return everything(.invalidatedByGroup) }
    return groups.map { .init(scope: CacheScope(target: target, group: $0.name), reason: $0.reason) }
  }

  /// Whether the response has all of its origin removed, by `Clear-Site-Data: "cache"` or `"*"`.
  ///
  /// Only over HTTPS, as the specification has it: on an open connection, anybody could. It speaks to user agents. A
  /// shared cache that did as it says would let one user's logout, or anybody who asks for that page again and again,
  /// empty it for all.
  static func clearsOrigin(
    _ response: HTTPResponse, to request: HTTPRequest, _ configuration: CacheEngine.Configuration
  ) -> Bool {
    guard configuration.clearsSiteData ?? (configuration.kind == .private),
      request.scheme?.lowercased() == "https", let name = HTTPField.Name.clearSiteData
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
