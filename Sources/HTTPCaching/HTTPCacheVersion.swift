// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// The version of this package, as the command's `--version` and the proxy's `httpcache_build_info` tell it.
public enum HTTPCacheVersion {
  /// The version, as in "0.1.0".
  public static let current = "0.1.0"
}
