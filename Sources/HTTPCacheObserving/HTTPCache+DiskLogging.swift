// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheStore
import HTTPCaching
import Logging

extension HTTPCache.Configuration {
  /// Logs, from when the cache is opened, that the disk fails, with `warning`, and that it works again, with `notice`. A
  /// disk that fails and recovers by turns makes one line of each a minute.
  ///
  /// It uses `diskObserver`, and calls the observer that was there before.
  public mutating func logDiskFailures(to logger: Logger) {
    logDiskFailures(to: FailureLog(logger, recovery: "the disk works again"))
  }

  package mutating func logDiskFailures(to failures: FailureLog) {
    diskObserver = { [diskObserver] event in
      switch event.kind {
      case .failing:
        let cause = event.error.map { ": \($0)" } ?? ""
        failures.failed("disk", "the disk fails, responses are kept in memory only\(cause)")
      case .recovered: failures.recovered()
      default: break
      }
      diskObserver?(event)
    }
  }
}
