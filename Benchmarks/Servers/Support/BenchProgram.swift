// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import BenchmarkHarness
import ChildProcesses
import Foundation

/// The flag of the commands that run `cache-bench` as a process.
struct BenchProgramOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp("The cache-bench to run (default: the one beside this program).", valueName: "path"))
  var cacheBench: String?

  /// - Throws: ``BenchError`` if it cannot be run.
  func program() throws -> BenchProgram {
    let path = cacheBench ?? Program.built("cache-bench") ?? ""
    guard FileManager.default.isExecutableFile(atPath: path) else {
      throw BenchError.unprepared(
        cacheBench == nil
          ? "cache-bench is not beside this program; build it with 'swift build -c release --traits ServerBenchmarks "
            + "--product cache-bench', or use --cache-bench PATH"
          : "--cache-bench: \(Printable.text(path)) is not a program that can be run")
    }
    return BenchProgram(path: path)
  }
}

/// A `cache-bench` of this version or of an older one, which runs as a process.
struct BenchProgram {
  /// Seconds for one run, in addition to those that it measures: filling its caches.
  private static let patience = 7200.0

  var path: String

  /// Runs a command, and returns its output.
  ///
  /// - Throws: ``BenchError`` if the reader refuses the output.
  func run<Value>(_ arguments: [String], _ read: (Data) throws -> Value) throws -> Value {
    let output = try ChildProcess.output(of: path, arguments + ["--json"], seconds: Self.patience)
    do {
      return try read(Data(output.utf8))
    } catch let error as DecodingError {
      let last = output.split(separator: "\n").suffix(3).map { Printable.text(String($0)) }
      throw BenchError.unprepared(
        "\(Printable.text(path)) printed no report of '\(arguments.first ?? "")' (\(AnyReport.sentence(error))). Its last "
          + "lines: \(last.isEmpty ? "nothing" : last.joined(separator: " / "))")
    }
  }

  /// Returns the report of a program of this version.
  func report(_ arguments: [String]) throws -> Report {
    try run(arguments) { try JSONDecoder().decode(Report.self, from: $0) }
  }
}
