// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching

/// A page that had no lifetime when it was stored, and what may seem to permit its stale use in a shared cache. Each entry point
/// runs all cells: the second visitor never gets the first one's page.
package struct OneVisitor: Sendable, CustomStringConvertible {
  /// What the origin says of its pages.
  package enum Form: String, CaseIterable, Sendable {
    case nothing, maxAgeZero, expired, expiresZero, expiresAtDate, onlyTag

    package var fields: [(name: String, value: String)] {
      let (date, past) = ("Tue, 14 Nov 2023 22:13:20 GMT", "Thu, 19 Nov 1981 08:52:00 GMT")
      return switch self {
      case .nothing: []
      case .maxAgeZero: [("Cache-Control", "max-age=0")]
      case .expired: [("Date", date), ("Expires", past)]
      case .expiresZero: [("Expires", "0")]
      case .expiresAtDate: [("Date", date), ("Expires", date)]
      case .onlyTag: [("ETag", "\"1\"")]
      }
    }
  }

  /// What seems to permit the use.
  package enum Permission: String, CaseIterable, Sendable {
    case maxStale, onlyIfCached, disconnected, disconnectedForAny, grace, ifErrorOfRule, ifErrorOfRequest

    /// What the second visitor sends.
    package var fields: [(name: String, value: String)] {
      switch self {
      case .maxStale: [("Cache-Control", "max-stale")]
      case .onlyIfCached: [("Cache-Control", "only-if-cached, max-stale")]
      case .ifErrorOfRequest: [("Cache-Control", "stale-if-error=600")]
      case .disconnected, .disconnectedForAny, .grace, .ifErrorOfRule: []
      }
    }

    /// What the origin does when the second visitor comes.
    package var origin: Origin {
      switch self {
      case .maxStale, .onlyIfCached, .grace: .up
      case .disconnected, .disconnectedForAny: .gone
      case .ifErrorOfRule, .ifErrorOfRequest: .failing
      }
    }

    /// Sets what the operator or the application permits.
    package func configure(_ configuration: inout HTTPCache.Configuration) throws {
      configuration.rules.whenDisconnected = self == .disconnectedForAny ? .anyStored : .unlessForbidden
      let rule = CacheRule {
        if self == .grace { $0.grace = .seconds(600) }
        if self == .ifErrorOfRule { $0.staleIfError = .seconds(600) }
      }
      if self == .grace || self == .ifErrorOfRule { configuration.cacheRules = try CacheRules([rule]) }
    }
  }

  package enum Origin: Sendable {
    case up, failing, gone
  }

  package let form: Form
  package let permission: Permission

  package static let cells = Form.allCases.flatMap { form in
    Permission.allCases.map { OneVisitor(form: form, permission: $0) }
  }

  package var description: String { "\(form.rawValue), \(permission.rawValue)" }
}
