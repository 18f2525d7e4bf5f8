// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import Foundation

struct ReportCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "report",
    abstract: "Turns results of --json into a page of HTML with plots, which needs nothing else.",
    discussion: """
      Exit status: 65 for a file that is no result of this version, 66 for one that cannot be read, 73 if the page cannot \
      be written.
      """)

  @Argument(help: "Files that other commands wrote with --json.")
  var files: [String]

  @Option(name: .shortAndLong, help: "Where the page goes; standard output unless given.")
  var output: String?

  func validate() throws {
    guard files.count <= 100 else {
      throw ValidationError("there are \(files.count) files; give 100 at most")
    }
  }

  func run() throws {
    let reports = try InputError.reporting { try files.map { try ReportFile(path: $0) } }
    let page = Data(ReportPage(files: reports).html.utf8)
    guard let output else {
      FileHandle.standardOutput.write(page)
      return
    }
    do {
      try page.write(to: URL(fileURLWithPath: output), options: .atomic)
    } catch {
      FileHandle.standardError.write(
        Data("cache-bench: \(Printable.text(output)): it cannot be written\n".utf8))
      throw ExitCode(73)  // EX_CANTCREAT of sysexits.h
    }
  }
}
