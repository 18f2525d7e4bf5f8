// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import SystemPackage

/// A file with the number of the process, for scripts.
struct PIDFile {
  private let path: String
  private let content = "\(getpid())\n"

  /// Writes the file, in one step, in the place of that of an earlier process.
  init(_ path: String) throws(Errno) {
    self.path = path
    let new = path + ".new"
    do {
      let file = try FileDescriptor.open(
        FilePath(new), .writeOnly, options: [.create, .truncate],
        permissions: FilePermissions(rawValue: 0o644))
      try file.closeAfter { _ = try file.writeAll(content.utf8) }
    } catch {
      throw error as? Errno ?? .ioError
    }
    guard rename(new, path) == 0 else { throw Errno(rawValue: errno) }
  }

  /// Removes the file, unless another process has written it since.
  func remove() {
    guard let found = try? String(contentsOfFile: path, encoding: .utf8), found == content else { return }
    unlink(path)
  }
}
