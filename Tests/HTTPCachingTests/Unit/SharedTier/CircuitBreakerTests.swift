// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching
import Testing

@Suite("Breakers", .timeLimit(.minutes(10)))
struct CircuitBreakerTests {
  enum Step: Sendable { case success, failure, probe, stop }

  @Test(
    "Failures in a row open a breaker, and only a probe closes it",
    arguments: [
      ([], true), ([.failure, .failure], true), ([.failure, .failure, .failure], false),
      ([.failure, .failure, .success, .failure, .failure], true),
      ([.failure, .failure, .failure, .success], false), ([.failure, .failure, .failure, .probe], true),
      ([.stop], false), ([.stop, .probe, .failure, .failure], true), ([.probe, .failure, .failure], true),
      ([.stop, .probe, .failure, .failure, .failure], false),
    ] as [([Step], Bool)])
  func course(steps: [Step], isClosed: Bool) {
    var breaker = CircuitBreaker(limit: 3, isClosed: true)
    var wasClosed = true
    for step in steps {
      let hasChanged: Bool
      switch step {
      case .success:
        breaker.succeeded()
        hasChanged = false
      case .failure: hasChanged = breaker.failed()
      case .probe: hasChanged = breaker.close()
      case .stop: hasChanged = breaker.open()
      }
      #expect(hasChanged == (breaker.isClosed != wasClosed))
      wasClosed = breaker.isClosed
    }
    #expect(breaker.isClosed == isClosed)
  }
}
