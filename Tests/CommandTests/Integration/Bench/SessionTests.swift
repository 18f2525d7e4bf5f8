// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import Testing

@testable import CacheBench

@Suite(.timeLimit(.minutes(10))) struct SessionTests {
  @Test func `each kind of request reaches the origin only as often as necessary`() async throws {
    let bench = SessionBench(requests: 3, valueSize: 200, progress: ProgressLine(isShown: false))
    let reaching: [Action] = [.plainRequest, .missRequest, .validatedRequest]
    let others: [Action] = [
      .bareRequest, .hitRequest, .hitWithFields, .hitElsewhere, .staleRequest, .loadedRequest, .respond,
      .storedResponse, .headOfRequest, .headOfResponse, .changeOfThreads, .bareAmongHits, .hitAmongConstants,
    ]
    var report = Report(command: "session", parameters: Parameters(valueBytes: 200, requests: 3))
    report.measurements = try await bench.run()
    #expect(Set(report.measurements.map(\.action)) == Set(reaching + others))
    for one in report.measurements {
      #expect(one[.requests] == 3)
      #expect((one[.processorNanoseconds] ?? 0) > 0)
      #expect(one[.originRequests] == (reaching.contains(one.action) ? 3 : 0))
    }
    report.targets = report.sessionTargets
    #expect(report.targets.map(\.limit) == [2, 20, 20, 10, 1.5, 1.5, 1.5, 1.5, 1.3, 1.2])
    #expect(report.targets.dropLast().allSatisfy { ($0.figure ?? 0) > 0 })
    #expect(report.targets.last?.figure == nil)
    #expect(report.text.contains("a fresh hit through URLSession, against a request to a loopback server"))
    #expect(report.text.contains("validated by 304"))
    #expect(try report.json().contains("\"originRequests\" : 3"))
  }

  @Test func `long content arrives whole with and without the cache, and its processor times are compared`()
    async throws
  {
    let bench = TransferBench(transfers: 2, size: 3_000_000, progress: ProgressLine(isShown: false))
    var report = Report(command: "session")
    report.measurements = try await bench.run()
    #expect(report.measurements.map(\.action) == [.plainTransfer, .cachedTransfer])
    #expect(report.measurements.allSatisfy { $0[.originRequests] == 2 && $0.cost > 0 })
    report.targets = report.sessionTargets
    #expect((report.targets.last?.figure ?? 0) > 0)
  }
}
