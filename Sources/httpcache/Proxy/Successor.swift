// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ChildProcesses

/// The process that takes the place of this one: the same program, as the file system has it now, with the same arguments.
enum Successor {
  /// Says in the environment what a process of the program is for.
  private static let variable = "HTTPCACHE_PREDECESSOR"
  /// It starts the successor, and ends.
  private static let starts = "starts"
  /// It is the successor, and its standard input leads to the predecessor.
  private static let follows = "stdin"

  /// Starts it; blocks until the system has found the program.
  ///
  /// It is no child of this process: an orphan becomes a child of systemd, which then learns of its end, and starts the service
  /// again if it fails.
  ///
  /// - Parameter socket: leads to this process.
  static func start(at socket: Int32) throws {
    // The process ignores the ends of children. If this one fails, it says so itself, and the socket ends.
    _ = try spawn(starts, socket)
  }

  /// Starts the successor and ends, if this process is for that.
  static func startIfWanted() {
    guard ProcessInfo.processInfo.environment[variable] == starts else { return }
    do {
      _ = try spawn(follows, STDIN_FILENO)
      exit(0)
    } catch {
      Input.complain("\(error)")
      exit(1)
    }
  }

  private static func spawn(_ purpose: String, _ socket: Int32) throws -> Int32 {
    var environment = ProcessInfo.processInfo.environment
    environment[variable] = purpose
    // The service manager means any of its processes from now on. The sockets come from the predecessor.
    for name in ["WATCHDOG_PID", "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"] { environment[name] = nil }
    return try Spawn.start(
      CommandLine.arguments[0], Array(CommandLine.arguments.dropFirst()), environment: environment,
      files: [socket, STDOUT_FILENO, STDERR_FILENO])
  }

  /// The socket that leads to the process that has started this one in its place; `nil` if none has. Call it once.
  static func takeSocket() -> Int32? {
    guard ProcessInfo.processInfo.environment[variable] == follows else { return nil }
    unsetenv(variable)
    let socket = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)
    let none = open("/dev/null", O_RDWR)
    if none >= 0 {
      dup2(none, STDIN_FILENO)
      close(none)
    }
    return socket >= 0 ? socket : nil
  }
}
