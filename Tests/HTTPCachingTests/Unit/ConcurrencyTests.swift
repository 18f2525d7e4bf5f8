// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import CacheMutex
import HTTPCacheEngine
import HTTPCacheStore
import HTTPCaching
import HTTPTypes
import SystemPackage
import TestSupport
import Testing

/// All that many may do to one cache at the same time, with a clock that moves meanwhile. `make test-thread` and `make
/// test-address` run it too.
@Suite("Concurrent use of a cache", .timeLimit(.minutes(10)))
struct ConcurrencyTests {
  /// A resource whose content is the number of its version, and whose validator says so.
  private final class Resource: Sendable {
    let current = Atomic<Int>(1)
    /// Responses of earlier versions were removed, and the removal has returned.
    let least = Atomic<Int>(1)
  }

  private struct Step: Sendable {
    var resources: [Resource]
    var cache: HTTPCache

    func request(_ number: Int, _ method: HTTPRequest.Method = .get) -> HTTPRequest {
      HTTPRequest(method: method, scheme: "https", authority: "example.test", path: "/\(number)")
    }

    var transport: Transport {
      { [resources] request, _ in
        let number = request.path.flatMap { Int($0.dropFirst()) } ?? 0
        guard request.method == .get else {
          // Changed, and only then said so: who hears of it must not get what was before.
          resources[number].current.add(1, ordering: .sequentiallyConsistent)
          return .ok("", [:], status: .noContent)
        }
        let version = resources[number].current.load(ordering: .sequentiallyConsistent)
        let fields: HTTPFields = [.cacheControl: "max-age=20", .eTag: "\"\(version)\""]
        if request.headerFields[.ifNoneMatch] == "\"\(version)\"" {
          return .ok("", fields, status: .notModified)
        }
        // Let others come between, now and then: in a run of all tests, each time means to wait for many.
        if version % 4 == 0 { await passTurn() }
        return .ok(ConcurrencyTests.content(version), fields)
      }
    }

    /// What is wrong with the answer to a GET, if anything is.
    func get(_ number: Int) async throws -> String? {
      let least = resources[number].least.load(ordering: .sequentiallyConsistent)
      let response = try await cache.respond(to: request(number), transport: transport)
      let text = try await response.text
      let version = response.head.headerFields[.eTag].flatMap { Int($0.dropFirst().dropLast()) } ?? 0
      if text != ConcurrencyTests.content(version) {
        return "\(response.source): the content of another head"
      }
      if version < least { return "\(response.source): version \(version), though \(least) was due" }
      if response.source == .hit, (response.ageInSeconds ?? 0) >= 20 {
        return "not fresh: \(response.ageInSeconds ?? 0)"
      }
      return nil
    }

    /// Makes all earlier versions outdated, and gone when it returns.
    func change(_ number: Int, isPost: Bool) async throws {
      if isPost {
        let response = try await cache.respond(to: request(number, .post), transport: transport)
        _ = try await response.body.collect(upTo: .max)
      } else {
        resources[number].current.add(1, ordering: .sequentiallyConsistent)
        cache.remove(.target(of: request(number)))
      }
      let version = resources[number].current.load(ordering: .sequentiallyConsistent)
      resources[number].least.store(version, ordering: .sequentiallyConsistent)
    }
  }

  private static func content(_ version: Int) -> String {
    String(repeating: "\(version),", count: 100 + version % 7 * 300)
  }

  @Test(
    "Concurrent requests never get a removed, stale or wrong response",
    arguments: EvictionPolicy.allCases, [true, false])
  func answers(eviction: EvictionPolicy, withDisk: Bool) async throws {
    try await withTemporaryDirectory { directory in
      var configuration = CacheStore.Configuration(
        memoryCapacity: 10_000, diskCapacity: withDisk ? 1 << 20 : 0, directory: withDisk ? directory : nil)
      configuration.shardCount = 2
      configuration.eviction = eviction
      let store = try CacheStore(configuration)
      let clock = ManualClock(Timestamp(seconds: 1_700_000_000))
      let cache = HTTPCache(store: store, configuration: .init(kind: .shared), clock: clock)
      let step = Step(resources: (0..<6).map { _ in Resource() }, cache: cache)
      let capacity = store.capacity
      let mistakes = Recorder<String>()
      try await withThrowingTaskGroup(of: Void.self) { group in
        for index in 0..<5 {
          group.addTask {
            var random = SplitMix64(seed: UInt64(index) + 5)
            for round in 0..<120 {
              let number = Int.random(in: 0..<6, using: &random)
              switch (index, round % 8) {
              case (0, 0): clock.advance(seconds: Int64.random(in: 0...15, using: &random))
              // Each version is one writer's: who changes it knows which one is due.
              case (1, 0): try await step.change(number, isPost: round % 16 == 0)
              case (2, 0) where round % 64 == 0: cache.remove(.all)
              default: if let mistake = try await step.get(number) { mistakes.add(mistake) }
              }
              let usage = store.usage
              if usage.memoryBytes > capacity.memory || usage.diskBytes > capacity.disk {
                mistakes.add("\(usage)")
              }
            }
          }
        }
        try await group.waitForAll()
      }
      #expect(mistakes.all == [])
      // Nothing is lost: in the end each has its last version, from whatever answers.
      for number in 0..<6 { #expect(try await step.get(number) == nil) }
      try await cache.fetches.emptied()
      #expect(store.statistics.corruptRecords == 0 && store.statistics.ioErrors == 0)
      #expect(store.statistics.memoryEvictions > 0)
      cache.close()
    }
  }
}
