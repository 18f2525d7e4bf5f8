// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheObserving
import HTTPCaching
import Logging
import NIOCore

/// Observes each request to the origin: measures it, and logs failures, each kind once and then with a count.
struct OriginWatch: Sendable {
  private let statistics: SiteStatistics
  private let failures: FailureLog
  /// Failures of the proxy itself, and of requests that got no connection within its limits.
  private let shortages: FailureLog

  init(
    _ statistics: SiteStatistics, _ logger: Logger, clock: any CacheClock = SystemCacheClock.shared
  ) {
    self.statistics = statistics
    failures = FailureLog(logger, recovery: "the origin answers again", clock: clock)
    shortages = FailureLog(logger, recovery: "connections to the origin can be opened again", clock: clock)
  }

  /// Sends a request to the origin.
  func observe<Response>(_ send: () async throws -> Response) async throws -> Response {
    let start = NIODeadline.now()
    do {
      let response = try await send()
      answered(since: start)
      return response
    } catch {
      if !Task.isCancelled { failed(error) }
      throw error
    }
  }

  /// Records that the origin has responded to a request that was sent at a time.
  func answered(since start: NIODeadline) {
    statistics.originLatency.record(microseconds: (NIODeadline.now() - start).nanoseconds / 1000)
    failures.recovered()
    shortages.recovered()
  }

  /// Logs why the origin sent no response, or an incomplete one. Do not call it if the client has left: that is not a failure
  /// of the origin.
  func failed(_ error: any Error) {
    guard let error = error as? OriginError, !error.isByProxy else { return }
    switch error.kind {
    // That the origin is down is logged once.
    case .destinationUnavailable: break
    case .proxyInternalError, .connectionLimitReached:
      shortages.failed(error.kind.rawValue, error.description)
    default: failures.failed(error.kind.rawValue, error.description)
    }
  }
}
