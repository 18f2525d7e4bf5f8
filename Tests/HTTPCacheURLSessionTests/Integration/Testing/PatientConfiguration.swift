// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension URLSessionConfiguration {
  /// An ephemeral one, with a timeout that a busy machine does not reach.
  static var patient: URLSessionConfiguration {
    let configuration = ephemeral
    configuration.timeoutIntervalForRequest = 600
    return configuration
  }
}
