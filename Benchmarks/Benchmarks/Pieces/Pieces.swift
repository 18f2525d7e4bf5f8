// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Benchmark
import Operations

let benchmarks: @Sendable () -> Void = {
  for operation in Operation.onOneThread {
    Benchmark(
      operation.name,
      configuration: .init(
        metrics: [.wallClock], warmupIterations: 1, scalingFactor: .kilo,
        maxDuration: .milliseconds(500))
    ) { benchmark in
      // Prepared for each iteration: a second insert of a key would only replace the first.
      let run = try operation.prepare()
      benchmark.startMeasurement()
      run(benchmark.scaledIterations)
    }
  }
}
