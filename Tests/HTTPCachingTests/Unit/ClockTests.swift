// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes
import SystemPackage
import TestSupport
import Testing

@testable import HTTPCaching

@Suite("Clocks that are set", .timeLimit(.minutes(10)))
struct ClockTests {
  private static let noon = Timestamp(seconds: 1_700_000_000)

  /// An origin whose own clock is right: it gets the true time from the monotonic one.
  private func origin(_ clock: ManualClock, hasDate: Bool = true) -> MemoryOrigin {
    MemoryOrigin { request, _ in
      var fields: HTTPFields = [.cacheControl: "max-age=60", .eTag: "\"a\""]
      if hasDate { fields[.date] = HTTPDate(clock.now).fieldValue }
      return .ok("content", fields, status: request.headerFields[.ifNoneMatch] == nil ? .ok : .notModified)
    }
  }

  @Test(
    "A wall clock that goes ahead and back changes no age, and new responses are as fresh as the origin says")
  func aheadAndBack() async throws {
    let setting = try Setting()
    let origin = origin(setting.clock)
    _ = try await setting.get("/before", from: origin)
    for lead: Int64 in [3600, 0, -3600, 0] {
      setting.clock.setWallClock(aheadBySeconds: lead)
      setting.clock.advance(seconds: 5)
      let hit = try await setting.get("/before", from: origin)
      #expect(hit.source == .hit && (hit.response.ageInSeconds ?? 99) <= 20)
      let path = "/during/\(lead)"
      _ = try await setting.get(path, from: origin)
      // Only a clock that is ahead makes the response seem old: it then compares with the origin's date.
      let again = try await setting.get(path, from: origin)
      #expect(again.source == (lead > 0 ? .validated : .hit))
      #expect((again.response.ageInSeconds ?? 0) >= 0)
    }
    // What was stored while the clock was ahead is validated once.
    #expect(try await setting.get("/during/3600", from: origin).source == .validated)
    #expect(try await setting.get("/during/3600", from: origin).source == .hit)
    // Nothing becomes fresh again.
    setting.clock.advance(seconds: 60)
    setting.clock.setWallClock(aheadBySeconds: -3600)
    #expect(try await setting.get("/before", from: origin).source == .validated)
  }

  @Test("A generated Date is the wall clock's, also after it was ahead", arguments: [3600, 0, -3600])
  func date(lead: Int64) async throws {
    let setting = try Setting()
    let origin = origin(setting.clock, hasDate: false)
    setting.clock.setWallClock(aheadBySeconds: 7200)
    _ = try await setting.get("/earlier", from: origin)
    setting.clock.setWallClock(aheadBySeconds: lead)
    let expected = HTTPDate(setting.clock.wallTime).fieldValue
    #expect(try await setting.get(from: origin).response.head.headerFields[.date] == expected)
    let hit = try await setting.get(from: origin)
    #expect(hit.source == .hit && hit.response.head.headerFields[.date] == expected)
  }

  /// Two processes with one directory. The second begins 20 seconds after the first stored a response.
  struct Restart: CustomTestStringConvertible {
    var testDescription: String
    /// How far the wall clock is ahead when the first process begins, and when it stores the response.
    var first: (start: Int64, storing: Int64) = (0, 0)
    /// How far it is ahead when the second process begins, and afterwards in steps.
    var second: (start: Int64, steps: [Int64]) = (0, [])
    /// The age in the second process; `nil` if the response is validated, once.
    var age: Int64?
  }

  static let restarts = [
    Restart(testDescription: "right", age: 20),
    Restart(testDescription: "ahead while it stored", first: (0, 3600), age: 20),
    Restart(testDescription: "ahead when it began, and right while it stored", first: (3600, 0), age: 20),
    Restart(testDescription: "ahead in the first process", first: (3600, 3600)),
    Restart(testDescription: "behind in the first process", first: (-3600, -3600)),
    Restart(testDescription: "behind when it began, and right while it stored", first: (-3600, 0)),
    Restart(testDescription: "behind in the second process", second: (-3600, [])),
    Restart(testDescription: "a little behind in the second process", second: (-25, [])),
    Restart(testDescription: "behind when the second began, and then right", second: (-3600, [0]), age: 20),
    Restart(testDescription: "ahead in the second process", second: (3600, [])),
    Restart(testDescription: "ahead and back in the second process", second: (0, [3600, 0])),
    Restart(testDescription: "back in the second process", second: (0, [-3600]), age: 20),
  ]

  @Test(
    "Only the wall clock compares times across restarts; what seems wrong is validated once",
    arguments: restarts)
  func restart(_ restart: Restart) async throws {
    try await withTemporaryDirectory { directory in
      func open(at seconds: Int64, _ lead: Int64) throws -> (HTTPCache, ManualClock) {
        let clock = ManualClock(Self.noon.advanced(bySeconds: seconds + lead))
        let store = try CacheStore(
          .init(memoryCapacity: 1 << 20, diskCapacity: 4 << 20, directory: directory))
        return (HTTPCache(store: store, configuration: .init(), clock: clock), clock)
      }
      let origin = MemoryOrigin { request, _ in
        let isValidation = request.headerFields[.ifNoneMatch] != nil
        return .ok(
          "content", [.cacheControl: "max-age=60", .eTag: "\"a\""], status: isValidation ? .notModified : .ok)
      }
      func get(_ cache: HTTPCache) async throws -> CachedResponse {
        let response = try await cache.respond(to: .get(), transport: origin.transport)
        _ = try await response.body.collect(upTo: 100)
        return response
      }
      let (first, firstClock) = try open(at: 0, restart.first.start)
      firstClock.setWallClock(aheadBySeconds: restart.first.storing - restart.first.start)
      _ = try await get(first)
      first.close()

      let (second, clock) = try open(at: 20, restart.second.start)
      defer { second.close() }
      for step in restart.second.steps {
        clock.setWallClock(aheadBySeconds: step - restart.second.start)
        // The lookup sees the step.
        _ = second.storedCopy(for: .get())
      }
      // A clock that was behind at the start does not reach the time of storing by going on.
      if restart.second.start == -25 { clock.advance(seconds: 10) }
      let response = try await get(second)
      #expect(response.source == (restart.age == nil ? .validated : .hit))
      if let age = restart.age { #expect(response.ageInSeconds == age) }
      let next = try await get(second)
      #expect(next.source == .hit && next.ageInSeconds == restart.age ?? 0)
    }
  }
}
