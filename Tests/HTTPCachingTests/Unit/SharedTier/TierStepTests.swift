// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes
import TestSupport
import Testing

@testable import HTTPCaching

@Suite("The steps of a request in the shared tier, for a tracer", .timeLimit(.minutes(10)))
struct TierStepTests {
  /// Notes each step with those that it is a part of, outermost first.
  private final class Steps: CacheTracer {
    @TaskLocal private static var path: [TracedStep] = []
    private let log = Recorder<[TracedStep]>()

    /// The paths of the steps in the tier since the last call.
    func tierSteps(from position: Int = 0) -> [[TracedStep]] {
      log.all.dropFirst(position).filter { [.tierLookup, .tierLease, .tierStore].contains($0.last) }
    }

    var count: Int { log.all.count }

    func trace<Result>(
      _ step: TracedStep, of request: HTTPRequest, _ work: (any TracedSpan) async throws -> Result
    ) async rethrows -> Result {
      log.add(Self.path + [step])
      return try await Self.$path.withValue(Self.path + [step]) { try await work(Span()) }
    }

    var context: (any Sendable)? { Self.path }

    func run<Result>(in context: any Sendable, _ work: () async throws -> Result) async rethrows -> Result {
      try await Self.$path.withValue(context as? [TracedStep] ?? []) { try await work() }
    }

    func traceHit(_ response: CachedResponse, to request: HTTPRequest) {}

    struct Span: TracedSpan {
      var context: any Sendable { 0 }
      func link(to context: any Sendable) {}
      func record(_ response: CachedResponse) {}
      func record(_ status: HTTPResponse.Status) {}
    }
  }

  @Test("A miss looks up the tier, takes the lease, and stores its response as a part of the request")
  func miss() async throws {
    let steps = Steps()
    let fleet = try await SharedFleet(2) { $0.tracer = steps }
    _ = try await fleet.get(at: 0)
    await fleet.step()
    #expect(
      steps.tierSteps() == [[.answer, .tierLookup], [.answer, .tierLease], [.answer, .tierStore]])

    let count = steps.count
    #expect(try await fleet.get(at: 1).response.source == .hit)
    await fleet.step()
    #expect(steps.tierSteps(from: count) == [[.answer, .tierLookup]])
  }

  @Test("A node that waits for the lease of another has a step for that")
  func wait() async throws {
    let steps = Steps()
    let gate = Gate()
    let fleet = try await SharedFleet(2, origin: MemoryOrigin(ResponseShape(), holding: [gate])) {
      $0.tracer = steps
    }
    let first = Task { try await fleet.get(at: 0).text }
    await gate.arrived(1)
    let count = steps.count
    let second = Task { try await fleet.get(at: 1).response.source }
    try await fleet.clock.sleepers()
    gate.open()
    _ = try await first.value
    await fleet.nodes[0].link.drainWrites()
    #expect(try await second.value == .hit)
    let own = steps.tierSteps(from: count).filter { $0.last != .tierStore }
    #expect(own == [[.answer, .tierLookup], [.answer, .tierLease], [.answer, .tierLookup]])
  }
}
