// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore
import NIOPosix

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The file descriptors of the process.
package enum DescriptorLimit {
  #if canImport(Glibc)
    private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
  #else
    private static let resource = RLIMIT_NOFILE
  #endif

  /// The number of descriptors that the process may have open; `nil` if it is unknown.
  static var current: Int? {
    var limit = rlimit()
    guard getrlimit(resource, &limit) == 0 else { return nil }
    return Int(clamping: limit.rlim_cur)
  }

  /// Raises the number of descriptors that the process may have open as far as that needs no privilege.
  package static func raise() {
    var limit = rlimit()
    guard getrlimit(resource, &limit) == 0, limit.rlim_cur < limit.rlim_max else { return }
    limit.rlim_cur = limit.rlim_max
    if setrlimit(resource, &limit) == 0 { return }
    // Darwin allows no more than this, whatever the limit says.
    limit.rlim_cur = Swift.min(10_240, limit.rlim_max)
    _ = setrlimit(resource, &limit)
  }

  // MARK: - What needs descriptors

  /// Descriptors that are kept back from clients and their requests: for the admin port, the disk, logs, the event loops,
  /// the shared tier and health checks.
  static let reserve = AdminServer.connectionLimit + 64

  /// The number of descriptors that so many client connections need: each may need a connection to the origin.
  static func needed(for connections: Int) -> Int {
    let (twice, overflow) = connections.multipliedReportingOverflow(by: 2)
    return overflow ? .max : twice.addingReportingOverflow(reserve).overflow ? .max : twice + reserve
  }

  /// The number of client connections for which so many descriptors suffice.
  static func connections(within descriptors: Int) -> Int {
    // With very few descriptors the reserve shrinks, so that there is service at all.
    Swift.max((descriptors - reserve) / 2, descriptors / 8, 1)
  }

  // MARK: - Errors

  /// Whether an operation failed because no descriptor or no memory of the kernel is left, and not because of its peer.
  static func isShortage(_ error: IOError) -> Bool {
    switch error.errnoCode {
    case EMFILE, ENFILE, ENOBUFS, ENOMEM: true
    default: false
    }
  }

  /// Returns the shortage that an attempt to connect failed for; `nil` if it failed for another reason.
  static func shortage(in error: any Error) -> IOError? {
    switch error {
    case let error as IOError: isShortage(error) ? error : nil
    // The resolver does not say why it failed: it needs descriptors, too.
    case let error as NIOConnectionError where error.connectionErrors.isEmpty: shortage()
    case let error as NIOConnectionError:
      error.connectionErrors.lazy.compactMap { shortage(in: $0.error) }.first
    default: nil
    }
  }

  /// Returns why no descriptor can be opened; `nil` if one can.
  private static func shortage() -> IOError? {
    let copy = dup(STDERR_FILENO)
    guard copy < 0 else {
      close(copy)
      return nil
    }
    let error = IOError(errnoCode: errno, reason: "dup")
    return isShortage(error) ? error : nil
  }

  /// What is lacking, and what to do.
  static func text(of shortage: IOError) -> String {
    switch shortage.errnoCode {
    case EMFILE:
      "the process has all \(current.map { "\($0) " } ?? "")file descriptors in use that it may have; increase its limit (LimitNOFILE, ulimit -n)"
    case ENFILE: "the system has no file descriptor left; increase its limit (fs.file-max)"
    default: "the system has no memory left for connections"
    }
  }
}
