// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching
import NIOCore

/// A client's request until the end of its response, for the log and the counters.
struct RequestInFlight {
  var request: ClientRequest
  var start: NIODeadline
  private(set) var hasHead = false
  var status = AccessLogEntry.statusWithoutResponse
  private(set) var provenance: Provenance?
  /// Time from ``start`` to the head of the response.
  private(set) var microsecondsToHead: Int64 = 0
  var work = Work.none

  /// What makes the response, after the request was read.
  enum Work {
    case none
    case task(Task<Void, Never>)
    case exchange(SentRequest)
    /// The response is known, and its content goes out.
    case content(OutgoingContent)

    /// The client has left.
    func cancel() {
      switch self {
      case .none, .content: break
      case .task(let task): task.cancel()
      case .exchange(let sent): sent.leave()
      }
    }
  }

  init(_ request: ClientRequest, at start: NIODeadline) {
    (self.request, self.start) = (request, start)
  }

  /// Records the head of the final response.
  ///
  /// - Returns: the microseconds from ``start``.
  mutating func began(_ head: ResponseHead, at now: NIODeadline) -> Int64 {
    (hasHead, status, provenance) = (true, head.statusCode, head.provenance)
    microsecondsToHead = (now - start).nanoseconds / 1000
    return microsecondsToHead
  }
}
