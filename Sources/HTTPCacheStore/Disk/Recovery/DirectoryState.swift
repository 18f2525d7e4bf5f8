// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import SystemPackage

/// The kind of a directory, determined by the names in it and by its file `format`.
///
/// It is determined before anything in the directory is changed. A directory with other contents must not become a
/// cache, and nothing in it is ever removed.
enum DirectoryState {
  /// It is empty, or holds only what a crash leaves of an unfinished new cache.
  case empty
  case cache(seed: UInt64)
  /// It holds a cache that this version cannot read.
  case unreadable(StoreError)
  /// It holds other files, including one with this name.
  case other(name: String)

  /// Names that file systems add to a directory themselves.
  private static let systemNames: Set = ["lost+found"]

  /// Names of files that HTTPCaching keeps beside those of the store.
  private static let foreignNames: Set = ["shared-position", "shared-position.new", "shared-removals"]

  static func isCacheFile(_ name: String) -> Bool {
    [DiskFormat.lockName, DiskFormat.formatName, DiskFormat.removalsName].contains(name)
      || DiskFormat.pinsNames.contains(name) || foreignNames.contains(name)
      || DiskFormat.segmentNumber(name) != nil || DiskFormat.bodyNumber(name) != nil
  }

  init(of directory: FilePath, names: [String], files: any FileSystem) throws(FileFailure) {
    let names = names.filter { !Self.systemNames.contains($0) }
    let strange = names.filter { !Self.isCacheFile($0) }.min()
    let hasSegments = names.contains { DiskFormat.segmentNumber($0) != nil }
    func unreadable(_ what: String) -> Self {
      .unreadable(StoreError(.unreadableDirectory(path: directory, what: what)))
    }
    guard names.contains(DiskFormat.formatName) else {
      let other: String? = if let strange { strange } else { try Self.unexplained(names, directory, files) }
      if hasSegments {
        self = unreadable("its file 'format' is missing")
      } else if let other {
        self = .other(name: other)
      } else {
        self = .empty
      }
      return
    }
    let size = DiskFormat.formatFileSize
    let file = try files.open(directory.appending(DiskFormat.formatName), creating: false)
    let length = try file.size()
    let bytes = try file.read(min(length, size), at: 0) ?? []
    if DiskFormat.isFormatFile(bytes) {
      do throws(StoreError) {
        self = .cache(seed: try DiskFormat.seed(in: bytes, directory: directory))
      } catch {
        self = .unreadable(error)
      }
    } else if hasSegments {
      self = unreadable(
        length < size
          ? "its file 'format' is truncated" : "its file 'format' has no valid signature")
    } else if let strange {
      self = .other(name: strange)
    } else if length > size {
      self = .other(name: DiskFormat.formatName)
    } else if length < size || bytes.allSatisfy({ $0 == 0 }) {
      // A crash during the creation of the directory can leave such a file.
      self = .empty
    } else {
      self = unreadable("its file 'format' has no valid signature")
    }
  }

  /// Without a `format` file, a cache was never finished: of its files, only the lock can be there, with a number in
  /// it.
  private static func unexplained(
    _ names: [String], _ directory: FilePath, _ files: any FileSystem
  ) throws(FileFailure) -> String? {
    if let other = names.filter({ $0 != DiskFormat.lockName }).min() { return other }
    guard names.contains(DiskFormat.lockName) else { return nil }
    let file = try files.open(directory.appending(DiskFormat.lockName), creating: false)
    let length = try file.size()
    let bytes = try file.read(min(length, 16), at: 0) ?? []
    let isOurs =
      length <= 16 && bytes.allSatisfy { $0 == 0 || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    return isOurs ? nil : DiskFormat.lockName
  }
}
