// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ChildProcesses

/// The process that takes the place of this one: the same program, as the file system has it now, with the same arguments.
enum Successor {
  /// Says in the environment that the standard input leads to the predecessor.
  private static let variable = "HTTPCACHE_PREDECESSOR"

  /// Starts it, and returns its number.
  ///
  /// - Parameter socket: leads to this process.
  static func start(at socket: Int32) throws -> Int32 {
    var environment = ProcessInfo.processInfo.environment
    environment[variable] = "stdin"
    // The service manager means any of its processes from now on. The sockets come from this process.
    for name in ["WATCHDOG_PID", "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"] { environment[name] = nil }
    return try Spawn.start(
      CommandLine.arguments[0], Array(CommandLine.arguments.dropFirst()), environment: environment,
      files: [socket, STDOUT_FILENO, STDERR_FILENO])
  }

  /// The socket that leads to the process that has started this one in its place; `nil` if none has. Call it once.
  static func takeSocket() -> Int32? {
    guard ProcessInfo.processInfo.environment[variable] == "stdin" else { return nil }
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
