// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheProxy
import HTTPCaching

#if Redis
  import HTTPCacheRedis
#endif

/// The value of `--shared`.
enum SharedTierURL {
  /// The environment variable with the password, which other users of the machine cannot read, unlike the arguments.
  static let passwordVariable = "HTTPCACHE_SHARED_PASSWORD"

  /// Makes the tier at a URL. It connects when it is used.
  ///
  /// - Throws: ``ProxyConfiguration/ValidationError`` for an invalid URL, and in a build without the trait `Redis`.
  static func tier(_ url: String) throws -> any SharedTier {
    #if Redis
      do {
        return try RedisSharedTier(
          url, password: ProcessInfo.processInfo.environment[passwordVariable])
      } catch {
        throw ProxyConfiguration.ValidationError("--shared: \(error)")
      }
    #else
      throw ProxyConfiguration.ValidationError(
        "--shared: the command was built without Redis; build it with --traits CommandLine,Redis")
    #endif
  }
}
