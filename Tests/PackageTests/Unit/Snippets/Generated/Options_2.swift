// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import HTTPCacheURLSession

private func Options_2() async throws {
  var configuration = HTTPCache.Configuration()
  configuration.targetRule = .droppingTrackingParameters.then(.sortingParameters)
  _ = configuration
}
