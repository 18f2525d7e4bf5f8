// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import ChildProcesses
import Foundation

/// A proxy process, which can be killed, stopped and started again.
final class Node: Sendable {
  struct Ports: Sendable {
    var clients: Int
    var admin: Int
  }

  private struct State {
    var process: ChildProcess?
    var ports: Ports?
    /// Whether requests may fail, because the process is or was stopped or killed a moment ago.
    var mayFail = false
  }

  let line: FaultLine
  private let arguments: [String]
  private let state = Mutex(State())

  init(line: FaultLine, origin: Int, directory: String?, isDeaf: Bool) {
    self.line = line
    arguments =
      ["fleet", "node", "--origin", "\(origin)", "--redis", "\(line.port)"]
      + (directory.map { ["--directory", $0] } ?? [])
      + (isDeaf ? ["--deaf"] : [])
  }

  var ports: Ports? { state.withLock { $0.ports } }
  var mayFail: Bool {
    get { state.withLock { $0.mayFail } }
    set { state.withLock { $0.mayFail = newValue } }
  }

  func start() async throws {
    let process = try ChildProcess(
      URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().path, arguments, errors: .inherited)
    state.withLock { $0.process = process }
    var lines = process.output.lines.makeAsyncIterator()
    let text = try await lines.next() ?? ""
    let ports = text.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }
    guard ports.count == 2 else { throw DriverFailure("a node did not start: '\(text)'") }
    state.withLock { $0.ports = Ports(clients: ports[0], admin: ports[1]) }
  }

  private func signal(_ number: Int32) { state.withLock { $0.process }?.signal(number) }

  func kill() async {
    let process = state.withLock { state in
      state.ports = nil
      return state.process.take()
    }
    await process?.stop(patience: .zero)
  }

  func stop() { signal(SIGSTOP) }
  func resume() { signal(SIGCONT) }
}

struct DriverFailure: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) {
    self.description = description
  }
}
