// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

extension HTTPCache {
  /// The version of this package; `httpcache --version` and the metric `httpcache_build_info` show it.
  public static let version = "0.1.0"
}
