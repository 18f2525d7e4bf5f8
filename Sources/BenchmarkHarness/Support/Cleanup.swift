// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import ChildProcesses
import Dispatch
import Foundation

/// A directory that is removed after the body, however that ends; see also ``Interruption``.
package enum TemporaryDirectory {
  private static let existing = Mutex<Set<String>>([])

  package static func with<Result>(_ body: (_ path: String) throws -> Result) throws -> Result {
    let path = FileManager.default.temporaryDirectory
      .appendingPathComponent("cache-bench-\(UUID().uuidString)").path
    existing.withLock { _ = $0.insert(path) }
    defer { remove(path) }
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    return try body(path)
  }

  /// Removes all directories in use, when the process is about to end.
  package static func removeAll() { for path in existing.withLock({ $0 }) { remove(path) } }

  private static func remove(_ path: String) {
    // Twice: a thread that still writes may add a file after the first attempt.
    for _ in 0..<2 where FileManager.default.fileExists(atPath: path) {
      try? FileManager.default.removeItem(atPath: path)
    }
    existing.withLock { _ = $0.remove(path) }
  }
}

/// Handles control-C, and requests to end the process: kills child processes, removes temporary directories, then ends
/// the process.
package struct Interruption {
  private let sources: [any DispatchSourceSignal]

  package init() {
    sources = [SIGINT, SIGTERM, SIGHUP].map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global(qos: .userInteractive))
      source.setEventHandler {
        ChildProcess.killAll()
        TemporaryDirectory.removeAll()
        // Ends as the signal would have ended it, so that the shell sees the signal.
        signal(number, SIG_DFL)
        kill(getpid(), number)
      }
      source.resume()
      return source
    }
  }

  package func stop() {
    for source in sources { source.cancel() }
    for number in [SIGINT, SIGTERM, SIGHUP] { signal(number, SIG_DFL) }
  }
}
