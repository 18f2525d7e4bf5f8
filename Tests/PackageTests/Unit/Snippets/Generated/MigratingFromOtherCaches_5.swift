// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import Foundation
import HTTPCacheURLSession

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

private func MigratingFromOtherCaches_5() async throws {
  func options() -> CachingOptions {
    var options = CachingOptions()
    options.willCache = { proposed, request in
      guard request.url?.path != "/login" else { return nil }  // .doNotCache
      return CachedURLResponse(  // .modify
        response: proposed.response, data: proposed.data, userInfo: ["storedBy": "my-app"],
        storagePolicy: .allowed)
    }
    return options
  }
}
