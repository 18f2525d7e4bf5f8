// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import BenchmarkHarness
import Foundation

/// `cache-bench-servers baseline`.
struct BaselineCommand: BenchCommand {
  static let configuration = CommandConfiguration(
    commandName: "baseline",
    abstract: "Compare this build with another one, such as an older commit, by 'cache-bench workload'.",
    discussion: """
      Each round runs both programs, and each fills its caches first. The command passes workloads and other flags on to \
      'cache-bench workload'.
      """)

  @Option(
    help: ArgumentHelp("The other cache-bench.", valueName: "[label=]path"))
  var against: LabelledProgram
  @OptionGroup var program: BenchProgramOptions
  @OptionGroup var round: RoundOptions
  @Argument(parsing: .allUnrecognized, help: "Workloads and flags of 'cache-bench workload'.")
  var words: [String] = []
  var json: Bool { round.json }

  func report(_ progress: ProgressLine) throws -> Report {
    guard FileManager.default.isExecutableFile(atPath: against.path) else {
      throw BenchError.unprepared(
        "--against: \(Printable.text(against.path)) is not a program that can be run")
    }
    let bench = BaselineBench(
      own: try program.program(), baseline: BenchProgram(path: against.path),
      label: against.label ?? "baseline", words: words, options: round, progress: progress)
    return Report(
      command: "baseline",
      parameters: Parameters(seconds: round.seconds, rounds: round.rounds, seed: round.seed),
      measurements: try bench.run().withRatios)
  }
}

extension [Measurement] {
  /// These, and our measurements of this build compared with the yardsticks.
  fileprivate var withRatios: [Measurement] {
    self + filter { $0.kind == .throughput && $0.label == nil }.ratios
  }
}
