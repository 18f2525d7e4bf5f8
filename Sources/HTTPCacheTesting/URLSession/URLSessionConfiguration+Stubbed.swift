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
  /// As the `base` of `caching(with:base:)` it makes a session that caches the stubs' responses. So does a `base` that
  /// `caching(with:base:)` made: the stubs take the place of the servers, and the cache stays in front of them. A session
  /// without a cache gets redirect responses unchanged.
  ///
  /// The stubs see the configuration's `httpAdditionalHeaders`, whether you set them before this call or after it.
  ///
  /// Only tasks for `http` and `https` URLs are answered. On Linux, download tasks fail; see there. For code that uses
  /// `URLSession.shared`, see ``HTTPStubs/installInSharedSession()``.
  ///
  /// - Parameters:
  ///   - stubs: the stubs that answer.
  ///   - base: the configuration to start from. It is copied.
  public static func stubbed(
    by stubs: HTTPStubs, base: URLSessionConfiguration = .ephemeral
  ) -> URLSessionConfiguration {
    guard let configuration = base.copy() as? URLSessionConfiguration else { return base }
    configuration.urlCache = nil
    let binding = StubBinding(stubs: stubs, configuration: SendableConfiguration(configuration))
    configuration.protocolClasses =
      [StubClasses.shared.makeClass(for: binding)] + (configuration.protocolClasses ?? [])
    // The first class that can answer does: the cache's own must come before the stubs.
    guard let (cache, options) = base.caching else { return configuration }
    return .caching(with: cache, options: options, base: configuration)
  }
}
