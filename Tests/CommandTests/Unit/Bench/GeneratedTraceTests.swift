// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import Testing

@testable import CacheBench

@Suite(.timeLimit(.minutes(10))) struct GeneratedTraceTests {
  private func trace(_ pattern: TracePattern, seed: UInt64 = 1) -> Trace {
    TraceGenerator(pattern: pattern, keys: 1_000, requests: 20_000, seed: seed).trace
  }

  /// The share of the requests of a part of a trace that are for its hundred most frequent keys in another part.
  private func share(_ part: Range<Int>, of other: Range<Int>, in trace: Trace) -> Double {
    var counts: [Int: Int] = [:]
    for request in trace.requests[other] { counts[request.key, default: 0] += 1 }
    let popular = Set(counts.sorted { ($0.value, $0.key) > ($1.value, $1.key) }.prefix(100).map(\.key))
    return Double(trace.requests[part].count { popular.contains($0.key) }) / Double(part.count)
  }

  @Test(arguments: TracePattern.allCases)
  func `the same seed gives the same requests, another seed gives others`(pattern: TracePattern) {
    let one = trace(pattern)
    #expect(one.requests == trace(pattern).requests)
    #expect(one.requests != trace(pattern, seed: 2).requests)
    #expect(one.requests.count == 20_000)
    #expect((500...1_000).contains(one.distinctKeys) || pattern == .web)
  }

  @Test(arguments: TracePattern.allCases)
  func `each key has one size, and sizes differ much`(pattern: TracePattern) {
    let trace = trace(pattern)
    #expect(trace.requests.allSatisfy { $0.bytes == trace.firstBytes[$0.key] })
    let sizes = trace.firstBytes.sorted()
    #expect((1_500...3_000).contains(sizes[sizes.count / 2]) || pattern == .web)
    #expect(sizes[0] < 100)
    #expect(sizes[sizes.count - 1] > 100_000)
  }

  @Test func `half of the requests in web are for larger keys that are requested once`() {
    var requests: [Int: Int] = [:]
    let trace = trace(.web)
    for request in trace.requests { requests[request.key, default: 0] += 1 }
    let once = requests.filter { $0.value == 1 }.keys
    #expect((9_500...10_700).contains(once.count))
    let sizes = once.map { trace.firstBytes[$0] }.sorted()
    #expect((6_000...10_000).contains(sizes[sizes.count / 2]))
  }

  @Test func `popularity stays in zipf, and changes in shifting-zipf`() {
    let (first, last) = (0..<4_000, 16_000..<20_000)
    #expect(share(last, of: first, in: trace(.zipf)) > 0.5)
    #expect(share(last, of: first, in: trace(.shiftingZipf)) < 0.4)
    #expect(share(last, of: last, in: trace(.shiftingZipf)) > 0.5)
  }

  @Test func `a scan requests keys in order between requests for a hot set`() {
    var counts: [Int: Int] = [:]
    let trace = trace(.scan)
    for request in trace.requests { counts[request.key, default: 0] += 1 }
    let hot = counts.values.sorted(by: >).prefix(100).reduce(0, +)
    #expect((0.65...0.75).contains(Double(hot) / 20_000))
    let inOrder = zip(trace.requests, trace.requests.dropFirst()).count { $0.key + 1 == $1.key }
    #expect(inOrder > 4_000)
  }

  @Test func `a loop requests the same keys in the same order again`() {
    let keys = trace(.loop).requests.map(\.key)
    var last: [Int: Int] = [:]
    var repeats = 0
    for (index, key) in keys.enumerated() {
      if index > 0, let before = last[key], before > 0, keys[before - 1] == keys[index - 1] { repeats += 1 }
      last[key] = index
    }
    #expect(repeats > 12_000)
  }
}
