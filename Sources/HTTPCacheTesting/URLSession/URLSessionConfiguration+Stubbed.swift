// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheURLSession

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension URLSessionConfiguration {
  /// Returns a configuration whose sessions send requests to stubs instead of servers.
  ///
  /// As the `base` of `caching(with:base:)` it makes a session that caches the stubs' responses. A session without a
  /// cache gets redirect responses unchanged.
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
