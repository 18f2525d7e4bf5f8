// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import Foundation
import HTTPCacheURLSession

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

private func Options_3() async throws {
  func sharedOptions() -> CachingOptions {
    var options = CachingOptions()
    options.partition = { $0.value(forHTTPHeaderField: "X-Account") }
    options.policy = { $0.url?.path.hasPrefix("/archive") == true ? .returnCacheDataElseLoad : nil }
    return options
  }
}
