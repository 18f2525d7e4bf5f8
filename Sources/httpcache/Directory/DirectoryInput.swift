// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import HTTPCacheStore
import SystemPackage

/// Opens directories for the commands, and reports their errors.
enum DirectoryInput {
  static func inspection(_ directory: String) throws -> StoreInspection {
    try reporting { () throws(StoreError) in try StoreInspection(directory: FilePath(directory)) }
  }

  /// Opens the store itself, to change it. So no other process may have it open.
  static func store(_ directory: String) throws -> CacheStore {
    // Inspect first: another directory must not become a cache, and nothing must be evicted.
    let bytes = try inspection(directory).summary.bytes
    var configuration = CacheStore.Configuration(
      memoryCapacity: 0, diskCapacity: 2 * bytes + (64 << 20), directory: FilePath(directory))
    // Sync once at the end instead of for each removal.
    configuration.sync = .never
    return try reporting { [configuration] () throws(StoreError) in try CacheStore(configuration) }
  }

  static func reporting<Result>(_ body: () throws(StoreError) -> Result) throws -> Result {
    do throws(StoreError) {
      return try body()
    } catch {
      Input.complain(text(of: error))
      throw exitCode(error)
    }
  }

  /// Returns the error of a directory, and what to do, for the user of a command.
  ///
  /// - Parameter isServed: whether the command would store in the directory, instead of only reading it.
  static func text(of error: StoreError, isServed: Bool = false) -> String {
    let discard =
      isServed
      ? "choose another --directory, or start the proxy with --start-empty-if-unreadable to discard its content"
      : "start httpcache proxy with --start-empty-if-unreadable to discard its content"
    let remedy: String? =
      switch error.kind {
      case .directoryInUse:
        isServed
          ? "stop that process, or choose another --directory"
          : "stop that process first; a running proxy purges at its --admin address"
      case .unknownFormat: "use the version of httpcache that wrote it, or \(discard)"
      case .unreadableDirectory: discard
      case .notACache:
        isServed
          ? "choose an empty --directory, or one that does not exist" : "choose the directory of a cache"
      case .invalidConfiguration, .io, .corrupt, .closed, .noDisk, .pinLimit, .tooManyPins, .noRoomToPin: nil
      }
    return remedy.map { "\(error.problem); \($0)" } ?? error.problem
  }

  /// The exit codes of sysexits.h.
  private static func exitCode(_ error: StoreError) -> ExitCode {
    switch error.kind {
    case .directoryInUse: ExitCode(75)  // EX_TEMPFAIL
    case .unknownFormat, .unreadableDirectory, .notACache, .corrupt: ExitCode(65)  // EX_DATAERR
    default: ExitCode(66)  // EX_NOINPUT
    }
  }

  /// Returns a note on figures from a directory that is changing.
  static func note(_ inspection: StoreInspection) -> String? {
    guard inspection.isInUse else { return nil }
    let holder = inspection.usedByProcess.map { " by process \($0)" } ?? ""
    return
      "The directory is in use\(holder). Responses that are not yet written to its files are missing here."
  }
}

/// Rows of text in columns; figures are aligned to the right.
enum Columns {
  static func text(_ rows: [[String]], right: Set<Int> = []) -> [String] {
    let widths = (rows.first ?? []).indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    return rows.map { row in
      var line = ""
      for (column, cell) in row.enumerated() {
        let padding = String(repeating: " ", count: widths[column] - cell.count)
        line += (column == 0 ? "" : "  ") + (right.contains(column) ? padding + cell : cell + padding)
      }
      while line.last == " " { line.removeLast() }
      return line
    }
  }
}
