// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ChildProcesses
import Foundation
import Testing

/// The command, as a process of its own. It is killed when its test ends.
struct CommandProcess: Sendable {
  /// What a process that has ended leaves behind.
  struct End: Sendable {
    /// `nil` if a signal killed it.
    var status: Int32?
    var output: String
    var errors: String
  }

  private let child: ChildProcess

  private init(_ arguments: [String], directory: String?, starter: [String]) throws {
    let program = try #require(Program.built("httpcache"), "httpcache is not beside the tests")
    let line = starter + [program] + arguments
    child = try ChildProcess(line[0], Array(line.dropFirst()), directory: directory, errors: .pipe)
  }

  /// Starts the command with a limit.
  ///
  /// - Parameter limit: arguments of `ulimit`.
  static func limiting(_ limit: String) -> [String] {
    ["/bin/sh", "-c", #"ulimit \#(limit) && exec "$0" "$@""#]
  }

  /// Runs the command while `body` runs.
  ///
  /// - Parameter starter: a program and its arguments: the command line follows, and the program becomes the command.
  static func run<Result>(
    _ arguments: [String], in directory: String? = nil, by starter: [String] = [],
    _ body: (CommandProcess) async throws -> Result
  ) async throws -> Result {
    let process = try CommandProcess(arguments, directory: directory, starter: starter)
    do {
      let result = try await body(process)
      await process.stop()
      return result
    } catch {
      await process.stop()
      throw error
    }
  }

  /// Kills it, and the processes that it has started to take its place.
  private func stop() async {
    await child.stop(patience: .zero)
    for match in errorText.matches(of: /process=(\d+) [^\n]*another process takes the place of this one/) {
      if let number = Int32(match.output.1) { kill(number, SIGKILL) }
    }
  }

  /// Runs the command until it ends by itself.
  static func run(_ arguments: [String], in directory: String? = nil) async throws -> End {
    try await run(arguments, in: directory) { try await $0.end() }
  }

  // MARK: - While it runs

  func signal(_ number: Int32) { child.signal(number) }

  /// The first line on standard error that has this text, when it has come.
  ///
  /// - Throws: ``Silence`` if the process ends without it.
  @discardableResult
  func says(_ text: String) async throws -> String {
    guard let line = try await child.errors.line(containing: text) else {
      throw Silence(text: text, errors: errorText)
    }
    return line
  }

  struct Silence: Error, CustomStringConvertible {
    var text: String
    var errors: String
    var description: String { "the process ended without '\(text)': \(errors)" }
  }

  /// All that has come on standard error so far.
  var errorText: String { child.errors.text }

  /// Returns when the process has ended.
  func end() async throws -> End {
    let end = try await child.end()
    var status: Int32?
    if case .exited(let number) = end { status = number }
    return End(status: status, output: child.output.text, errors: errorText)
  }
}
