// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CPlatform
import Synchronization
import SystemPackage

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The file system of the machine.
struct POSIXFileSystem: FileSystem {
  static var currentProcess: Int32 { getpid() }

  func createDirectory(_ path: FilePath, withParents: Bool) throws(FileFailure) {
    if path.withPlatformString({ mkdir($0, 0o700) }) == 0 || errno == EEXIST { return }
    let parent = path.removingLastComponent()
    guard withParents, errno == ENOENT, !parent.isEmpty, parent != path else {
      throw FileFailure(operation: "create directory", path: path, errno: errno)
    }
    try createDirectory(parent, withParents: true)
    try createDirectory(path, withParents: false)
  }

  func makePrivate(_ directory: FilePath) throws(FileFailure) {
    guard directory.withPlatformString({ chmod($0, 0o700) }) == 0 else {
      throw FileFailure(operation: "restrict access to", path: directory, errno: errno)
    }
  }

  func open(_ path: FilePath, creating: Bool) throws(FileFailure) -> any File {
    do {
      var options: FileDescriptor.OpenOptions = [.closeOnExec, .noFollow]
      if creating { options.insert(.create) }
      let descriptor = try FileDescriptor.open(
        path, .readWrite, options: options, permissions: [.ownerReadWrite])
      return POSIXFile(descriptor: descriptor, path: path)
    } catch {
      throw FileFailure(operation: creating ? "create" : "open", path: path, error)
    }
  }

  func openAtOnce(_ path: FilePath) -> (any File)? {
    #if os(Linux)
      let descriptor = path.withPlatformString { store_open_at_once($0) }
      return descriptor < 0 ? nil : POSIXFile(descriptor: FileDescriptor(rawValue: descriptor), path: path)
    #else
      nil
    #endif
  }

  func list(_ directory: FilePath) throws(FileFailure) -> [String] {
    guard let stream = directory.withPlatformString({ opendir($0) }) else {
      throw FileFailure(operation: "list", path: directory, errno: errno)
    }
    defer { closedir(stream) }
    var names: [String] = []
    while true {
      errno = 0
      guard let entry = readdir(stream) else { break }
      let name = String(cString: UnsafePointer(entry).name)
      if name != ".", name != ".." { names.append(name) }
    }
    guard errno == 0 else { throw FileFailure(operation: "list", path: directory, errno: errno) }
    return names
  }

  func unlink(_ path: FilePath) throws(FileFailure) {
    guard path.withPlatformString({ systemUnlink($0) }) != 0 else { return }
    // A file that is gone already counts as unlinked.
    guard errno != ENOENT else { return }
    throw FileFailure(operation: "remove", path: path, errno: errno)
  }

  private static let start = ContinuousClock.now

  var uptime: Duration { Self.start.duration(to: .now) }

  func syncDirectory(_ path: FilePath) throws(FileFailure) {
    do {
      let descriptor = try FileDescriptor.open(path, .readOnly, options: [.closeOnExec, .directory])
      defer { try? descriptor.close() }
      guard fsync(descriptor.rawValue) == 0 else {
        throw Errno(rawValue: errno)
      }
    } catch {
      throw FileFailure(operation: "sync", path: path, error)
    }
  }
}

extension UnsafePointer<dirent> {
  /// The name in place: a directory entry ends with its name, and may be shorter than its declared type.
  fileprivate var name: UnsafePointer<CChar> {
    guard let offset = MemoryLayout<dirent>.offset(of: \.d_name) else {
      preconditionFailure("unexpected layout of a directory entry")
    }
    return (UnsafeRawPointer(self) + offset).assumingMemoryBound(to: CChar.self)
  }
}

/// A file of the machine's file system.
private final class POSIXFile: File {
  let path: FilePath
  private let descriptor: FileDescriptor
  private let isLocked = Atomic<Bool>(false)

  init(descriptor: FileDescriptor, path: FilePath) {
    self.descriptor = descriptor
    self.path = path
  }

  deinit {
    // Closing alone is not enough: a child process that is being started also has the descriptor, until it runs its
    // program.
    if isLocked.load(ordering: .relaxed) { flock(descriptor.rawValue, LOCK_UN) }
    try? descriptor.close()
  }

  func size() throws(FileFailure) -> Int {
    do {
      return Int(try descriptor.seek(offset: 0, from: .end))
    } catch {
      throw FileFailure(operation: "measure", path: path, error)
    }
  }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(FileFailure) -> Int {
    var done = 0
    while done < buffer.count {
      // Not through `FileDescriptor`, whose errors and retries take 150 instructions.
      let count = pread(
        descriptor.rawValue, buffer.baseAddress?.advanced(by: done), buffer.count - done, off_t(offset + done)
      )
      if count == 0 { break }
      if count > 0 {
        done += count
      } else if errno != EINTR {
        throw FileFailure(operation: "read", path: path, errno: errno)
      }
    }
    return done
  }

  func readAtOnce(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Bool {
    #if os(Linux)
      store_read_at_once(descriptor.rawValue, buffer.baseAddress, buffer.count, off_t(offset)) == buffer.count
    #else
      false
    #endif
  }

  func write(_ buffer: UnsafeRawBufferPointer, at offset: Int) throws(FileFailure) {
    do {
      _ = try descriptor.writeAll(toAbsoluteOffset: Int64(offset), buffer)
    } catch {
      throw FileFailure(operation: "write", path: path, error)
    }
  }

  /// A system call writes up to a multiple of this size.
  ///
  /// It is the most that Linux takes from each processor's reserve of pages for the page cache. If the reserve has
  /// larger pieces of memory, they are filled a third faster: 17 KB in 3.6 µs instead of 5.2. If it has none, they take
  /// 20 to 40 µs.
  private static let mostAtOnce = 32 << 10

  /// Writes the pieces without a copy.
  func write(_ pieces: [[UInt8]], at offset: Int) throws(FileFailure) {
    var vectors: [iovec] = []
    var (start, count) = (offset, 0)
    var failure: FileFailure?
    func flush() {
      guard failure == nil, !vectors.isEmpty else { return }
      do throws(FileFailure) {
        try write(&vectors, at: start)
      } catch {
        failure = error
      }
      (start, count) = (start + count, 0)
    }
    // The pointers outlive the closures: `pieces` keeps the arrays alive, and no code changes them.
    withExtendedLifetime(pieces) {
      for piece in pieces {
        piece.withUnsafeBytes { bytes in
          var done = 0
          while done < bytes.count {
            let room = Self.mostAtOnce - (start + count) % Self.mostAtOnce
            let part = min(room, bytes.count - done)
            let base = bytes.baseAddress.map { UnsafeMutableRawPointer(mutating: $0 + done) }
            vectors.append(iovec(iov_base: base, iov_len: part))
            (done, count) = (done + part, count + part)
            // No call takes more than 1,024 vectors.
            if part == room || vectors.count == 1000 { flush() }
          }
        }
      }
      flush()
    }
    if let failure { throw failure }
  }

  /// Writes all bytes of the vectors, and empties the array.
  private func write(_ vectors: inout [iovec], at offset: Int) throws(FileFailure) {
    var (first, offset) = (0, offset)
    defer { vectors.removeAll(keepingCapacity: true) }
    while first < vectors.count {
      let written = vectors[first...].withUnsafeBufferPointer {
        pwritev(descriptor.rawValue, $0.baseAddress, Int32($0.count), off_t(offset))
      }
      guard written > 0 else {
        if written < 0, errno == EINTR { continue }
        throw FileFailure(operation: "write", path: path, errno: written < 0 ? errno : EIO)
      }
      offset += written
      var rest = written
      while first < vectors.count, rest >= vectors[first].iov_len {
        rest -= vectors[first].iov_len
        first += 1
      }
      if rest > 0 {
        vectors[first].iov_base = vectors[first].iov_base.map { $0 + rest }
        vectors[first].iov_len -= rest
      }
    }
  }

  func truncate(to size: Int) throws(FileFailure) {
    guard ftruncate(descriptor.rawValue, off_t(size)) != 0 else { return }
    throw FileFailure(operation: "truncate", path: path, errno: errno)
  }

  func allocate(_ range: Range<Int>) {
    #if os(Linux)
      // Some file systems cannot allocate.
      _ = store_allocate(descriptor.rawValue, off_t(range.lowerBound), off_t(range.count))
    #endif
  }

  func releaseUnused() {
    guard let size = try? size() else { return }
    try? truncate(to: size)
  }

  func sync() throws(FileFailure) {
    #if canImport(Darwin)
      // On Darwin fsync stops at the drive's cache.
      let failed = fcntl(descriptor.rawValue, F_FULLFSYNC) == -1 && fsync(descriptor.rawValue) != 0
    #else
      let failed = fdatasync(descriptor.rawValue) != 0
    #endif
    if failed { throw FileFailure(operation: "sync", path: path, errno: errno) }
  }

  var isInPlace: Bool {
    var (mine, found) = (stat(), stat())
    guard fstat(descriptor.rawValue, &mine) == 0 else { return true }
    guard path.withPlatformString({ lstat($0, &found) }) == 0 else {
      // Other errors, such as missing permission, do not mean that the file is gone.
      return errno != ENOENT && errno != ENOTDIR
    }
    return mine.st_dev == found.st_dev && mine.st_ino == found.st_ino
  }

  func tryLock() throws(FileFailure) -> Bool {
    while flock(descriptor.rawValue, LOCK_EX | LOCK_NB) != 0 {
      if errno == EINTR { continue }
      if errno == EWOULDBLOCK { return false }
      throw FileFailure(operation: "lock", path: path, errno: errno)
    }
    isLocked.store(true, ordering: .relaxed)
    return true
  }
}

extension FilePath {
  /// The path from the root, because the working directory of the process may change later.
  package var absolute: FilePath {
    guard !isAbsolute else { return self }
    if components.first?.string == "~", let home = getenv("HOME") {
      return FilePath(platformString: home).appending(components.dropFirst())
    }
    guard let current = getcwd(nil, 0) else { return self }
    defer { free(current) }
    let path = FilePath(platformString: current).pushing(self)
    // Paths with `..` stay as they are: after a symbolic link, `..` has another meaning.
    return path.components.contains { $0.kind == .parentDirectory } ? path : path.lexicallyNormalized()
  }
}

extension FileFailure {
  fileprivate init(operation: String, path: FilePath, _ error: any Error) {
    let errno = (error as? Errno)?.rawValue ?? EIO
    self.init(operation: operation, path: path, errno: errno)
  }
}

// Within the type, the method's name hides the function's.
private func systemUnlink(_ path: UnsafePointer<CInterop.PlatformChar>) -> Int32 { unlink(path) }
