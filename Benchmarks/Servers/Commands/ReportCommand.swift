// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import BenchmarkHarness
import Foundation

struct ReportCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "report",
    abstract: "Write a self-contained HTML page with plots from results of --json.",
    discussion: """
      Exit status: 65 for a file that is not a result of this version, 66 for one that cannot be read, 73 if the page \
      cannot be written to its file.
      """)

  @Argument(help: "Files that other commands wrote with --json.")
  var files: [String]

  @Option(name: .shortAndLong, help: "File to write the page to (default: standard output).")
  var output: String?

  @Option(help: "Folder for the plots as SVG files, instead of a page.")
  var svg: String?

  func validate() throws {
    guard output == nil || svg == nil else {
      throw ValidationError("use either --output or --svg")
    }
    guard files.count <= 100 else {
      throw ValidationError("expected at most 100 files, found \(files.count)")
    }
  }

  func run() throws {
    let reports = try FileError.reporting { try files.map { try ReportFile(path: $0) } }
    if let svg { return try write(reports, folder: svg) }
    let page = ReportPage(files: reports).html
    guard let output else { return try Output.write(page) }
    try write(Data(page.utf8), to: URL(fileURLWithPath: output))
  }

  /// Writes each picture of the reports to a file of its own, and prints the names.
  private func write(_ reports: [ReportFile], folder: String) throws {
    let folder = URL(fileURLWithPath: folder, isDirectory: true)
    try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    for report in reports {
      let prefix = report.name.replacing(/\.json$/, with: "")
      for (title, pictures) in Pictures(report: report.report).groups {
        for picture in pictures {
          // Throughput and latency have pictures of the same title.
          let name = Picture.fileName("\(prefix) \(title) \(picture.title)")
          try write(Data(picture.svg.utf8), to: folder.appendingPathComponent(name))
          try Output.write(name + "\n")
        }
      }
    }
  }

  private func write(_ data: Data, to file: URL) throws {
    do {
      try data.write(to: file, options: .atomic)
    } catch {
      Output.note(
        "\(OwnProgram.name): cannot write \(Printable.text(file.relativePath)): check the folder and its permissions\n"
      )
      throw ExitCode(73)  // EX_CANTCREAT of sysexits.h
    }
  }
}
