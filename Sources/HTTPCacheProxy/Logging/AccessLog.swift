// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheObserving
import HTTPCaching
import Logging
import NIOCore
import SystemPackage

/// The access log: a line for each request, written by a dedicated thread.
///
/// Event loops write lines into their own buffers, and this class writes the buffers to the file. It writes at once if
/// a buffer is full, otherwise a second after its first line. An event loop never waits for the file. While the file
/// accepts nothing, because the disk is full or a pipe is not read, the buffers grow to their limit. After that, lines
/// are dropped and counted.
final class AccessLog: Sendable {
  /// Maximum bytes of waiting lines for each event loop; as many may be in a write to the file.
  static let limit = 1 << 20
  /// Maximum time that a line waits.
  static let delay = TimeAmount.seconds(1)

  /// Number of dropped lines.
  let dropped: MetricCount
  private let configuration: ProxyConfiguration.AccessLogOptions
  /// The event loop whose thread writes, and may block.
  private let loop: any EventLoop
  private let clock: any CacheClock
  private let logger: Logger
  private let failures: FailureLog
  private let limit: Int
  /// Maximum time to wait for a reader of a pipe before other work gets a turn, in milliseconds.
  private let patience: Int32
  private let sink: Mutex<LogSink>
  private let lines = Mutex<[ObjectIdentifier: AccessLogLines]>([:])
  /// Whether a write is scheduled.
  private let isScheduled = Atomic(false)

  /// Opens the log.
  ///
  /// - Throws: ``ProxyConfiguration/ValidationError`` if the file cannot be written to.
  init(
    _ configuration: ProxyConfiguration.AccessLogOptions, loop: any EventLoop, dropped: MetricCount,
    logger: Logger,
    clock: any CacheClock = SystemCacheClock.shared, limit: Int = AccessLog.limit, patience: Int32 = 1000
  ) throws {
    self.configuration = configuration
    self.loop = loop
    self.dropped = dropped
    self.logger = logger
    self.clock = clock
    self.limit = limit
    self.patience = patience
    failures = FailureLog(logger, recovery: "the access log is written again", clock: clock)
    sink = Mutex(try Self.sink(configuration))
  }

  private static func sink(_ configuration: ProxyConfiguration.AccessLogOptions) throws -> LogSink {
    do {
      return try LogSink(configuration.destination)
    } catch {
      throw ProxyConfiguration.ValidationError(
        "cannot open the access log \(configuration.destination): \(error); choose another file")
    }
  }

  /// Checks that the log can be opened.
  ///
  /// - Throws: ``ProxyConfiguration/ValidationError`` if the file cannot be written to.
  static func check(_ configuration: ProxyConfiguration.AccessLogOptions) throws {
    var sink = try sink(configuration)
    _ = sink.close()
  }

  /// The buffer of an event loop.
  func lines(of loop: any EventLoop) -> AccessLogLines {
    lines.withLock { lines in
      if let known = lines[ObjectIdentifier(loop)] { return known }
      let new = AccessLogLines(configuration.format, limit: limit, clock: clock, log: self)
      lines[ObjectIdentifier(loop)] = new
      return new
    }
  }

  // MARK: - Writing

  func writeSoon() { writeLater(Self.delay) }

  func writeNow() { loop.execute { [self] in write() } }

  private func writeLater(_ delay: TimeAmount) {
    // Ordered with the buffers: a line that finds a write scheduled is in its buffer before that write.
    guard !isScheduled.exchange(true, ordering: .acquiringAndReleasing) else { return }
    loop.scheduleTask(in: delay) { [self] in
      _ = isScheduled.exchange(false, ordering: .acquiringAndReleasing)
      write()
    }
  }

  private func write() {
    switch sink.withLock({ write(to: &$0) }) {
    case .done: failures.recovered()
    case .blocked: writeLater(.milliseconds(100))
    case .failed(let error):
      failures.failed("write", "cannot write the access log \(configuration.destination): \(error)")
      writeLater(Self.delay)
    }
  }

  private func write(to sink: inout LogSink) -> LogSink.Progress {
    var progress = sink.write(patience: patience)
    for lines in lines.withLock({ Array($0.values) }) {
      guard progress == .done else { break }
      let count = lines.move(into: &sink)
      if count > 0 { drop(count) }
      progress = sink.write(patience: patience)
    }
    return progress
  }

  private func drop(_ count: Int) {
    dropped.increment(by: count)
    failures.failed(
      "drop", "the access log \(configuration.destination) fell behind: lines are missing", count: count)
  }

  // MARK: - Rotation

  /// Opens the file under its name again, after it was moved away. If that fails, the old file stays in use, and the
  /// proxy logs a warning.
  func reopen() {
    loop.execute { [self] in
      write()
      do {
        let lost = try sink.withLock { try $0.reopen() }
        if lost > 0 { drop(lost) }
      } catch {
        logger.warning(
          "cannot reopen the access log \(configuration.destination): \(error); the old file stays in use")
      }
    }
  }

  /// Writes the waiting lines and closes the file. Drops lines that the reader of a pipe does not accept.
  func close() async {
    try? await loop.submit { [self] in
      write()
      var lost = sink.withLock { $0.close() }
      // Lines that event loops still have, if the sink accepted no more.
      for lines in lines.withLock({ Array($0.values) }) { lost += lines.removeAll() }
      if lost > 0 { drop(lost) }
    }.get()
  }
}

extension ProxyConfiguration.AccessLogOptions.Destination: CustomStringConvertible {
  public var description: String {
    switch self {
    case .standardOutput: "-"
    case .file(let path): path
    }
  }
}
