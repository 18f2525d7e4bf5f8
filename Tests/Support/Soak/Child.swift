// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation

/// A process of this same program in another role. It ends when its standard input does, and so with the driver.
final class Child {
  let name: String
  private let process = Process()
  private let input = Pipe()
  private var lines: AsyncStream<String>.AsyncIterator

  init(_ name: String, _ arguments: [String]) throws {
    self.name = name
    process.executableURL = Bundle.main.executableURL
    process.arguments = arguments
    process.standardInput = input
    let output = Pipe()
    process.standardOutput = output
    let (stream, continuation) = AsyncStream<String>.makeStream()
    lines = stream.makeAsyncIterator()
    try process.run()
    let reading = output.fileHandleForReading
    Thread.detachNewThread {
      var rest = Data()
      while true {
        let some = reading.availableData
        if some.isEmpty { break }
        rest += some
        while let end = rest.firstIndex(of: 10) {
          continuation.yield(String(decoding: rest[..<end], as: UTF8.self))
          rest = Data(rest[(end + 1)...])
        }
      }
      continuation.finish()
    }
  }

  var id: Int32 { process.processIdentifier }

  func tell(_ command: String) {
    // What has ended says nothing more, and that is noticed there.
    try? input.fileHandleForWriting.write(contentsOf: Data((command + "\n").utf8))
  }

  func line() async throws -> String {
    guard let line = await lines.next() else { throw Ended(description: "the process of \(name) ended") }
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
    try? input.fileHandleForWriting.close()
    for _ in 0..<Int(seconds * 20) where process.isRunning { try? await Task.sleep(for: .milliseconds(50)) }
    if process.isRunning { kill(id, SIGKILL) }
    process.waitUntilExit()
  }

  var watchdog: @Sendable () -> Void {
    let id = id
    return { kill(id, SIGKILL) }
  }
}
