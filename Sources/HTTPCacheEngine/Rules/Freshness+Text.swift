// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

extension FreshnessLifetime.Source {
  /// The section that defines a lifetime from this source.
  package var section: String {
    switch self {
    case .none: "RFC 9111 §4.2.1"
    case .sharedMaxAge: "RFC 9111 §5.2.2.10"
    case .maxAge: "RFC 9111 §5.2.2.1"
    case .expires: "RFC 9111 §5.3"
    case .heuristic: "RFC 9111 §4.2.2"
    case .application: "Application"
    case .rule: "Rule"
    }
  }

  /// How the lifetime was determined, in one sentence.
  package var sentence: String {
    switch self {
    case .none: "The response has neither an explicit nor a heuristic lifetime."
    case .sharedMaxAge: "The lifetime is s-maxage, which is for shared caches."
    case .maxAge: "The lifetime is max-age."
    case .expires: "The lifetime is Expires minus Date; an invalid date counts as expired."
    case .heuristic:
      "The lifetime is heuristic: a share of the time from Last-Modified to Date, up to a limit."
    case .application: "The lifetime is set by the application."
    case .rule: "The lifetime is set by a rule."
    }
  }
}
