// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import Synchronization

/// A program that runs beside this one: a server, or a tool. It ends at ``stop()``, and when this program is
/// interrupted; see ``Interruption``.
///
/// Foundation's `Process` cannot run nginx beside other programs on Linux. When a program closes the files that it
/// inherited, `Process` takes that for its end and waits for it. Meanwhile it does not notice the end of any other.
package struct ChildProcess: Sendable {
  private struct Registry {
    var running: Set<Int32> = []
    var isEnding = false
  }

  private static let registry = Mutex(Registry())
  /// Time to end after SIGTERM, in seconds.
  private static let patience = 5.0

  package let id: Int32
  package let name: String
  /// The file with the standard output and the standard error.
  package let log: String
  /// The end of a pipe to the standard input. It closes when this program ends, so that its own child commands end too.
  private let input: Int32

  /// Starts a program in its own process group.
  ///
  /// - Parameter log: the file for its output, which is replaced.
  package init(_ executable: String, _ arguments: [String], log: String) throws {
    func require(_ result: Int32, _ what: String) throws {
      guard result == 0 else {
        throw BenchError.unprepared(
          "\(what) \(Printable.text(executable)): \(String(cString: strerror(result)))")
      }
    }
    self.log = log
    name = URL(fileURLWithPath: executable).lastPathComponent
    let output = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard output >= 0 else {
      throw BenchError.unprepared("cannot write \(log); check the temporary directory (TMPDIR)")
    }
    defer { close(output) }
    var ends: [Int32] = [-1, -1]
    try require(pipe(&ends) == 0 ? 0 : errno, "cannot open a pipe for")
    // Other programs must not inherit the writing end: it would stay open as long as they run.
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    defer { close(ends[0]) }
    input = ends[1]
    do {
      id = try Self.registry.withLock { registry in
        // A program that starts during an interruption would survive it.
        guard !registry.isEnding else { throw CancellationError() }
        var id: Int32 = 0
        try require(
          Self.spawn(&id, executable, arguments, input: ends[0], output: output), "cannot start")
        registry.running.insert(id)
        return id
      }
    } catch {
      close(ends[1])
      throw error
    }
  }

  /// Returns an error number, or 0.
  private static func spawn(
    _ id: inout Int32, _ executable: String, _ arguments: [String], input: Int32, output: Int32
  ) -> Int32 {
    #if canImport(Darwin)
      var (actions, attributes): (posix_spawn_file_actions_t?, posix_spawnattr_t?)
      var (defaults, none): (sigset_t, sigset_t) = (0, 0)
    #else
      var (actions, attributes) = (posix_spawn_file_actions_t(), posix_spawnattr_t())
      var (defaults, none) = (sigset_t(), sigset_t())
    #endif
    posix_spawn_file_actions_init(&actions)
    posix_spawnattr_init(&attributes)
    defer {
      posix_spawn_file_actions_destroy(&actions)
      posix_spawnattr_destroy(&attributes)
    }
    for (from, to) in [(input, STDIN_FILENO), (output, STDOUT_FILENO), (output, STDERR_FILENO)] {
      posix_spawn_file_actions_adddup2(&actions, from, to)
    }
    var flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP
    // Without the files that this program has open. wrk has room for few files: with some inherited, its last
    // connections fail ("Socket errors: connect 1").
    #if canImport(Darwin)
      flags |= POSIX_SPAWN_CLOEXEC_DEFAULT
    #else
      // New files get the lowest free numbers, so it does not matter whether higher ones stay open.
      for file in (STDERR_FILENO + 1)..<256 { posix_spawn_file_actions_addclose(&actions, file) }
    #endif
    // This program ignores these signals, and ignored signals are inherited.
    sigemptyset(&none)
    sigemptyset(&defaults)
    for number in [SIGINT, SIGTERM, SIGHUP, SIGPIPE] { sigaddset(&defaults, number) }
    posix_spawnattr_setsigdefault(&attributes, &defaults)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setpgroup(&attributes, 0)
    posix_spawnattr_setflags(&attributes, Int16(flags))
    let words = ([executable] + arguments).map { strdup($0) }
    defer { for word in words { free(word) } }
    return posix_spawn(&id, executable, &actions, &attributes, words + [nil], environ)
  }

  /// Whether the program has not ended yet. After ``stop()``, it is `false`.
  package var isRunning: Bool {
    guard Self.registry.withLock({ $0.running.contains(id) }) else { return false }
    var information = siginfo_t()
    // The program keeps its id until `stop()`, so that no other program gets a signal that is sent to this one.
    let result = waitid(P_PID, id_t(id), &information, WEXITED | WNOHANG | WNOWAIT)
    return result == 0 && information.si_signo == 0
  }

  /// Waits until the program has ended. Stops it after some time, and returns `false` then.
  package func wait(atMost seconds: Double) -> Bool {
    let hasEnded = poll(for: seconds) { !isRunning }
    stop()
    return hasEnded
  }

  /// Ends the program and its child processes, if they still run.
  package func stop() {
    let (isKnown, isEnding) = Self.registry.withLock { ($0.running.contains(id), $0.isEnding) }
    // The interruption killed the program, and ends this one. Otherwise an error about the program could come first.
    if isEnding { sleep(10) }
    guard isKnown else { return }
    close(input)
    if isRunning {
      kill(id, SIGTERM)
      _ = poll(for: Self.patience) { !isRunning }
    }
    // Its whole group: what it has started may still run.
    kill(-id, SIGKILL)
    _ = Self.registry.withLock { $0.running.remove(id) }
    var status: Int32 = 0
    while waitpid(id, &status, 0) < 0, errno == EINTR {}
  }

  /// Sends a signal to the program alone.
  package func signal(_ number: Int32) { if isRunning { kill(id, number) } }

  /// The output so far.
  package var output: String { (try? String(contentsOfFile: log, encoding: .utf8)) ?? "" }

  /// The last lines of the output, for an error.
  package var lastWords: String {
    let lines = output.split(separator: "\n").suffix(4).map { Printable.text(String($0)) }
    return lines.isEmpty ? "it printed nothing" : lines.joined(separator: " / ")
  }

  /// Kills all programs in use, when this process is about to end.
  package static func killAll() {
    let running = registry.withLock { registry in
      registry.isEnding = true
      return registry.running
    }
    for id in running { kill(-id, SIGKILL) }
  }

  /// Runs a program to its end, and returns its output.
  package static func output(of executable: String, _ arguments: [String], seconds: Double = 60) throws
    -> String
  {
    try TemporaryDirectory.with { directory in
      let process = try ChildProcess(executable, arguments, log: directory + "/output")
      guard process.wait(atMost: seconds) else {
        throw BenchError.unprepared("\(process.name) did not end within \(Int(seconds)) s")
      }
      return process.output
    }
  }
}

/// Waits until a condition holds. Returns `false` if it does not hold in time.
package func poll(for seconds: Double, until condition: () -> Bool) -> Bool {
  let start = MonotonicClock.now
  while !condition() {
    if Double(MonotonicClock.now - start) > seconds * 1e9 { return false }
    usleep(2_000)
  }
  return true
}

/// Programs of the system.
package enum InstalledProgram {
  /// Returns the path of a program: from PATH, and from the folders of servers, which a user's PATH may lack.
  package static func path(of name: String) -> String? {
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
    let others = ["/usr/sbin", "/usr/local/sbin", "/usr/local/bin", "/opt/homebrew/bin"]
    return (folders + others).lazy.map { $0 + "/" + name }
      .first { FileManager.default.isExecutableFile(atPath: $0) }
  }
}
