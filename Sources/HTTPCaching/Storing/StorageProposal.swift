// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheStore
import HTTPTypes

/// A complete response that is about to be stored. The application may still change it.
public struct StorageProposal: Sendable {
  /// The request that the response answers.
  public let request: HTTPRequest
  /// The head that is stored.
  public let response: HTTPResponse
  /// The content that is stored. For a partial response (RFC 9111 §3.3), a change is ignored.
  public var content: [UInt8]
  /// Where the response is stored; an empty set refuses it.
  public var tiers = StoreTiers.all
  /// The application's own bytes, kept with the response for as long as that is stored.
  public var annotation: [UInt8]?

  init(request: HTTPRequest, response: HTTPResponse, content: [UInt8]) {
    self.request = request
    self.response = response
    self.content = content
  }
}

/// Changes or refuses a response before it is stored, after the rules have allowed it. It must not block.
///
/// The response stays in memory until then, however large. If one fetch serves several callers, the cache calls the
/// hook of the first. The caller gets the content unchanged.
public typealias StorageHook = @Sendable (inout StorageProposal) -> Void

/// Sets the freshness lifetime of a response that has just arrived from the origin; `nil` leaves it to the origin.
///
/// The lifetime begins when the response arrives. It replaces the origin's times, and its `no-cache` and `no-store`. All
/// other rules apply: for example, a shared cache does not store a `private` response. The rule is also asked for a 304,
/// which updates the stored response. It must not block. If one fetch serves several callers, the rule of the first
/// decides.
///
/// - Parameters:
///   - request: the caller's request.
///   - response: the origin's response, as it arrived.
public typealias LifetimeRule = @Sendable (_ request: HTTPRequest, _ response: HTTPResponse) -> Duration?

/// Returns the rule for a lifetime that is the same for all successful responses (2xx), and for those that confirm one
/// (304). An error must not last as long as the content that was requested.
package func fixedLifetime(_ lifetime: Duration) -> LifetimeRule {
  { _, response in
    response.status.kind == .successful || response.status == .notModified ? lifetime : nil
  }
}
