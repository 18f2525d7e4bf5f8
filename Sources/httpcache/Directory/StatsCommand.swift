// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import HTTPCacheEngine
import HTTPCacheStore

/// `httpcache stats`.
struct StatsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "stats",
    abstract: "Print the number of entries in a cache directory, their size, and the share of live bytes.",
    discussion: """
      The command changes nothing, and can read a directory that is in use. "live" is the share of bytes that entries can \
      still be read from. The rest is reclaimed when the cache needs space.

      Exit status: 0, 64 for an invalid option, 65 if it is not a cache directory or has another version, 66 if it cannot \
      be read.
      """)

  @Argument(help: "Cache directory.", completion: .directory)
  var directory: String

  @Flag(help: "Print the result as one JSON document.")
  var json = false

  func run() throws {
    print(try output(now: Input.systemTime))
  }

  private struct Document: Encodable {
    var directory: String
    var formatVersion: UInt32
    var inUse: Bool
    var process: Int32?
    var bytes: Int
    var liveBytes: Int
    var bodyBytes = 0
    var entries: Int
    var segments: Int
    var bodyFiles: Int
    var marks: Int
    var fresh = 0
    var stale = 0
    var invalidated = 0
    var partial = 0
    var unreadable = 0
    /// Number of entries by status.
    var statuses: [String: Int] = [:]
    /// Seconds since 1970.
    var oldest: Int64?
    var newest: Int64?
  }

  func output(now: Timestamp) throws -> String {
    let inspection = try DirectoryInput.inspection(directory)
    let summary = inspection.summary
    var document = Document(
      directory: directory, formatVersion: summary.formatVersion, inUse: inspection.isInUse,
      process: inspection.usedByProcess, bytes: summary.bytes, liveBytes: summary.liveBytes,
      entries: summary.entries, segments: summary.segments, bodyFiles: summary.bodyFiles, marks: summary.marks
    )
    document.unreadable = inspection.forEachEntry { entry in
      let row = StoredRow(entry, in: inspection, now: now)
      document.bodyBytes += row.bodyBytes
      switch row.freshness {
      case .fresh: document.fresh += 1
      case .stale: document.stale += 1
      case .invalidated: document.invalidated += 1
      case .none: break
      }
      if row.isPartial == true { document.partial += 1 }
      if let status = row.status { document.statuses[String(status), default: 0] += 1 }
      document.oldest = min(document.oldest ?? row.storedAt, row.storedAt)
      document.newest = max(document.newest ?? row.storedAt, row.storedAt)
    }
    guard !json else {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
      return String(decoding: try encoder.encode(document), as: UTF8.self)
    }
    return (Columns.text(rows(document, now)) + (DirectoryInput.note(inspection).map { [$0] } ?? []))
      .joined(separator: "\n")
  }

  private func rows(_ document: Document, _ now: Timestamp) -> [[String]] {
    let statuses = document.statuses.sorted { $0.key < $1.key }.map { "\($0.value) of \($0.key)" }
    let share = document.bytes > 0 ? document.liveBytes * 100 / document.bytes : 0
    var rows = [
      ["format", "version \(document.formatVersion)"],
      [
        "on disk",
        "\(Brief.bytes(document.bytes)) in \(document.segments) segments and \(document.bodyFiles) body files",
      ],
      ["live", "\(Brief.bytes(document.liveBytes)), \(share) %"],
      ["entries", "\(document.entries), with \(Brief.bytes(document.bodyBytes)) of content"],
      ["by status", statuses.isEmpty ? "none" : statuses.joined(separator: ", ")],
      [
        "by freshness",
        "\(document.fresh) fresh, \(document.stale) stale, \(document.invalidated) invalidated",
      ],
      ["partial", "\(document.partial)"],
      ["marked scopes", "\(document.marks)"],
    ]
    if let oldest = document.oldest, let newest = document.newest {
      func ago(_ second: Int64) -> String { Brief.duration(max(0, now.seconds - second)) + " ago" }
      rows.append(["stored", "\(ago(oldest)) to \(ago(newest))"])
    }
    if document.unreadable > 0 {
      rows.append(["unreadable", "\(document.unreadable); httpcache verify lists them"])
    }
    return rows
  }
}
