// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheURLSession

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension URLSessionConfiguration {
  /// A configuration whose sessions ask stubs, and no server.
  ///
  /// As the `base` of `caching(with:base:)` it gives a session that caches what the stubs answer. A session without a cache
  /// is given redirects as they are.
  ///
  /// Only tasks for `http` and `https` URLs are answered. On Linux, download tasks fail; see there.
  ///
  /// - Parameters:
  ///   - stubs: the stubs that answer.
  ///   - base: the configuration to start from. It is copied.
  public static func stubbed(
    by stubs: HTTPStubs, base: URLSessionConfiguration = .ephemeral
  ) -> URLSessionConfiguration {
    guard let configuration = base.copy() as? URLSessionConfiguration else { return base }
    configuration.urlCache = nil
    configuration.protocolClasses =
      [StubClasses.shared.makeClass(for: stubs)] + (configuration.protocolClasses ?? [])
    return configuration
  }
}
