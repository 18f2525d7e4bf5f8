// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Benchmark
import Operations

let benchmarks: @Sendable () -> Void = {
  for operation in Operation.all {
    Benchmark(
      operation.name,
      configuration: .init(
        metrics: [.wallClock], warmupIterations: 1, scalingFactor: .kilo,
        maxDuration: .milliseconds(500))
    ) { benchmark in
      // Anew each time: what was inserted once would only be replaced.
      let run = try operation.prepare()
      benchmark.startMeasurement()
      run(benchmark.scaledIterations)
    }
  }
}
