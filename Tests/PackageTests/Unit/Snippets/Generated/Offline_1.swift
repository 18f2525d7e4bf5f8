// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import Foundation
import HTTPCacheURLSession

private func Offline_1() async throws {
  func offlineCache(in folder: URL) throws -> HTTPCache {
    var configuration = HTTPCache.Configuration(directory: folder)
    configuration.rules.whenDisconnected = .unlessForbidden
    return try HTTPCache(configuration)
  }
}
