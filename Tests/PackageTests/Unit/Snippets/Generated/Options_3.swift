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
  func options() -> CachingOptions {
    var options = CachingOptions()
    options.lifetime = { request, response in
      request.url?.host == "config.example.com" && [200, 304].contains(response.statusCode) ? .seconds(600) : nil
    }
    return options
  }
}
