// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import Foundation

/// Reports as one self-contained HTML page: style and pictures are in it.
struct ReportPage {
  var files: [ReportFile]

  var html: String {
    """
    <!DOCTYPE html>
    <html lang="en">
    <head>
    <meta charset="utf-8"/>
    <meta name="viewport" content="width=device-width, initial-scale=1"/>
    <title>cache-bench</title>
    <style>
    \(Style.css)
    </style>
    </head>
    <body>
    <h1>cache-bench</h1>
    <p class="about">Compare the ratios of one run: absolute figures differ between machines and between runs.</p>
    \(files.map(section).joined(separator: "\n"))
    </body>
    </html>

    """
  }

  private func section(_ file: ReportFile) -> String {
    let report = file.report
    var parts = ["<section>", Markup.element("h2", "\(report.command) · \(file.name)")]
    parts += report.about.map { Markup.element("p", $0, class: "about") }
    if !report.machine.isOptimized { parts.append(Markup.element("p", Report.warning, class: "warning")) }
    if !report.targets.isEmpty { parts += [Markup.element("h3", "Targets"), report.targetTable.html] }
    for (title, pictures) in Pictures(report: report).groups where !pictures.isEmpty {
      parts += [Markup.element("h3", title), "<div class=\"plots\">"] + pictures.map(\.html) + ["</div>"]
    }
    let tables = report.tables
    for table in tables {
      // A table without plots is open.
      parts.append("<details\(tables.count == 1 ? " open=\"open\"" : "")>")
      parts += [Markup.element("summary", table.title), table.html, "</details>"]
    }
    let notes = report.allNotes.map { Markup.element("li", $0) }
    if !notes.isEmpty { parts.append("<ul class=\"notes\">\(notes.joined())</ul>") }
    return (parts + ["</section>"]).joined(separator: "\n")
  }
}

/// A report from a file, which may have been written by hand.
struct ReportFile {
  var name: String
  var report: Report

  private static let mostBytes = 64 << 20
  /// Maximum rows of each kind.
  private static let mostRows = 2_000

  /// - Throws: ``FileError``.
  init(path: String) throws {
    let bytes = try InputFile.bytes(of: path, limit: Self.mostBytes)
    try self.init(name: String(path.split(separator: "/").last ?? "-"), bytes: bytes, path: path)
  }

  init(name: String, bytes: [UInt8], path: String) throws {
    func broken(_ what: String) -> FileError { FileError(path: path, what: what) }
    self.name = name
    guard !bytes.isEmpty else {
      throw broken("the file is empty; expected the output of a command with --json")
    }
    let data = Data(bytes)
    struct Head: Decodable {
      var format: Int
    }
    do {
      let format = try JSONDecoder().decode(Head.self, from: data).format
      guard format == Report.currentFormat else {
        throw broken(
          "the file has format \(format), and this version reads \(Report.currentFormat); measure again, or use the version "
            + "that wrote it")
      }
      report = try JSONDecoder().decode(Report.self, from: data)
    } catch let error as DecodingError {
      throw broken(Self.explain(error))
    }
    for (what, count) in [
      ("measurements", report.measurements.count), ("targets", report.targets.count),
      ("notes", report.notes.count),
    ] where count > Self.mostRows {
      throw broken("\(what) has \(count) rows, and the limit is \(Self.mostRows)")
    }
  }

  private static func explain(_ error: DecodingError) -> String {
    func place(_ path: [any CodingKey]) -> String {
      Printable.text(path.map { $0.intValue.map { "[\($0)]" } ?? $0.stringValue }.joined(separator: "."))
    }
    let problem: String
    switch error {
    case .keyNotFound(let key, let context): problem = "'\(place(context.codingPath + [key]))' is missing"
    case .typeMismatch(_, let context), .valueNotFound(_, let context):
      problem = "'\(place(context.codingPath))' has the wrong type"
    case .dataCorrupted(let context) where !context.codingPath.isEmpty:
      problem = "'\(place(context.codingPath))' has an unknown value"
    default: return "not valid JSON"
    }
    return "not a result of cache-bench: \(problem)"
  }
}
