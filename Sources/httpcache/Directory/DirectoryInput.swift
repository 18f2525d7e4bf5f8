// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import HTTPCacheStore
import SystemPackage

/// Opens directories for the commands, and says what is wrong with one.
enum DirectoryInput {
  static func inspection(_ directory: String) throws -> StoreInspection {
    try reporting { () throws(StoreError) in try StoreInspection(directory: FilePath(directory)) }
  }

  /// Opens the store itself, to change it; so nobody else may have it open.
  static func store(_ directory: String) throws -> CacheStore {
    // Looking first: a directory that is none is not to become one, and nothing is to be evicted.
    let bytes = try inspection(directory).summary.bytes
    var configuration = CacheStore.Configuration(
      memoryCapacity: 0, diskCapacity: 2 * bytes + (64 << 20), directory: FilePath(directory))
    // Once at the end, and not for each of many removals.
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

  /// What is wrong with a directory, and what to do, for who gave it to a command.
  ///
  /// - Parameter isServed: whether the command would store in the directory, and not only look at it.
  static func text(of error: StoreError, isServed: Bool = false) -> String {
    let discard =
      isServed
      ? "--start-empty-if-unreadable discards what it holds, or choose another --directory"
      : "httpcache proxy --start-empty-if-unreadable discards what it holds"
    let remedy: String? =
      switch error.kind {
      case .directoryInUse:
        isServed
          ? "stop that process, or choose another --directory"
          : "stop that process first; a running proxy purges at its --admin address"
      case .unknownFormat: "use the version of httpcache that wrote it; \(discard)"
      case .unreadableDirectory: discard
      case .notACache:
        isServed
          ? "give --directory one that is empty, or does not exist" : "give the directory of a cache"
      case .invalidConfiguration, .io, .corrupt, .closed: nil
      }
    return remedy.map { "\(error.problem); \($0)" } ?? error.problem
  }

  /// As in sysexits.h.
  private static func exitCode(_ error: StoreError) -> ExitCode {
    switch error.kind {
    case .directoryInUse: ExitCode(75)  // EX_TEMPFAIL
    case .unknownFormat, .unreadableDirectory, .notACache, .corrupt: ExitCode(65)  // EX_DATAERR
    default: ExitCode(66)  // EX_NOINPUT
    }
  }

  /// What is to be known of figures from a directory that changes.
  static func note(_ inspection: StoreInspection) -> String? {
    guard inspection.isInUse else { return nil }
    let holder = inspection.usedByProcess.map { " by process \($0)" } ?? ""
    return "The directory is in use\(holder): this is what had reached its files."
  }
}

/// Rows of text in columns; figures to the right.
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
