// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCaching
import HTTPTypes

/// An origin whose responses name their version and have one shape.
package final class VersionedOrigin: Sendable {
  private let version = Mutex(1)
  private let log = Mutex<[HTTPRequest]>([])
  package let shape: ResponseShape

  package init(_ shape: ResponseShape = ResponseShape()) {
    self.shape = shape
  }

  package var requests: [HTTPRequest] { log.withLock { $0 } }
  package var current: Int { version.withLock { $0 } }
  package func change() { version.withLock { $0 += 1 } }

  package var transport: Transport {
    { [self] request, _ in
      log.withLock { $0.append(request) }
      // Only a successful response invalidates.
      if request.method == .post { return TransportResponse(head: HTTPResponse(status: .ok)) }
      return shape.response(current, to: request)
    }
  }
}
