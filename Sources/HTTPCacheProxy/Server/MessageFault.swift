// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// The fault of a message, and the status code that reports it to the sender.
struct MessageFault: Error, Hashable, CustomStringConvertible {
  var status: Int
  var reason: String

  init(_ reason: String) {
    self.init(400, reason)
  }

  init(_ status: Int, _ reason: String) {
    self.status = status
    self.reason = reason
  }

  var description: String { reason }
}
