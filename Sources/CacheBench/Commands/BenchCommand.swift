// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import Foundation
import Synchronization

/// What is being done, on one line of standard error, if that is a terminal and it takes long.
final class ProgressLine: Sendable {
  private static let patience: UInt64 = 2_000_000_000

  private let isShown: Bool
  private let start = MonotonicClock.now
  private let width = Mutex(0)

  init(isShown: Bool = isatty(STDERR_FILENO) == 1) {
    self.isShown = isShown
  }

  func show(_ text: String) {
    guard isShown, MonotonicClock.now - start > Self.patience else { return }
    width.withLock { width in
      write("\r" + text + String(repeating: " ", count: max(0, width - text.count)))
      width = text.count
    }
  }

  func clear() {
    width.withLock { width in
      guard width > 0 else { return }
      write("\r" + String(repeating: " ", count: width) + "\r")
      width = 0
    }
  }

  private func write(_ text: String) {
    FileHandle.standardError.write(Data(text.utf8))
  }
}

/// A subcommand that measures and prints a report.
protocol BenchCommand: ParsableCommand {
  var json: Bool { get }
  func report(_ progress: ProgressLine) throws -> Report
}

extension BenchCommand {
  func run() throws {
    let interruption = Interruption()
    defer { interruption.stop() }
    let progress = ProgressLine()
    defer { progress.clear() }
    let report = try report(progress)
    progress.clear()
    try report.print(asJSON: json)
  }
}

/// The same with requests, which are asynchronous.
protocol AsyncBenchCommand: AsyncParsableCommand {
  var json: Bool { get }
  func report(_ progress: ProgressLine) async throws -> Report
}

extension AsyncBenchCommand {
  func run() async throws {
    let interruption = Interruption()
    defer { interruption.stop() }
    let progress = ProgressLine()
    defer { progress.clear() }
    let report = try await report(progress)
    progress.clear()
    try report.print(asJSON: json)
  }
}

extension Report {
  fileprivate func print(asJSON: Bool) throws {
    let text = asJSON ? try json() : self.text
    FileHandle.standardOutput.write(Data((text.hasSuffix("\n") ? text : text + "\n").utf8))
  }
}
