// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import Foundation
import HTTPCacheURLSession

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

private func MigratingFromOtherCaches_4() async throws {
  final class Client {
    private let session: URLSession

    init(configuration: URLSessionConfiguration, delegate: any URLSessionDelegate) {
      session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    }
  }

  func client(with cache: HTTPCache, delegate: any URLSessionDelegate) -> Client {
    Client(configuration: .caching(with: cache), delegate: delegate)
  }
}
