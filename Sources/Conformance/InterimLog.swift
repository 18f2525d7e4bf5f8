// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPTypes

/// Records the interim responses that reached the client.
final class InterimLog: Sendable {
  private let log = Mutex<[HTTPResponse]>([])
  var heads: [HTTPResponse] { log.withLock { $0 } }
  func add(_ head: HTTPResponse) { log.withLock { $0.append(head) } }
}
