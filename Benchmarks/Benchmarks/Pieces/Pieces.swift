import Benchmark
import Operations

let benchmarks: @Sendable () -> Void = {
  for operation in Operation.all {
    Benchmark(
      operation.name,
      configuration: .init(
        metrics: [.wallClock, .instructions], warmupIterations: 3, scalingFactor: .kilo,
        maxDuration: .milliseconds(500))
    ) { benchmark in
      let run = try operation.prepare()
      benchmark.startMeasurement()
      for _ in benchmark.scaledIterations { run(0..<1) }
    }
  }
}
