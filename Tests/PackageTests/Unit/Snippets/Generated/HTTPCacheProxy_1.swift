// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import HTTPCacheProxy
import HTTPCaching

private func HTTPCacheProxy_1() async throws {
  func run() async throws {
    let cache = try HTTPCache(.init(kind: .shared, memoryCapacity: 256 << 20))
    var configuration = ProxyConfiguration(
      listen: .init(host: "127.0.0.1", port: 8080), origin: .init(host: "127.0.0.1", port: 8000))
    configuration.origin.timeouts.firstByte = .seconds(30)
    let proxy = CachingProxy(configuration, cache: cache)
    try await proxy.run()
  }
}
