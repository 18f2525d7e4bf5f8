// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching
import Logging

extension HTTPCache.Configuration {
  /// Logs failures of the shared tier, and times when the cache is out of step with it, with `warning`; their ends with
  /// `notice`. A state that comes and goes makes one line of each a minute; a failure that lasts makes one an hour.
  ///
  /// The method sets `sharedTier.observer`; the previous observer is still called. Without a shared tier it does nothing.
  public mutating func logSharedTier(to logger: Logger) {
    logSharedTier(
      failures: FailureLog(logger, recovery: "the shared tier is available again"),
      steps: FailureLog(logger, recovery: "in step with the shared tier again"))
  }

  package mutating func logSharedTier(failures: FailureLog, steps: FailureLog) {
    guard let observer = sharedTier.map(\.observer) else { return }
    sharedTier?.observer = { event in
      switch event {
      case .unavailable: failures.failed("shared", "\(event)")
      case .available: failures.recovered()
      case .outOfStep: steps.failed("step", "\(event)")
      case .inStep: steps.recovered()
      }
      observer?(event)
    }
  }
}
