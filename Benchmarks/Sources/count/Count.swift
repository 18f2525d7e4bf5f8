import CAllocations
import Operations

/// Runs one operation so many times, and prints how many allocations that took and how long, each time.
///
/// What it prints has whatever preparing costs left out; what a profiler sees of the process has not. Two runs of
/// different counts tell them apart.
@main
enum Count {
  static func main() throws {
    let arguments = CommandLine.arguments.dropFirst()
    guard let name = arguments.first, let operation = Operation.named(name) else {
      print(Operation.all.map(\.name).joined(separator: "\n"))
      return
    }
    guard let count = arguments.dropFirst().first.flatMap({ Int($0) }),
      (1...Operation.mostRuns).contains(count)
    else { throw Failure.count }
    let run = try operation.prepare()
    // What is made when it is first needed is none of the operation.
    run(0..<1)
    let before = allocation_count()
    let duration = ContinuousClock().measure { run(0..<count) }
    let allocations = allocation_count() - before
    print(
      name, allocation_count() < 0 ? "?" : hundredths(allocations * 100 / count),
      duration.components.attoseconds / 1_000_000_000 / Int64(count))
  }

  private static func hundredths(_ value: Int) -> String {
    "\(value / 100).\(value % 100 < 10 ? "0" : "")\(value % 100)"
  }

  enum Failure: Error { case count }
}
