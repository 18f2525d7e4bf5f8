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

/// The file of a listening socket.
///
/// The socket gets its permissions under another name before it listens, and then its own name: nothing can connect before. A
/// socket that a process has left behind is replaced in one step.
struct SocketFile: Sendable {
  private let path: String
  private let device: UInt64
  private let inode: UInt64

  /// Why the file cannot be made.
  struct Fault: Error, CustomStringConvertible {
    let description: String
  }

  /// Returns the descriptor of a socket that does not listen yet.
  static func bind(_ socket: ProxyConfiguration.UnixSocket) async throws -> (CInt, SocketFile) {
    let path = socket.path
    switch kind(path) {
    case .absent: break
    case .other: throw Fault(description: "a file that is not a socket has this name; choose another one")
    case .socket:
      guard try await isAbandoned(path) else {
        throw IOError(errnoCode: EADDRINUSE, reason: "bind")
      }
    }
    let new = "\(path).\(getpid())"
    // Only a process that had the same number can have left it.
    if kind(new) == .socket { unlink(new) }
    let descriptor = try bind(new)
    do {
      try setAccess(new, socket)
      guard let file = SocketFile(path, at: new), rename(new, path) == 0 else {
        throw IOError(errnoCode: errno, reason: "rename")
      }
      return (descriptor, file)
    } catch {
      unlink(new)
      close(descriptor)
      throw error
    }
  }

  private static func bind(_ path: String) throws -> CInt {
    let address = try SocketAddress(unixDomainSocketPath: path)
    let descriptor = openSocket()
    guard descriptor >= 0 else { throw IOError(errnoCode: errno, reason: "socket") }
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    guard address.withSockAddr({ bindSocket(descriptor, $0, socklen_t($1)) }) == 0 else {
      let code = errno
      close(descriptor)
      throw IOError(errnoCode: code, reason: "bind")
    }
    return descriptor
  }

  /// Takes the file of a socket that another process has passed, with the access that it should have now.
  init(taking socket: ProxyConfiguration.UnixSocket) throws {
    try Self.setAccess(socket.path, socket)
    guard let file = SocketFile(socket.path, at: socket.path) else {
      throw IOError(errnoCode: errno, reason: "lstat")
    }
    self = file
  }

  /// Returns two sockets that are connected to each other.
  static func pair() throws -> (CInt, CInt) {
    var ends: [CInt] = [-1, -1]
    guard socketpair(AF_UNIX, streamType, 0, &ends) == 0 else {
      throw IOError(errnoCode: errno, reason: "socketpair")
    }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
  }

  /// Connects to a socket of another process; blocks. Returns `nil` if no process listens there.
  static func connect(_ path: String) throws -> CInt? {
    let descriptor = openSocket()
    guard descriptor >= 0 else { throw IOError(errnoCode: errno, reason: "socket") }
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    let address = try SocketAddress(unixDomainSocketPath: path)
    if address.withSockAddr({ connectSocket(descriptor, $0, socklen_t($1)) }) == 0 { return descriptor }
    let code = errno
    close(descriptor)
    if code == ENOENT || code == ECONNREFUSED { return nil }
    throw IOError(errnoCode: code, reason: "connect")
  }

  private init?(_ path: String, at place: String) {
    var facts = stat()
    guard lstat(place, &facts) == 0 else { return nil }
    self.path = path
    (device, inode) = (UInt64(truncatingIfNeeded: facts.st_dev), UInt64(facts.st_ino))
  }

  /// Removes the file, unless another process has replaced it.
  func remove() {
    guard let found = SocketFile(path, at: path), found.device == device, found.inode == inode else { return }
    unlink(path)
  }

  private enum Kind {
    case absent
    case socket
    case other
  }

  private static func kind(_ path: String) -> Kind {
    var facts = stat()
    guard lstat(path, &facts) == 0 else { return .absent }
    return facts.st_mode & S_IFMT == S_IFSOCK ? .socket : .other
  }

  /// Whether no process listens on a socket.
  private static func isAbandoned(_ path: String) async throws -> Bool {
    do {
      let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .connect(unixDomainSocketPath: path).get()
      try? await channel.close()
      return false
    } catch let error as IOError where error.errnoCode == ECONNREFUSED {
      return true
    } catch let error as IOError where error.errnoCode == ENOENT {
      return true
    } catch let error as IOError where error.errnoCode == EACCES {
      // A socket of another user.
      return false
    }
  }

  private static func setAccess(_ path: String, _ socket: ProxyConfiguration.UnixSocket) throws {
    if let mode = socket.mode, chmod(path, mode_t(mode)) != 0 {
      throw IOError(errnoCode: errno, reason: "chmod")
    }
    guard socket.owner != nil || socket.group != nil else { return }
    // -1 leaves what is there.
    var (user, group) = (uid_t.max, gid_t.max)
    if let name = socket.owner {
      guard let found = uid_t(name) ?? userID(name) else {
        throw Fault(description: "there is no user '\(name)'; check the owner")
      }
      user = found
    }
    if let name = socket.group {
      guard let found = gid_t(name) ?? groupID(name) else {
        throw Fault(description: "there is no group '\(name)'; check the group")
      }
      group = found
    }
    guard lchown(path, user, group) == 0 else {
      guard errno == EPERM else { throw IOError(errnoCode: errno, reason: "chown") }
      throw Fault(
        description: "only root may give a socket to other users, or to a group that the process is not in")
    }
  }

  private static func userID(_ name: String) -> uid_t? {
    var entry = passwd()
    var found: UnsafeMutablePointer<passwd>?
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64 << 10) { buffer in
      guard let memory = buffer.baseAddress,
        getpwnam_r(name, &entry, memory, buffer.count, &found) == 0, found != nil
      else { return nil }
      return entry.pw_uid
    }
  }

  private static func groupID(_ name: String) -> gid_t? {
    var entry = group()
    var found: UnsafeMutablePointer<group>?
    // The members of the group are in it, too.
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 1 << 20) { buffer in
      guard let memory = buffer.baseAddress,
        getgrnam_r(name, &entry, memory, buffer.count, &found) == 0, found != nil
      else { return nil }
      return entry.gr_gid
    }
  }
}

// The names of the system's functions, which members hide.
private func openSocket() -> CInt { socket(AF_UNIX, streamType, 0) }

#if canImport(Darwin)
  private let streamType = SOCK_STREAM
#else
  private let streamType = CInt(SOCK_STREAM.rawValue)
#endif

private func connectSocket(
  _ descriptor: CInt, _ address: UnsafePointer<sockaddr>, _ size: socklen_t
) -> CInt {
  connect(descriptor, address, size)
}

private func bindSocket(_ descriptor: CInt, _ address: UnsafePointer<sockaddr>, _ size: socklen_t) -> CInt {
  bind(descriptor, address, size)
}
