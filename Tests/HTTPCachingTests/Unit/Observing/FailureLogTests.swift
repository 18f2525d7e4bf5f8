// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheEngine
import HTTPCacheObserving
import HTTPCacheStore
import InMemoryLogging
import Logging
import TestSupport
import Testing

@testable import HTTPCaching

@Suite("Failures in the log", .timeLimit(.minutes(10)))
struct FailureLogTests {
  /// A log in virtual time.
  private final class Setting: Sendable {
    let clock = ManualClock(Timestamp(seconds: 1_000_000))
    let handler = InMemoryLogHandler()
    let logger: Logger
    let failures: FailureLog
    private let due = Timers()

    final class Timers: Sendable {
      let all = Mutex<[(Timestamp, @Sendable () -> Void)]>([])
    }

    init() {
      let (handler, clock, due) = (handler, clock, due)
      logger = Logger(label: "test") { _ in handler }
      failures = FailureLog(logger, recovery: "it works again", clock: clock) { delay, body in
        due.all.withLock { $0.append((Timestamp(milliseconds: clock.now.milliseconds + delay), body)) }
      }
    }

    func wait(seconds: Int64) {
      clock.advance(seconds: seconds)
      let now = clock.now
      let bodies = due.all.withLock { all in
        defer { all.removeAll { $0.0 <= now } }
        return all.filter { $0.0 <= now }.map(\.1)
      }
      for body in bodies { body() }
    }

    var lines: [String] {
      defer { handler.clear() }
      return handler.entries.map { "\($0.level) \($0.message) \($0.metadata["failures"] ?? "?")" }
    }
  }

  @Test("The first failure is logged at once, later ones once a minute with their number")
  func repeats() {
    let setting = Setting()
    for _ in 1...500 { setting.failures.failed("a", "it fails") }
    #expect(setting.lines == ["warning it fails 1"])
    setting.wait(seconds: 59)
    #expect(setting.lines == [])
    setting.wait(seconds: 1)
    #expect(setting.lines == ["warning it fails 499"])
    for _ in 1...3 {
      setting.wait(seconds: 61)
      setting.failures.failed("a", "it fails")
    }
    #expect(setting.lines == Array(repeating: "warning it fails 1", count: 3))
  }

  @Test("The end of a failure is logged once, with the number of unlogged failures")
  func recovers() {
    let setting = Setting()
    setting.failures.recovered()
    #expect(setting.lines == [])
    for _ in 1...4 { setting.failures.failed("a", "it fails") }
    for _ in 1...4 { setting.failures.recovered() }
    #expect(setting.lines == ["warning it fails 1", "notice it works again 3"])
  }

  @Test("Each kind of failure has its own warnings")
  func kinds() {
    let setting = Setting()
    for _ in 1...2 {
      setting.failures.failed("a", "a fails")
      setting.failures.failed("b", "b fails")
    }
    #expect(setting.lines == ["warning a fails 1", "warning b fails 1"])
    setting.failures.recovered()
    #expect(setting.lines == ["notice it works again 1", "notice it works again 1"])
  }

  @Test("An alternating failure makes at most one warning and one notice a minute")
  func flaps() {
    let setting = Setting()
    for second in 0..<600 {
      setting.failures.failed("a", "it fails")
      setting.failures.recovered()
      setting.wait(seconds: 1)
      if second % 60 == 0 { #expect(setting.lines.count <= 2) }
    }
    #expect(setting.lines.count <= 2)
  }

  @Test(
    "A failure within a minute of the last is logged when the minute is over",
    arguments: [true, false])
  func tellsLater(isOver: Bool) {
    let setting = Setting()
    setting.failures.failed("a", "it fails")
    setting.failures.recovered()
    _ = setting.lines
    setting.wait(seconds: 30)
    setting.failures.failed("a", "it fails again")
    if isOver { setting.failures.recovered() }
    #expect(setting.lines == [])
    setting.wait(seconds: 30)
    #expect(
      setting.lines == ["warning it fails again 1"] + (isOver ? ["notice it works again 0"] : []))
    setting.failures.recovered()
    #expect(setting.lines == (isOver ? [] : ["notice it works again 0"]))
  }

  @Test("Failures of the disk and of the shared tier are logged once a minute, each with its end")
  func ofCache() throws {
    let setting = Setting()
    var configuration = HTTPCache.Configuration()
    configuration.log(CacheLog(setting.logger) { _ in setting.failures }, CacheEvent.Action.allCases)
    let cache = try HTTPCache(configuration)
    let failure = DiskEvent.failing(try .sample)
    for event in [failure, .recovered, failure] { cache.hub.diskChanged(event) }
    let lines = setting.lines
    #expect(lines.count == 2)
    #expect(lines.first?.hasPrefix("warning the disk fails; responses are kept in memory only: ") == true)
    #expect(lines.last == "notice it works again 0")
    // Otherwise it would end together with the others, in any order.
    cache.hub.diskChanged(.recovered)
    let ends: [(CacheEvent.Action, CacheEvent.Action)] = [
      (.sharedTierUnavailable, .sharedTierAvailable), (.outOfStep, .inStep),
    ]
    for (failing, isOver) in ends {
      setting.wait(seconds: 60)
      _ = setting.lines
      for _ in 1...3 { cache.hub.note(failing, OutOfStep("no answer")) }
      cache.hub.note(isOver)
      let lines = setting.lines
      #expect(lines.first == "warning \(failing.change ?? ""): no answer 1")
      #expect(lines.last == "notice it works again 2")
    }
  }
}

extension StoreError {
  /// That of a file where a directory is needed.
  fileprivate static var sample: StoreError {
    get throws {
      try #require(throws: StoreError.self) {
        _ = try HTTPCache(.init(directory: "/dev/null/directory"))
      }
    }
  }
}
