// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation

/// The place where the platform keeps the caches of the user.
enum CachesFolder {
  /// The folder of a cache that is named, or not named at all.
  private static let defaultName = "HTTPURLCache"

  /// Returns the folder of a cache of this process.
  static func folder(named name: String?) -> URL {
    let name = name.flatMap { $0.isEmpty ? nil : $0 } ?? defaultName
    return caches.appendingPathComponent(ProcessInfo.processInfo.processName).appendingPathComponent(name)
  }

  private static var caches: URL {
    #if canImport(Darwin)
      FileManager.default.urls(for: .cachesDirectory, in: .userDomainMask).first
        ?? FileManager.default.temporaryDirectory
    #else
      caches(
        environment: ProcessInfo.processInfo.environment,
        home: FileManager.default.homeDirectory(forUser: NSUserName()))
    #endif
  }

  /// Returns the folder by the XDG Base Directory Specification, which ignores a path that is not absolute.
  ///
  /// Not by `FileManager`: without `HOME`, that answers `/home/.cache`.
  ///
  /// - Parameter home: the home directory in the user database, for an environment without `HOME`.
  static func caches(environment: [String: String], home: URL?) -> URL {
    func absolute(_ name: String) -> URL? {
      environment[name].flatMap { $0.hasPrefix("/") ? URL(fileURLWithPath: $0, isDirectory: true) : nil }
    }
    if let caches = absolute("XDG_CACHE_HOME") { return caches }
    guard let home = absolute("HOME") ?? home else { return FileManager.default.temporaryDirectory }
    return home.appendingPathComponent(".cache")
  }

  /// Makes the missing parents of a folder, for this user alone (mode 0700), as the specification requires. The store
  /// makes the folder itself, and reports what fails.
  static func makeParents(of folder: URL) {
    var missing: [URL] = []
    var parent = folder.standardizedFileURL.deletingLastPathComponent()
    while parent.path != "/", !FileManager.default.fileExists(atPath: parent.path) {
      missing.append(parent)
      parent = parent.deletingLastPathComponent()
    }
    for folder in missing.reversed() {
      let mode = [FileAttributeKey.posixPermissions: NSNumber(value: 0o700)]
      try? FileManager.default.createDirectory(
        at: folder, withIntermediateDirectories: false, attributes: mode)
    }
  }
}
