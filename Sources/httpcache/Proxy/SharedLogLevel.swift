// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Logging

/// The level of a process's log, which may change while it runs.
final class SharedLogLevel: Sendable {
  private let level: Mutex<Logger.Level>

  init(_ level: Logger.Level) {
    self.level = Mutex(level)
  }

  var value: Logger.Level {
    get { level.withLock { $0 } }
    set { level.withLock { $0 = newValue } }
  }

  /// Returns a logger to standard error whose copies all have this level.
  func logger(label: String) -> Logger {
    Logger(label: label) { Handler(base: StreamLogHandler.standardError(label: $0), level: self) }
  }

  private struct Handler: LogHandler {
    var base: StreamLogHandler
    let level: SharedLogLevel

    var logLevel: Logger.Level {
      get { level.value }
      set { level.value = newValue }
    }

    var metadata: Logger.Metadata {
      get { base.metadata }
      set { base.metadata = newValue }
    }

    var metadataProvider: Logger.MetadataProvider? {
      get { base.metadataProvider }
      set { base.metadataProvider = newValue }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { base[metadataKey: key] }
      set { base[metadataKey: key] = newValue }
    }

    func log(event: LogEvent) {
      base.log(event: event)
    }
  }
}
