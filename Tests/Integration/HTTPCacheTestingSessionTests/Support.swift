// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheStore
import HTTPCacheTesting

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

func makeCache(clock: any CacheClock = TestClock()) throws -> HTTPCache {
  HTTPCache(store: try CacheStore(.init(memoryCapacity: 4 << 20)), configuration: .init(), clock: clock)
}

extension URLSessionConfiguration {
  /// An ephemeral one, with a timeout that a busy machine does not reach.
  static var patient: URLSessionConfiguration {
    let configuration = ephemeral
    configuration.timeoutIntervalForRequest = 600
    return configuration
  }
}
