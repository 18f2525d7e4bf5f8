// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CPlatform

/// Why a child does not start.
package struct ChildProcessError: Error, CustomStringConvertible {
  package var description: String
}

/// One end of a pipe, or a file. Only the owner closes it.
typealias Descriptor = Int32

/// The system calls that start a program.
package enum Spawn {
  /// Makes a pipe. A child has none of its ends, except as a standard file.
  static func pipe(for executable: String) throws -> (reading: Descriptor, writing: Descriptor) {
    var ends: [Descriptor] = [-1, -1]
    guard ChildProcesses.pipe(&ends) == 0 else {
      throw ChildProcessError(description: "cannot start \(executable): no pipe: \(reason(errno))")
    }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    #if canImport(Darwin)
      _ = fcntl(ends[1], F_SETNOSIGPIPE, 1)
    #endif
    return (ends[0], ends[1])
  }

  static func reason(_ code: Int32) -> String { String(cString: strerror(code)) }

  /// Starts a program in its own process group, with default signals and with its standard files alone.
  ///
  /// - Parameters:
  ///   - executable: a path, or a name that is looked up in PATH.
  ///   - files: standard input, output and error; `nil` for the null device.
  @discardableResult
  package static func start(
    _ executable: String, _ arguments: [String], environment: [String: String], directory: String? = nil,
    files: [Int32?]
  ) throws -> pid_t {
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
    for (number, file) in zip(STDIN_FILENO..., files) {
      if let file {
        posix_spawn_file_actions_adddup2(&actions, file, number)
      } else {
        posix_spawn_file_actions_addopen(&actions, number, "/dev/null", O_RDWR, 0)
      }
    }
    if let directory { posix_spawn_file_actions_addchdir_np(&actions, directory) }
    var flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP
    // A child with an inherited socket keeps it open, and has room for fewer files of its own.
    #if canImport(Darwin)
      flags |= POSIX_SPAWN_CLOEXEC_DEFAULT
    #else
      spawn_close_from(&actions, STDERR_FILENO + 1)
    #endif
    // Ignored and blocked signals are inherited, and this program may ignore some.
    sigemptyset(&none)
    sigfillset(&defaults)
    posix_spawnattr_setsigdefault(&attributes, &defaults)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setpgroup(&attributes, 0)
    posix_spawnattr_setflags(&attributes, Int16(flags))
    let words = ([executable] + arguments).map { strdup($0) }
    let variables = environment.map { strdup("\($0.key)=\($0.value)") }
    defer { for text in words + variables { free(text) } }
    var id: pid_t = 0
    let result = posix_spawnp(&id, executable, &actions, &attributes, words + [nil], variables + [nil])
    guard result == 0 else {
      let place = directory.map { " in \($0)" } ?? ""
      throw ChildProcessError(description: "cannot start \(executable)\(place): \(reason(result))")
    }
    return id
  }
}
