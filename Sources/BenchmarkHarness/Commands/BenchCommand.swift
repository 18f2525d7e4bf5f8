// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import Foundation

/// A progress line on standard error, if that is a terminal and the work takes long.
package struct ProgressLine: Sendable {
  private static let patience: UInt64 = 2_000_000_000

  private let isShown: Bool
  private let listsSteps: Bool
  private let start = MonotonicClock.now

  /// - Parameter listsSteps: whether each step has a line of its own if nothing else is shown.
  package init(isShown: Bool = isatty(STDERR_FILENO) == 1, listsSteps: Bool = false) {
    self.isShown = isShown
    self.listsSteps = listsSteps && !isShown
  }

  /// Replaces the shown text.
  package func show(_ text: String) {
    guard isShown, MonotonicClock.now - start > Self.patience else { return }
    // The terminal erases the rest of the line.
    Output.note("\r\u{1B}[K\(text)")
  }

  /// Shows the beginning of a step that may take minutes.
  package func begin(_ step: String) {
    if listsSteps { Output.note("\(step)\n") } else { show(step) }
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
    try Output.requireOpen()
    let interruption = Interruption()
    defer { interruption.stop() }
    let progress = ProgressLine(listsSteps: !json)
    defer { progress.clear() }
    let report = try await report(progress)
    progress.clear()
    let text = json ? try report.json() : report.text
    try Output.write(text.hasSuffix("\n") ? text : text + "\n")
  }
}
