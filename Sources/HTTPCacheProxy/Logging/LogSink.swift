// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import SystemPackage

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The file or pipe of the log, with the lines that are not yet written.
///
/// Writing to a file blocks while the disk does; that is why the log has its own thread. A pipe that is not read, or a
/// stopped terminal, blocks only for the given time.
struct LogSink {
  enum Progress: Equatable {
    case done
    /// The reader accepts no more now.
    case blocked
    case failed(Errno)
  }

  /// Bytes that a writable pipe accepts at once, on every system.
  private static let pipePiece = 4096

  let destination: ProxyConfiguration.AccessLogOptions.Destination
  private var descriptor: FileDescriptor
  private var isFile: Bool
  /// Complete lines; their first bytes may already be written.
  private var pending: [UInt8] = []
  private var written = 0

  /// - Throws: `Errno` if the file cannot be written to.
  init(_ destination: ProxyConfiguration.AccessLogOptions.Destination) throws {
    self.destination = destination
    (descriptor, isFile) = try Self.open(destination)
  }

  private static func open(_ destination: ProxyConfiguration.AccessLogOptions.Destination) throws -> (
    FileDescriptor, Bool
  ) {
    let descriptor: FileDescriptor
    switch destination {
    case .standardOutput: descriptor = .standardOutput
    case .file(let path):
      // Non-blocking, because opening a named pipe without a reader would wait for one.
      descriptor = try FileDescriptor.open(
        FilePath(path), .writeOnly, options: [.append, .create, .nonBlocking, .closeOnExec],
        permissions: [.ownerReadWrite, .groupRead])
    }
    var status = stat()
    let isFile = fstat(descriptor.rawValue, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    // A pipe whose reader has left must return an error instead of ending the process.
    if !isFile { _ = signal(SIGPIPE, SIG_IGN) }
    return (descriptor, isFile)
  }

  var isEmpty: Bool { written == pending.count }

  /// Takes lines to write, and returns an empty buffer in exchange. All earlier lines must have been written.
  mutating func exchange(_ lines: inout [UInt8]) {
    swap(&pending, &lines)
  }

  /// Writes the waiting lines.
  ///
  /// - Parameter patience: how long to wait for a reader, in milliseconds.
  mutating func write(patience: Int32) -> Progress {
    while written < pending.count {
      if !isFile {
        var ready = pollfd(fd: descriptor.rawValue, events: Int16(POLLOUT), revents: 0)
        if poll(&ready, 1, patience) == 0 { return .blocked }
      }
      let count = isFile ? pending.count - written : min(pending.count - written, Self.pipePiece)
      do {
        let range = written..<written + count
        // A system call needs a pointer; it does not leave this line.
        let taken = try pending.withUnsafeBytes { try descriptor.write(.init(rebasing: $0[range])) }
        if taken == 0 { return .blocked }
        written += taken
      } catch let error as Errno {
        return error == .wouldBlock ? .blocked : .failed(error)
      } catch {
        return .failed(.ioError)
      }
    }
    pending.removeAll(keepingCapacity: true)
    written = 0
    return .done
  }

  /// Opens the file under its name again, which may be another file by now. If that fails, the old file stays in use.
  ///
  /// - Returns: the number of lost lines: at most one, whose beginning is in the old file.
  mutating func reopen() throws -> Int {
    guard case .file = destination else { return 0 }
    let new = try Self.open(destination)
    try? descriptor.close()
    (descriptor, isFile) = new
    guard written > 0, written < pending.count, pending[written - 1] != 0x0A else { return 0 }
    written = pending[written...].firstIndex(of: 0x0A).map { $0 + 1 } ?? pending.count
    return 1
  }

  /// Closes the file.
  ///
  /// - Returns: the number of lines that were not written.
  mutating func close() -> Int {
    if case .file = destination { try? descriptor.close() }
    defer { (pending, written) = ([], 0) }
    return pending[written...].count { $0 == 0x0A }
  }
}
