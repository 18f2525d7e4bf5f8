// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheStore
import SystemPackage
import TestSupport
import Testing

@testable import HTTPCaching

@Suite("Events of the disk and of the shared tier", .timeLimit(.minutes(10)))
struct ChangeEventTests {
  private static func store(in directory: FilePath) throws -> CacheStore {
    try CacheStore(.init(memoryCapacity: 0, diskCapacity: 4 << 20, directory: directory))
  }

  /// Stores responses until a write to the disk has failed, or has succeeded again.
  private static func store(in cache: HTTPCache, until isReached: () -> Bool) async throws {
    for number in 0..<20_000 where !isReached() {
      let response = try await cache.respond(to: .get("/\(number)")) { _, _ in .ok("x") }
      _ = try await response.body.collect(upTo: 10)
      cache.flush()
    }
  }

  @Test("One observer gets the events of requests and of the disk, which fails and works again")
  func disk() async throws {
    try await withTemporaryDirectory { directory in
      let log = Recorder<CacheEvent>()
      var configuration = HTTPCache.Configuration()
      configuration.observe { log.add($0) }
      let cache = HTTPCache(store: try Self.store(in: directory), configuration: configuration)
      defer { cache.close() }
      let stream = cache.events(of: [.diskFailing])
      let restore = try cutOff(directory)
      try await Self.store(in: cache) { cache.store.isDiskFailing }
      try await log.reach(.diskFailing)
      let event = try #require(log.all.first { $0.action == .diskFailing })
      let cause = try #require(event.cause as? StoreError)
      #expect(event.request == nil && event.reason == nil && event.uri == "")
      #expect(event.description == "the disk fails; responses are kept in memory only: \(cause)")
      var iterator = stream.makeAsyncIterator()
      #expect(await iterator.next()?.action == .diskFailing)
      #expect(log.reasons(.forwarded).first == .nothingStored)
      // A cache that opens over the same store learns the state.
      let second = Recorder<CacheEvent>()
      var other = HTTPCache.Configuration()
      other.observe([.diskFailing, .diskRecovered]) { second.add($0) }
      let late = HTTPCache(store: cache.store, configuration: other)
      try await second.reach(.diskFailing)
      restore()
      try await Self.store(in: cache) { !cache.store.isDiskFailing }
      try await log.reach(.diskRecovered)
      try await second.reach(.diskRecovered)
      withExtendedLifetime(late) {}
    }
  }

  @Test("An observer in the configuration learns that the opening discarded an unreadable cache")
  func discarded() async throws {
    try await withTemporaryDirectory { directory in
      try Self.store(in: directory).close()
      let format = directory.appending("format")
      let file = try FileDescriptor.open(format, .writeOnly)
      try file.closeAfter { _ = try file.writeAll([1, 2, 3]) }
      let log = Recorder<CacheEvent>()
      var configuration = HTTPCache.Configuration(diskCapacity: 4 << 20, directory: directory)
      configuration.store.whenUnreadable = .startEmpty
      configuration.observe([.diskDiscarded, .stored]) { log.add($0) }
      let cache = try HTTPCache(configuration)
      defer { cache.close() }
      #expect(log.all.map(\.action) == [.diskDiscarded])
      #expect(cache.store.discarded != nil && log.all.first?.cause as? StoreError == cache.store.discarded)
    }
  }

  @Test("One observer gets the events of requests and of the shared tier")
  func sharedTier() async throws {
    let log = Recorder<CacheEvent>()
    let fleet = try await SharedFleet(1) { $0.observe { log.add($0) } }
    let node = fleet.nodes[0]
    _ = try await fleet.get(at: 0)
    node.tier.fault = .failing
    await node.step()
    fleet.clock.advance(seconds: 3)
    await node.step()
    node.tier.fault = .none
    await node.step()
    let changes = log.all.filter { $0.request == nil }
    #expect(
      changes.map(\.action) == [
        .outOfStep, .sharedTierAvailable, .inStep, .sharedTierUnavailable, .outOfStep, .sharedTierAvailable,
        .inStep,
      ])
    #expect(changes.map { $0.cause != nil } == [true, false, false, true, true, false, false])
    #expect(changes.last?.description == "in step with the shared tier")
    #expect(log.reasons(.stored) == [.storedWithLifetime])
  }
}
