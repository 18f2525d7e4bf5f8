// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching
import Logging

extension HTTPCache.Configuration {
  /// Logs the events of the cache from its opening on, as ``HTTPCaching/HTTPCache/log(to:_:)`` does.
  public mutating func log(
    to logger: Logger, _ actions: some Sequence<CacheEvent.Action> = CacheEvent.Action.allCases
  ) {
    log(CacheLog(logger), actions)
  }

  package mutating func log(_ log: CacheLog, _ actions: some Sequence<CacheEvent.Action>) {
    observe(log.heard(actions), log.add)
  }
}

extension HTTPCache {
  /// Logs the events of the cache, from now on. `HTTPCache.Configuration` has the same method, which also logs what
  /// fails at the opening.
  ///
  /// ```
  /// debug httpcache: not stored: The response carries no-store. (RFC 9111 §5.2.2.5)
  ///   method=GET reason=responseNoStore uri=https://a.example/feed
  /// ```
  ///
  /// Failures of the disk and of the shared tier are logged with `warning`, and their ends with `notice`. A state that
  /// comes and goes makes one message of each a minute.
  ///
  /// Hits are logged with `trace`, failed requests with `notice`, all other actions with `debug`. Messages below the
  /// logger's level cost nothing. URIs are logged in full, and their queries may contain confidential data. So is the name of
  /// the partition. To log less, use `observe(_:_:)`.
  ///
  /// - Parameters:
  ///   - logger: the logger; its level counts when this method is called.
  ///   - actions: the actions to log (default: all).
  @discardableResult
  public func log(
    to logger: Logger, _ actions: some Sequence<CacheEvent.Action> = CacheEvent.Action.allCases
  ) -> CacheObservation {
    let log = CacheLog(logger)
    return observe(log.heard(actions), log.add)
  }
}

/// Logs the events of one cache.
package struct CacheLog: Sendable {
  private let logger: Logger
  private let disk, tier, step: FailureLog

  /// - Parameter failures: makes the logs of failures, by the messages for their ends.
  package init(_ logger: Logger, failures: ((String) -> FailureLog)? = nil) {
    let failures = failures ?? { FailureLog(logger, recovery: $0) }
    self.logger = logger
    disk = failures("the disk works again")
    tier = failures("the shared tier is available again")
    step = failures("in step with the shared tier again")
  }

  /// Returns the actions to observe. The level of a logger may change: rare events and ends of failures are observed at
  /// each level, so that none is missed then.
  func heard(_ actions: some Sequence<CacheEvent.Action>) -> [CacheEvent.Action] {
    actions.filter { $0.change != nil || $0.logLevel >= logger.logLevel }
  }

  @Sendable
  func add(_ event: CacheEvent) {
    switch event.action {
    case .diskFailing, .diskFull: disk.failed("disk", "\(event)")
    case .diskRecovered: disk.recovered()
    case .sharedTierUnavailable: tier.failed("shared", "\(event)")
    case .sharedTierAvailable: tier.recovered()
    case .outOfStep: step.failed("step", "\(event)")
    case .inStep: step.recovered()
    default:
      let message = event.reason.map { "\(event.action.phrase): \($0)" } ?? "\(event)"
      logger.log(level: event.action.logLevel, "\(message)", metadata: event.metadata)
    }
  }
}

extension CacheEvent {
  fileprivate var metadata: Logger.Metadata {
    var metadata: Logger.Metadata = [:]
    if let request, let reason {
      metadata = ["method": "\(request.method.rawValue)", "uri": "\(uri)", "reason": "\(reason.rawValue)"]
    }
    if let source { metadata["source"] = "\(source.rawValue)" }
    if let byteCount { metadata["bytes"] = "\(byteCount)" }
    if let refusal { metadata["store"] = "\(refusal)" }
    if !partition.isEmpty { metadata["partition"] = "\(partition)" }
    return metadata
  }
}

extension CacheEvent.Action {
  var logLevel: Logger.Level {
    switch self {
    case .served: .trace
    case .failed, .diskRecovered, .sharedTierAvailable, .inStep: .notice
    default: change == nil ? .debug : .warning
    }
  }

  fileprivate var phrase: String { self == .notStored ? "not stored" : description }
}
