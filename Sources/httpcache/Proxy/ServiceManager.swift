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

/// The service manager that has started the process, such as systemd, and waits for its messages (`sd_notify(3)`).
final class ServiceManager: Sendable {
  /// Messages that do not fit, such as the end of a reload while the process stops, are not sent.
  private enum Phase {
    case starting
    case serving
    case stopping
    /// Another process serves, and is the one that the manager knows.
    case replaced
  }

  private let phase = Mutex(Phase.starting)

  /// What the process tells.
  enum Message: Hashable, Sendable {
    /// It serves at these places; `nil` if they are known.
    case ready(on: [String])
    /// It reads its configuration, since this time of the monotonic clock, in microseconds.
    case reloading(since: UInt64)
    /// It has read its configuration.
    case reloaded
    /// It waits for the requests in flight, and then ends.
    case stopping
    /// A process with this number serves in its place.
    case replaced(by: Int32)
    /// Its event loops still turn.
    case alive

    var text: String {
      switch self {
      case .ready(let places): "READY=1\nSTATUS=serving on \(places.joined(separator: ", "))"
      case .reloaded: "READY=1"
      case .reloading(let time): "RELOADING=1\nMONOTONIC_USEC=\(time)"
      case .stopping: "STOPPING=1\nSTATUS=waiting for the requests in flight"
      case .replaced(let process): "MAINPID=\(process)"
      case .alive: "WATCHDOG=1"
      }
    }
  }

  /// The path of the manager's socket; one in the abstract namespace of Linux begins with `@`.
  private let path: String
  /// Time between two messages that the process is alive: a third of what the manager waits. `nil` if it expects none.
  let signOfLife: Duration?

  /// - Parameters:
  ///   - process: the number of the process.
  ///   - environment: returns the value of a variable.
  /// - Returns: `nil` if no manager waits for messages.
  init?(process: Int32, _ environment: (String) -> String?) {
    guard let path = environment("NOTIFY_SOCKET"), path.utf8.first == 0x2F || path.utf8.first == 0x40 else {
      return nil
    }
    self.path = path
    let isMeant = environment("WATCHDOG_PID").map { $0 == "\(process)" } ?? true
    signOfLife = environment("WATCHDOG_USEC").flatMap { Int64($0) }.flatMap { microseconds in
      isMeant && microseconds > 0 ? .microseconds(Swift.max(1000, microseconds / 3)) : nil
    }
  }

  /// The time of the monotonic clock, in microseconds.
  static var now: UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000 + UInt64(time.tv_nsec) / 1000
  }

  /// Sends a message, if it fits. Does not wait: a manager that takes nothing is not worth a request.
  ///
  /// - Returns: `false` if the manager's socket has not taken it.
  @discardableResult
  func send(_ message: Message) -> Bool {
    phase.withLock { phase in
      switch (message, phase) {
      case (.ready, .starting):
        guard deliver(message) else { return false }
        phase = .serving
        return true
      case (.reloading, .serving), (.reloaded, .serving), (.alive, .serving), (.alive, .stopping):
        return deliver(message)
      case (.replaced, .starting), (.replaced, .serving), (.replaced, .stopping):
        guard deliver(message) else { return false }
        phase = .replaced
        return true
      case (.stopping, .starting), (.stopping, .serving):
        phase = .stopping
        return deliver(message)
      default: return true
      }
    }
  }

  private func deliver(_ message: Message) -> Bool {
    #if os(Linux)
      let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
      guard descriptor >= 0 else { return false }
      defer { close(descriptor) }
      var (name, address) = (Array(path.utf8), sockaddr_un())
      address.sun_family = sa_family_t(AF_UNIX)
      let capacity = MemoryLayout.size(ofValue: address.sun_path)
      guard name.count < capacity else { return false }
      let isAbstract = name[0] == 0x40
      if isAbstract { name[0] = 0 }
      withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
      let size = MemoryLayout<sockaddr_un>.size - capacity + name.count + (isAbstract ? 0 : 1)
      let bytes = Array(message.text.utf8)
      let flags = Int32(MSG_NOSIGNAL | MSG_DONTWAIT)
      return withUnsafePointer(to: address) { address in
        address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          sendto(descriptor, bytes, bytes.count, flags, $0, socklen_t(size)) == bytes.count
        }
      }
    #else
      return false
    #endif
  }
}
