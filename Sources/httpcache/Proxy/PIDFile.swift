// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import SystemPackage

/// A file with the ID of the process, for scripts.
struct PIDFile: Sendable {
  /// Why the file cannot be written.
  struct Fault: Error {
    var path: String
    var cause: Errno
  }

  private let path: String
  private let content = "\(getpid())\n"

  /// Checks that a file can be written beside one with this path.
  static func check(_ path: String) throws(Fault) {
    let new = "\(path).\(getpid())"
    _ = try PIDFile(new)
    unlink(new)
  }

  /// Writes the file, in one step, in the place of that of an earlier process.
  init(_ path: String) throws(Fault) {
    self.path = path
    // A name of its own, which is not followed: in a folder of all users, it could be a link.
    let new = "\(path).\(getpid())"
    do {
      unlink(new)
      let file = try FileDescriptor.open(
        FilePath(new), .writeOnly, options: [.create, .exclusiveCreate, .noFollow],
        permissions: FilePermissions(rawValue: 0o644))
      try file.closeAfter { _ = try file.writeAll(content.utf8) }
      guard rename(new, path) == 0 else { throw Errno(rawValue: errno) }
    } catch {
      unlink(new)
      throw Fault(path: path, cause: error as? Errno ?? .ioError)
    }
  }

  /// Removes the file, unless another process has written it since.
  func remove() {
    guard let found = try? String(contentsOfFile: path, encoding: .utf8), found == content else { return }
    unlink(path)
  }
}
