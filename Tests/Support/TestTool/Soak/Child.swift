// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ChildProcesses
import Foundation

/// A process of this same program in another role. It ends when its standard input does, and so with the driver.
final class Child {
  let name: String
  private let process: ChildProcess
  private var lines: ChildOutput.Lines.Iterator

  init(_ name: String, _ arguments: [String]) throws {
    self.name = name
    process = try ChildProcess(
      Bundle.main.executablePath ?? CommandLine.arguments[0], ["soak"] + arguments, input: .pipe,
      errors: .inherited)
    lines = process.output.lines.makeAsyncIterator()
  }

  var id: Int32 { process.id }

  func tell(_ command: String) { process.write((command + "\n").utf8) }

  func line() async throws -> String {
    guard let line = try await lines.next() else { throw Ended(description: "the process of \(name) ended") }
    return line
  }

  struct Ended: Error, CustomStringConvertible {
    var description: String
  }

  /// The port that the child tells first.
  func port() async throws -> Int {
    let line = try await line()
    guard line.hasPrefix("port="), let port = Int(line.dropFirst(5)) else {
      throw Ended(description: "\(name): expected its port, found '\(line)'")
    }
    return port
  }

  /// Ends the process; by force if it does not go by itself.
  func end(within seconds: Double) async {
    process.closeInput()
    process.kill(after: .seconds(seconds))
    _ = try? await process.end()
  }

  var watchdog: @Sendable () -> Void {
    let process = process
    return { process.kill() }
  }
}
