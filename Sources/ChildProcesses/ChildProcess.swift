// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Dispatch
import Synchronization

/// A program that runs beside this one.
///
/// The child has its own process group, default signals, and no file of this process except its standard files. It is
/// killed with its group when this process ends, whatever ends it; see ``ChildRegistry``. A child that is not stopped
/// runs on when its object has gone.
///
/// Foundation's `Process` is not for tests of sockets. It lists and closes descriptors, and crashed with 1,359 of them
/// open. When a program closes its inherited files, it takes that for the end of the program.
package final class ChildProcess: Sendable {
  package enum Input: Sendable {
    /// The null device.
    case null
    /// What ``write(_:)`` is given, until ``closeInput()``.
    case pipe
    /// Bytes, and then the end.
    case data([UInt8])
  }

  package enum Output: Sendable {
    /// The null device.
    case null
    /// The same as this process's own.
    case inherited
    /// A file, which is replaced.
    case file(String)
    /// ``ChildProcess/output``, or ``ChildProcess/errors``.
    case pipe
  }

  package enum End: Hashable, Sendable {
    case exited(Int32)
    case signalled(Int32)

    /// The status as a shell gives it: 128 and the number of the signal, if a signal ended the program.
    package var status: Int32 {
      switch self {
      case .exited(let status): status
      case .signalled(let number): 128 + number
      }
    }
  }

  package let id: pid_t
  /// The name of the program, without its folders.
  package let name: String
  /// The standard output, if it is a pipe; otherwise empty and complete. With the standard error, if both are one.
  package let output = ChildOutput()
  /// The standard error, if it is a pipe of its own.
  package let errors = ChildOutput()
  private let file: String?
  private let transfer: ChildTransfer?
  private let ended = Watched<End?>(nil)
  private let isGone = Atomic(false)
  /// Empty when the child has ended, for callers outside of tasks.
  private let running = DispatchGroup()

  /// Starts a program.
  ///
  /// - Parameters:
  ///   - executable: a path, or a name that is looked up in PATH.
  ///   - arguments: its arguments.
  ///   - environment: its variables; `nil` for those of this process.
  ///   - directory: its working directory; `nil` for that of this process.
  ///   - input: its standard input.
  ///   - output: its standard output.
  ///   - errors: its standard error; `nil` for the same as `output`.
  package init(
    _ executable: String, _ arguments: [String] = [], environment: [String: String]? = nil,
    directory: String? = nil, input: Input = .null, output: Output = .pipe, errors: Output? = nil
  ) throws {
    name = executable.split(separator: "/").last.map(String.init) ?? executable
    if case .file(let path) = output { file = path } else { file = nil }
    var ends = Ends(for: executable)
    defer { ends.closeChildren() }
    do {
      let standardInput = try ends.input(input)
      let standardOutput = try ends.output(output, inherited: STDOUT_FILENO, self.output)
      var standardError = standardOutput
      if let errors {
        standardError = try ends.output(errors, inherited: STDERR_FILENO, self.errors)
      } else {
        self.errors.complete()
        if case .inherited = output { standardError = STDERR_FILENO }
      }
      transfer = try ends.transfer(input)
      let variables = environment ?? ProcessInfo.processInfo.environment
      id = try ChildRegistry.add {
        try Spawn.start(
          executable, arguments, environment: variables, directory: directory,
          files: [standardInput, standardOutput, standardError])
      }
    } catch {
      ends.closeOwn()
      throw error
    }
    transfer?.start()
    running.enter()
    startThread { [self] in
      // The id stays that of the child until `remove`, so that no other process gets a signal that is sent to this one.
      var information = siginfo_t()
      while waitid(P_PID, id_t(id), &information, WEXITED | WNOWAIT) < 0, errno == EINTR {}
      let status = ChildRegistry.remove(id) { isGone.store(true, ordering: .relaxed) }
      transfer?.finish()
      ended.update { $0 = status & 0x7F == 0 ? .exited(status >> 8 & 0xFF) : .signalled(status & 0x7F) }
      running.leave()
    }
  }

  // MARK: - While it runs

  package var isRunning: Bool { ended.read { $0 == nil } }

  /// Writes to the standard input, if it is a pipe, in the background.
  package func write(_ bytes: some Sequence<UInt8>) { transfer?.write(bytes) }

  /// Closes the standard input when all is written.
  package func closeInput() { transfer?.closeInput() }

  /// Sends a signal to the program alone, if it runs.
  package func signal(_ number: Int32) {
    ChildRegistry.whileNoneIsRemoved {
      if !isGone.load(ordering: .relaxed) { _ = ChildProcesses.kill(id, number) }
    }
  }

  /// Kills the program and what it has started.
  package func kill() {
    ChildRegistry.whileNoneIsRemoved {
      if !isGone.load(ordering: .relaxed) { _ = ChildProcesses.kill(-id, SIGKILL) }
    }
  }

  /// Kills the program and what it has started, if it still runs after this time.
  package func kill(after limit: Duration) {
    DispatchQueue.global().asyncAfter(deadline: .now() + (limit / .seconds(1))) { [weak self] in self?.kill()
    }
  }

  /// The last lines of the output, for an error.
  package var lastWords: String {
    let text = file.flatMap { try? String(contentsOfFile: $0, encoding: .utf8) } ?? output.text
    let lines = text.split(separator: "\n").suffix(4)
    return lines.isEmpty ? "it printed nothing" : lines.joined(separator: " / ")
  }

  // MARK: - Its end

  /// Returns when the child has ended. Its output is complete then, and this process has closed its ends of the pipes.
  ///
  /// - Throws: `CancellationError` if the task is cancelled before; the child runs on.
  @discardableResult
  package func end() async throws -> End { try await ended.first { $0 } }

  /// Returns when the child has ended. It is killed if the task is cancelled before.
  ///
  /// - Throws: `CancellationError` if the task is cancelled before.
  @discardableResult
  package func endOrKill() async throws -> End {
    do {
      return try await end()
    } catch {
      await stop(patience: .zero)
      throw error
    }
  }

  /// Ends the child, and waits for its end, also in a cancelled task.
  ///
  /// - Parameter patience: the time to end after SIGTERM and the end of the input, before SIGKILL.
  @discardableResult
  package func stop(patience: Duration = .seconds(5)) async -> End {
    ask(toEndWithin: patience)
    // Nothing cancels this task, so the wait ends with the child.
    let waiting = Task { try await end() }
    return (try? await waiting.value) ?? .signalled(SIGKILL)
  }

  private func ask(toEndWithin patience: Duration) {
    // A child that reads its input could end by itself between the end of the input and the signal.
    guard patience > .zero else { return kill() }
    closeInput()
    signal(SIGTERM)
    kill(after: patience)
  }

  /// Waits for the end, outside of tasks: this blocks the thread.
  ///
  /// - Returns: `nil` if the child still runs after this time.
  package func blockingEnd(atMost limit: Duration) -> End? {
    _ = running.wait(timeout: .now() + (limit / .seconds(1)))
    return ended.read { $0 }
  }

  /// Does the same as ``stop(patience:)`` outside of tasks: this blocks the thread.
  package func blockingStop(patience: Duration = .seconds(5)) {
    ask(toEndWithin: patience)
    running.wait()
  }

  /// Kills all children, when this process is about to end. None can be started afterwards.
  package static func killAll() { ChildRegistry.killAll() }
}

/// The ends of the pipes of a child.
private struct Ends {
  let executable: String
  private var children: [Descriptor] = []
  private var own: [Descriptor] = []
  private var writing: Descriptor?
  private var outputs: [(Descriptor, ChildOutput)] = []

  init(for executable: String) {
    self.executable = executable
  }

  mutating func input(_ input: ChildProcess.Input) throws -> Descriptor? {
    if case .null = input { return nil }
    let pipe = try Spawn.pipe(for: executable)
    children.append(pipe.reading)
    own.append(pipe.writing)
    writing = pipe.writing
    return pipe.reading
  }

  mutating func output(_ output: ChildProcess.Output, inherited: Descriptor, _ reader: ChildOutput) throws
    -> Descriptor?
  {
    guard case .pipe = output else {
      reader.complete()
      switch output {
      case .file(let path):
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard file >= 0 else {
          throw ChildProcessError(
            description: "cannot start \(executable): cannot write \(path): \(Spawn.reason(errno))")
        }
        children.append(file)
        return file
      case .inherited: return inherited
      case .null, .pipe: return nil
      }
    }
    let pipe = try Spawn.pipe(for: executable)
    children.append(pipe.writing)
    own.append(pipe.reading)
    outputs.append((pipe.reading, reader))
    return pipe.writing
  }

  /// - Returns: `nil` if there is nothing to transfer.
  mutating func transfer(_ input: ChildProcess.Input) throws -> ChildTransfer? {
    guard !own.isEmpty else { return nil }
    let wake = try Spawn.pipe(for: executable)
    own += [wake.reading, wake.writing]
    var (bytes, isComplete): ([UInt8], Bool) = ([], false)
    if case .data(let all) = input { (bytes, isComplete) = (all, true) }
    return ChildTransfer(
      input: writing, bytes: bytes, isComplete: isComplete, outputs: outputs, wake: wake)
  }

  func closeChildren() { for descriptor in children { close(descriptor) } }

  func closeOwn() { for descriptor in own { close(descriptor) } }
}
