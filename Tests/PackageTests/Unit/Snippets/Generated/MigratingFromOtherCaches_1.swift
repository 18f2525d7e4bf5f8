// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import Foundation
import HTTPCacheURLSession

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

private func MigratingFromOtherCaches_1() async throws {
  func configuration(in folder: URL, base: URLSessionConfiguration) throws -> URLSessionConfiguration {
    var configuration = HTTPCache.Configuration(diskCapacity: 256 << 20, directory: folder)
    configuration.targetRule = .ignoringQuery  // a protocol that used the path as its key
    var options = CachingOptions()
    options.shouldIntercept = { $0.httpMethod == "GET" && $0.url?.pathExtension == "json" }
    return .caching(with: try HTTPCache(configuration), options: options, base: base)
  }
}
