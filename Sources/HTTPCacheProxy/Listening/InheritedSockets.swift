// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The listening sockets that a service manager has opened and passed to the process.
///
/// The descriptors begin with number 3. `LISTEN_FDS` has their count, `LISTEN_FDNAMES` their names with colons in between, and
/// `LISTEN_PID` the process that they are for (`sd_listen_fds(3)`).
struct InheritedSockets {
  /// Why there is no such socket.
  struct Fault: Error, CustomStringConvertible {
    let description: String
  }

  private var names: [String]
  private var isTaken: [Bool]
  private static let first: CInt = 3
  private static let ofProcess = Mutex<InheritedSockets?>(nil)

  /// - Parameters:
  ///   - environment: returns the value of a variable.
  ///   - process: the number of the process.
  init(process: CInt, _ environment: (String) -> String?) throws(Fault) {
    guard let text = environment("LISTEN_FDS"), environment("LISTEN_PID").flatMap({ CInt($0) }) == process
    else {
      throw Fault(
        description: "no socket was passed to the process (LISTEN_FDS); start it by a socket unit of systemd")
    }
    guard let count = Int(text), (1...1024).contains(count) else {
      throw Fault(
        description: "expected 1 to 1024 sockets from the service manager (LISTEN_FDS), found '\(text)'")
    }
    let given = (environment("LISTEN_FDNAMES") ?? "").split(separator: ":", omittingEmptySubsequences: false)
    names = (0..<count).map { $0 < given.count ? String(given[$0]) : "unknown" }
    isTaken = Array(repeating: false, count: count)
  }

  /// Returns the descriptors with a name, or all. Each is returned once.
  mutating func take(_ name: String?) throws(Fault) -> [CInt] {
    let found = names.indices.filter { !isTaken[$0] && (name == nil || names[$0] == name) }
    guard !found.isEmpty else {
      let passed = names.indices.map { names[$0] + (isTaken[$0] ? " (in use)" : "") }.joined(separator: ", ")
      throw Fault(
        description:
          "the service manager has passed no such socket, only: \(passed); check FileDescriptorName")
    }
    for index in found { isTaken[index] = true }
    return found.map { Self.first + CInt($0) }
  }

  /// Returns the descriptors of this process with a name, or all.
  static func take(_ name: String?) throws -> [CInt] {
    try ofProcess.withLock { known in
      var sockets =
        try known ?? InheritedSockets(process: getpid()) { getenv($0).map { String(cString: $0) } }
      let taken = try sockets.take(name)
      known = sockets
      // Programs that this one starts do not get them.
      for descriptor in taken { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
      return taken
    }
  }
}
