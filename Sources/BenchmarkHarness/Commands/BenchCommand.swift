// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import Foundation

/// A progress line on standard error, if that is a terminal and the work takes long.
package struct ProgressLine: Sendable {
  private static let patience: UInt64 = 2_000_000_000

  private let isShown: Bool
  private let start = MonotonicClock.now

  package init(isShown: Bool = isatty(STDERR_FILENO) == 1) { self.isShown = isShown }

  /// Replaces the shown text.
  package func show(_ text: String) {
    guard isShown, MonotonicClock.now - start > Self.patience else { return }
    // The terminal erases the rest of the line.
    FileHandle.standardError.write(Data("\r\u{1B}[K\(text)".utf8))
  }

  package func clear() { show("") }
}

/// A subcommand that measures and prints a report.
package protocol BenchCommand: AsyncParsableCommand {
  var json: Bool { get }
  func report(_ progress: ProgressLine) async throws -> Report
}

extension BenchCommand {
  package func run() async throws {
    let interruption = Interruption()
    defer { interruption.stop() }
    let progress = ProgressLine()
    defer { progress.clear() }
    let report = try await report(progress)
    progress.clear()
    let text = json ? try report.json() : report.text
    FileHandle.standardOutput.write(Data((text.hasSuffix("\n") ? text : text + "\n").utf8))
  }
}
