// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// Whether a response may be stored (RFC 9111 §3).
enum Storability {
  /// Whether a status code is cacheable by default (RFC 9110 §15.1; 451: RFC 7725 §3).
  static func isHeuristicallyCacheable(_ status: Int) -> Bool {
    switch status {
    case 200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 451, 501: true
    default: false
    }
  }

  /// Whether this cache implements the caching of a status code, for `must-understand` (§5.2.2.3).
  static func isUnderstood(_ status: Int) -> Bool {
    switch status {
    case 200, 203, 204, 206, 300, 301, 302, 303, 307, 308, 400, 401, 403, 404, 405, 410, 414, 451, 500, 501,
      502, 503, 504:
      true
    default: false
    }
  }

  /// Whether a status code concerns one request, its range or its preconditions, and not the resource. Stored, such a
  /// response would answer other requests (304: §3; 412, 416: RFC 9110 §15.5.13, §15.5.17). The others MUST NOT be
  /// stored, whatever their fields (RFC 6585 §3 to §6). ``PartialContent`` decides about a 206.
  private static func isAboutTheRequest(_ status: Int) -> Bool {
    switch status {
    case 304, 412, 416, 428, 429, 431, 511: true
    default: false
    }
  }

  /// Returns the reason against storing, or `nil` if the response may be stored.
  static func obstacle(
    method: HTTPRequest.Method, request: RequestFields, status: Int, response: ResponseFields,
    arrival: Timestamp, configuration: CacheEngine.Configuration
  ) -> CacheEngine.Reason? {
    if let ruling = configuration.ruling {
      if ruling.isBypassed { return .bypassedByRule }
      if ruling.decision.isRefused == true { return .refusedByRule }
    }
    let kind = configuration.kind
    let directives = response.cacheControl.flags
    guard method.isRetrieval else { return .methodNotStored }
    guard (200...999).contains(status) else { return .statusNotFinal }
    if isAboutTheRequest(status) { return .statusNotUnderstood }
    if !isUnderstood(status), !directives.isDisjoint(with: [.mustUnderstand, .misplacedUnderstand]) {
      return .statusNotUnderstood
    }
    // §5.2.2.3: with must-understand, no-store applies only to caches that do not understand the status code.
    if directives.contains(.noStore), !directives.contains(.mustUnderstand) { return .responseNoStore }
    if request.cacheControl.contains(.noStore) { return .requestNoStore }
    if kind == .shared {
      if response.forbidsShared { return .responseNoStore }
      if !directives.isDisjoint(with: [.isPrivate, .misplacedPrivate]) { return .privateInSharedCache }
      if request.hasAuthorization, !allowsSharedReuseOfAuthorized(response.cacheControl),
        configuration.ruling?.decision.sharesAuthorized != true
      {
        return .authorizedInSharedCache
      }
    }
    let declared =
      directives.contains(.isPublic) || response.cacheControl.maxAge != nil || response.expires != .absent
      || (kind == .private && directives.contains(.isPrivate))
      || (kind == .shared && response.cacheControl.sharedMaxAge != nil)
    guard declared || isHeuristicallyCacheable(status) else { return .notDeclaredCacheable }
    return SharedCookies.obstacle(status: status, response, arrival: arrival, configuration)
  }

  /// The directives that allow a shared cache to reuse a response to a request with Authorization (§3.5).
  private static func allowsSharedReuseOfAuthorized(_ directives: CacheControl) -> Bool {
    directives.contains(.mustRevalidate) || directives.contains(.isPublic)
      || directives.sharedMaxAge != nil
  }
}
