// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import HTTPCacheEngine
import HTTPCacheStore
import HTTPCaching

/// `httpcache inspect`.
struct InspectCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "inspect",
    abstract: "List the entries of a cache directory.",
    discussion: """
      Prints each entry with its URL, status, size, age and freshness. It changes nothing, and it can read a directory that \
      is in use. "hit" is "yes" if the entry was hit before its first segment was reclaimed, and was therefore kept. Other \
      hits are not recorded on disk.

        httpcache inspect /var/cache/httpcache --sort size --limit 20
        httpcache inspect /var/cache/httpcache --url 'https://example.com/images/*' --json

      Exit status: 0, 64 for an invalid option, 65 if it is not a cache directory or has another version, 66 if it cannot \
      be read.
      """)

  enum Order: String, CaseIterable, ExpressibleByArgument {
    /// In the order of their places on disk, oldest first.
    case stored
    case url
    case size
    case age
    case status
    case remaining
  }

  @Argument(help: "Cache directory.", completion: .directory)
  var directory: String

  @Option(
    help:
      "Order: stored (as on disk), url, size (largest first), age (oldest first), status, or remaining (lifetime, shortest first)."
  )
  var sort = Order.stored

  @Option(
    help: ArgumentHelp(
      "Print only URLs that match this pattern: * matches any text, ? one character.", valueName: "glob"))
  var url: String?

  @Option(help: "Maximum number of entries to print (default: all).")
  var limit: Int?

  @Flag(help: "Print the result as one JSON document.")
  var json = false

  func validate() throws {
    if url == "" { throw ValidationError("--url: expected a pattern, found nothing") }
    if let limit, limit < 1 { throw ValidationError("--limit: expected 1 or more, found \(limit)") }
  }

  func run() throws {
    print(try output(now: Input.systemTime))
  }

  private struct Document: Encodable {
    var directory: String
    var inUse: Bool
    var entries: [StoredRow]
    /// Number of matching entries, shown or not.
    var matching: Int
    var unreadable: Int
  }

  func output(now: Timestamp) throws -> String {
    let inspection = try DirectoryInput.inspection(directory)
    let pattern = url.map { TargetPattern.glob($0) }
    var rows: [StoredRow] = []
    let unreadable = inspection.forEachEntry { entry in
      let row = StoredRow(entry, in: inspection, now: now)
      if pattern?.matches(row.url) ?? true { rows.append(row) }
    }
    sort(&rows)
    let shown = Array(rows.prefix(limit ?? rows.count))
    guard !json else {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
      let document = Document(
        directory: directory, inUse: inspection.isInUse, entries: shown, matching: rows.count,
        unreadable: unreadable)
      return String(decoding: try encoder.encode(document), as: UTF8.self)
    }
    var lines = Columns.text(
      [["status", "size", "age", "freshness", "hit", "URL"]] + shown.map(Self.cells), right: [0, 1, 2])
    if shown.count < rows.count {
      lines.append("\(rows.count - shown.count) more; increase --limit to see them.")
    }
    if rows.isEmpty { lines.append("Nothing is stored\(url.map { " for a URL that matches \($0)" } ?? "").") }
    if unreadable > 0 {
      lines.append("\(unreadable) entries cannot be read; httpcache verify lists them.")
    }
    if let note = DirectoryInput.note(inspection) { lines.append(note) }
    return lines.joined(separator: "\n")
  }

  private static func cells(_ row: StoredRow) -> [String] {
    let kind = row.kind == .get ? "" : "  (\(row.kind.rawValue))"
    let partition = row.partition.map { "  (partition \(Brief.printable($0)))" } ?? ""
    return [
      row.status.map { String($0) + (row.isPartial == true ? " part" : "") } ?? "",
      Brief.bytes(row.bodyBytes),
      row.age.map { Brief.duration($0) } ?? "", row.freshnessText, row.wasHit ? "yes" : "",
      Brief.printable(row.url) + kind + partition,
    ]
  }

  private func sort(_ rows: inout [StoredRow]) {
    switch sort {
    case .stored: break
    case .url: rows.sort { $0.url < $1.url }
    case .size: rows.sort { $0.diskBytes > $1.diskBytes }
    case .age: rows.sort { $0.age ?? -1 > $1.age ?? -1 }
    case .status: rows.sort { $0.status ?? 0 < $1.status ?? 0 }
    case .remaining: rows.sort { $0.remaining ?? .min < $1.remaining ?? .min }
    }
  }
}
