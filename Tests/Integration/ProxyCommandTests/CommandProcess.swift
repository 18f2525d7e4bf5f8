// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import Synchronization
import SystemPackage
import Testing

/// The command, as a process of its own.
///
/// It is killed when its test ends, and after ``patience`` in any case: whatever waits for it then ends, too.
final class CommandProcess: Sendable {
  /// All tests begin at once, on a machine that has other work: nothing takes as long where the code is right.
  static let patience = 120.0

  let id: Int32
  private let state = Mutex(State())
  private let output: Lines
  private let errors: Lines

  private struct State {
    var status: Int32?
    var wasSignalled = false
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  /// What a process that has ended leaves behind.
  struct End: Sendable {
    /// `nil` if a signal killed it.
    var status: Int32?
    var output: String
    var errors: String
  }

  private init(_ arguments: [String], directory: String?) throws {
    let process = Process()
    process.executableURL = URL(
      fileURLWithPath: try #require(Self.executable, "httpcache is not beside the tests"))
    process.arguments = arguments
    if let directory { process.currentDirectoryURL = URL(fileURLWithPath: directory) }
    process.standardInput = FileHandle.nullDevice
    let (output, errors) = (Pipe(), Pipe())
    process.standardOutput = output
    process.standardError = errors
    try process.run()
    id = process.processIdentifier
    self.output = Lines(output.fileHandleForReading)
    self.errors = Lines(errors.fileHandleForReading)
    // A thread, and not the process's own handler, which may come late or, for one that ends at once, never.
    Thread.detachNewThread { [self] in
      process.waitUntilExit()
      let waiting = state.withLock { state in
        state.status = process.terminationStatus
        state.wasSignalled = process.terminationReason == .uncaughtSignal
        defer { state.waiting = [] }
        return state.waiting
      }
      for continuation in waiting { continuation.resume() }
    }
    DispatchQueue.global().asyncAfter(deadline: .now() + Self.patience) { [weak self] in self?.kill() }
  }

  /// Runs the command while `body` runs.
  static func run<Result>(
    _ arguments: [String], in directory: String? = nil, _ body: (CommandProcess) async throws -> Result
  ) async throws -> Result {
    let process = try CommandProcess(arguments, directory: directory)
    defer { process.kill() }
    return try await body(process)
  }

  /// Runs the command until it ends by itself.
  static func run(_ arguments: [String], in directory: String? = nil) async throws -> End {
    try await run(arguments, in: directory) { await $0.end() }
  }

  /// The program is built beside the tests.
  private static var executable: String? {
    let own =
      (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")).map { [$0] } ?? []
    let bundles = Bundle.allBundles.map(\.bundlePath).filter { $0.hasSuffix(".xctest") }
    return (own + CommandLine.arguments.prefix(1) + bundles).lazy
      .map { URL(fileURLWithPath: $0).deletingLastPathComponent().appendingPathComponent("httpcache").path }
      .first { FileManager.default.isExecutableFile(atPath: $0) }
  }

  // MARK: - While it runs

  func signal(_ number: Int32) {
    // Whatever has ended has no process id any more, or another process has it.
    state.withLock { state in
      if state.status == nil { _ = Foundation.kill(id, number) }
    }
  }

  private func kill() { signal(SIGKILL) }

  /// The first line on standard error that has this text, when it has come.
  ///
  /// - Throws: ``Silence`` if the process ends without it.
  @discardableResult
  func says(_ text: String) async throws -> String {
    guard let line = await errors.line(with: text) else { throw Silence(text: text, errors: errors.text) }
    return line
  }

  struct Silence: Error, CustomStringConvertible {
    var text: String
    var errors: String
    var description: String { "the process ended without '\(text)': \(errors)" }
  }

  /// All that has come on standard error so far.
  var errorText: String { errors.text }

  /// Returns when the process has ended.
  func end() async -> End {
    await withCheckedContinuation { continuation in
      let hasEnded = state.withLock { state in
        if state.status == nil { state.waiting.append(continuation) }
        return state.status != nil
      }
      if hasEnded { continuation.resume() }
    }
    let (text, problems) = (await output.all(), await errors.all())
    return state.withLock {
      End(status: $0.wasSignalled ? nil : $0.status, output: text, errors: problems)
    }
  }
}

/// The lines that a process writes, kept as they come.
private final class Lines: Sendable {
  private struct State {
    var text = ""
    var hasEnded = false
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Mutex(State())

  init(_ file: FileHandle) {
    Thread.detachNewThread { [self] in
      var buffer = [UInt8](repeating: 0, count: 1 << 16)
      while true {
        // Not `availableData`, which ends the program where a signal interrupts it.
        let count =
          (try? buffer.withUnsafeMutableBytes {
            try FileDescriptor(rawValue: file.fileDescriptor).read(into: $0)
          })
          ?? 0
        let some = buffer.prefix(count)
        let waiting = state.withLock { state in
          state.text += String(decoding: some, as: UTF8.self)
          state.hasEnded = some.isEmpty
          defer { state.waiting = [] }
          return state.waiting
        }
        for continuation in waiting { continuation.resume() }
        if some.isEmpty { return }
      }
    }
  }

  var text: String { state.withLock { $0.text } }

  func line(with part: String) async -> String? {
    var found: Substring?
    await wait {
      found = $0.split(separator: "\n").first { $0.contains(part) }
      return found != nil
    }
    return found.map(String.init)
  }

  func all() async -> String {
    await wait { _ in false }
    return text
  }

  /// Returns when the text is as wanted, or complete.
  private func wait(_ isWanted: (String) -> Bool) async {
    var isDone = false
    while !isDone {
      await withCheckedContinuation { continuation in
        isDone = state.withLock { state in
          let isDone = isWanted(state.text) || state.hasEnded
          if !isDone { state.waiting.append(continuation) }
          return isDone
        }
        if isDone { continuation.resume() }
      }
    }
  }
}
