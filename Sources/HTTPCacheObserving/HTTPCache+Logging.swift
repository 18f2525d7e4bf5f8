// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching
import Logging

extension HTTPCache {
  /// Logs the actions of the cache with their reasons, from now on.
  ///
  /// ```
  /// debug httpcache: not stored: The response carries no-store. (RFC 9111 §5.2.2.5)
  ///   method=GET reason=responseNoStore uri=https://a.example/feed
  /// ```
  ///
  /// Hits are logged with `trace`, failed requests with `notice`, all other actions with `debug`. Messages below the
  /// logger's level cost nothing. URIs are logged in full, and their queries may contain confidential data. So is the name of
  /// the partition. To log less, use `observe(_:_:)`.
  @discardableResult
  public func log(to logger: Logger) -> CacheObservation {
    let actions = CacheEvent.Action.allCases.filter { $0.logLevel >= logger.logLevel }
    return observe(actions) { event in
      var metadata: Logger.Metadata = [
        "method": "\(event.method.rawValue)", "uri": "\(event.uri)",
        "reason": "\(event.reason.rawValue)",
      ]
      if let source = event.source { metadata["source"] = "\(source.rawValue)" }
      if let bytes = event.byteCount { metadata["bytes"] = "\(bytes)" }
      if let refusal = event.refusal { metadata["store"] = "\(refusal)" }
      if !event.partition.isEmpty { metadata["partition"] = "\(event.partition)" }
      logger.log(
        level: event.action.logLevel, "\(event.action.phrase): \(event.reason)", metadata: metadata)
    }
  }
}

extension CacheEvent.Action {
  var logLevel: Logger.Level {
    switch self {
    case .served: .trace
    case .failed: .notice
    default: .debug
    }
  }

  fileprivate var phrase: String { self == .notStored ? "not stored" : description }
}
