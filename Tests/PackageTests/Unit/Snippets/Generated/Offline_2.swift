// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import Foundation
import HTTPCacheURLSession

private func Offline_2() async throws {
  func options(isConnected: @escaping @Sendable () -> Bool) -> CachingOptions {
    var options = CachingOptions()
    options.isReachable = { _ in isConnected() }
    return options
  }
}
