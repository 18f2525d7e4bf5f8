// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

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
