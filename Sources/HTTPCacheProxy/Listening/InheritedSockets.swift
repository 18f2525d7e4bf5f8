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
  ///
  /// - Parameter named: names that are not meant by all.
  mutating func take(_ name: String?, except named: [String] = []) throws(Fault) -> [CInt] {
    let found = names.indices.filter { index in
      !isTaken[index] && (name.map { $0 == names[index] } ?? !named.contains(names[index]))
    }
    guard !found.isEmpty else {
      let passed = names.indices.map { names[$0] + (isTaken[$0] ? " (in use)" : "") }.joined(separator: ", ")
      throw Fault(
        description:
          "the service manager has passed no such socket, only: \(passed); check FileDescriptorName")
    }
    for index in found { isTaken[index] = true }
    return found.map { Self.first + CInt($0) }
  }

  /// The names of the sockets that are not taken.
  var untaken: [String] { names.indices.filter { !isTaken[$0] }.map { names[$0] } }

  /// Returns the descriptors of this process with a name, or all.
  static func take(_ name: String?, except named: [String]) throws -> [CInt] {
    try ofProcess.withLock { known in
      var sockets: InheritedSockets
      if let known {
        sockets = known
      } else {
        sockets = try ofEnvironment()
        // Programs that this one starts do not get them.
        for index in sockets.names.indices { _ = fcntl(first + CInt(index), F_SETFD, FD_CLOEXEC) }
      }
      let taken = try sockets.take(name, except: named)
      known = sockets
      for descriptor in taken where !isListening(descriptor) {
        throw Fault(
          description: "descriptor \(descriptor) of the service manager is not a listening stream socket; "
            + "use ListenStream, and not Accept=yes")
      }
      return taken
    }
  }

  /// The names of the sockets of this process that no endpoint has taken: their clients would wait forever.
  static var untakenOfProcess: [String] {
    ofProcess.withLock { ($0 ?? (try? ofEnvironment()))?.untaken ?? [] }
  }

  private static func ofEnvironment() throws(Fault) -> InheritedSockets {
    try InheritedSockets(process: getpid()) { getenv($0).map { String(cString: $0) } }
  }

  private static func isListening(_ descriptor: CInt) -> Bool {
    func option(_ name: CInt) -> CInt? {
      var (value, size) = (CInt(0), socklen_t(MemoryLayout<CInt>.size))
      return getsockopt(descriptor, SOL_SOCKET, name, &value, &size) == 0 ? value : nil
    }
    #if canImport(Darwin)
      let stream = SOCK_STREAM
    #else
      let stream = CInt(SOCK_STREAM.rawValue)
    #endif
    return option(SO_TYPE) == stream && option(SO_ACCEPTCONN) == 1
  }
}
