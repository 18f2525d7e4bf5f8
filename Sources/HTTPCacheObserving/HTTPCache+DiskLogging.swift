// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheStore
import HTTPCaching
import Logging

extension HTTPCache.Configuration {
  /// Logs disk failures with `warning`, and recoveries with `notice`, from when the cache is opened. A disk that fails
  /// and recovers in turn makes one line of each a minute. Also logs, with `warning`, if the opening discards an unreadable
  /// cache, or if an `HTTPURLCache` cannot open its directory.
  ///
  /// The method sets `store.diskObserver`; the previous observer is still called.
  public mutating func logDiskFailures(to logger: Logger) {
    logDiskFailures(to: FailureLog(logger, recovery: "the disk works again"))
    store.diskObserver = { [diskObserver = store.diskObserver] event in
      let problem = event.error.map { "\($0.problem)" } ?? "unknown"
      switch event.kind {
      case .discarded: logger.warning("started empty", metadata: ["reason": "\(problem)"])
      case .unavailable: logger.warning("works in memory only", metadata: ["reason": "\(problem)"])
      default: break
      }
      diskObserver?(event)
    }
  }

  package mutating func logDiskFailures(to failures: FailureLog) {
    store.diskObserver = { [diskObserver = store.diskObserver] event in
      let cause = event.error.map { ": \($0)" } ?? ""
      switch event.kind {
      case .full:
        failures.failed("disk", "the file system is full; stored responses are evicted for new ones\(cause)")
      case .failing:
        failures.failed("disk", "the disk fails; responses are kept in memory only\(cause)")
      case .recovered: failures.recovered()
      default: break
      }
      diskObserver?(event)
    }
  }
}
