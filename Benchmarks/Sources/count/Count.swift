// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CAllocations
import Operations

/// Runs each of some operations so many times, and prints how many allocations that took and how many nanoseconds, each time.
///
/// What prepares them is left out of that, and a profiler that looks at `call_measured` alone leaves it out too. Callgrind
/// writes what it counted for each to a file of its own.
@main
enum Count {
  static func main() throws {
    let arguments = CommandLine.arguments.dropFirst()
    guard let first = arguments.first else {
      print(Operation.all.map(\.name).joined(separator: "\n"))
      return
    }
    guard let count = Int(first), (1...Operation.mostRuns).contains(count) else { throw Failure.count }
    for name in arguments.dropFirst() {
      guard let operation = Operation.named(name) else { throw Failure.name(name) }
      try measure(operation, count)
    }
  }

  private static func measure(_ operation: Operation, _ count: Int) throws {
    let run = try operation.prepare()
    // What is made at the first use is not part of the operation.
    run(0..<1)
    let before = allocation_count()
    start_instrumentation()
    let duration = ContinuousClock().measure { Measured(run: run, count: count).call() }
    stop_instrumentation(operation.name)
    // An operation may have collected them.
    run_tasks_as_usual()
    let allocations = allocation_count() - before
    print(
      operation.name, allocation_count() < 0 ? "?" : hundredths(allocations * 100 / count),
      duration.components.attoseconds / 1_000_000_000 / Int64(count))
  }

  private static func hundredths(_ value: Int) -> String {
    "\(value / 100).\(value % 100 < 10 ? "0" : "")\(value % 100)"
  }

  enum Failure: Error {
    case count
    case name(String)
  }
}

/// The runs, as C calls them.
private final class Measured {
  private let run: Operation.Run
  private let count: Int

  init(run: @escaping Operation.Run, count: Int) {
    self.run = run
    self.count = count
  }

  func call() {
    call_measured(
      { context in
        guard let context else { return }
        let measured = Unmanaged<Measured>.fromOpaque(context).takeUnretainedValue()
        measured.run(0..<measured.count)
      }, Unmanaged.passUnretained(self).toOpaque())
  }
}
