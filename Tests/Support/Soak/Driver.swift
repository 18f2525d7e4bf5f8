// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation

/// What a run is to be.
struct Plan: Sendable {
  var seconds: Double
  var seed: UInt64
  /// Clients of each proxy door; a session door has half as many.
  var clients: Int
  /// Milliseconds.
  var silence: Int64
  /// The memory capacity of each cache in MiB.
  var memory: Int
  /// The numbers of the doors.
  var doors: [Int]
}

/// Starts the origin and the doors, lets the clients run, looks at the doors now and then, and judges.
struct Driver {
  let plan: Plan

  /// - Returns: what is wrong; nothing if the run passed.
  func run() async throws -> [String] {
    // A child that died is noticed by what it does not say.
    signal(SIGPIPE, SIG_IGN)
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("soak-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }

    let origin = try Child("the origin", ["origin", "--silence", "\(plan.silence)"])
    let port = try await origin.port()
    var doors: [Door] = []
    for number in plan.doors {
      doors.append(try await Door(number, origin: port, directory: directory.path, plan: plan))
    }
    // A door that hangs does not say so.
    let killing = (doors.map(\.child) + [origin]).map(\.watchdog)
    let watchdog = Task { [plan] in
      try await Task.sleep(for: .seconds(plan.seconds + Double(plan.silence) / 250 + 90))
      for kill in killing { kill() }
    }
    defer { watchdog.cancel() }

    var problems: [String] = []
    do {
      problems = try await run(doors)
    } catch {
      problems = ["\(error)"]
    }
    for door in doors {
      put(summary(door))
      for failure in door.tally.failures { put("failure at \(door.name): \(failure)") }
      let count = door.tally.failureCount
      if count > 0 { problems.append("\(door.name): \(count) wrong answers") }
    }
    for child in doors.map(\.child) + [origin] { await child.end(within: 20) }
    return problems
  }

  private func run(_ doors: [Door]) async throws -> [String] {
    let clock = ContinuousClock()
    let start = clock.now
    var time: Double { (clock.now - start) / .seconds(1) }
    let interval = plan.seconds > 60 ? 10.0 : 2.0
    put(Sample.header)
    for door in doors { door.start(plan) }
    while time < plan.seconds {
      try await Task.sleep(for: .seconds(Swift.min(interval, Swift.max(0, plan.seconds - time))))
      for door in doors { put(try await door.sample(at: time).row(door.name)) }
    }
    for door in doors { door.stop() }
    var problems = doors.flatMap { door in
      door.sizes.whileRunning.problems(door.samples, duration: plan.seconds).map { "\(door.name): \($0)" }
    }

    // Background revalidations of silent origins go on for a while.
    for door in doors { try await door.finish() }
    let limit = clock.now + .seconds(5) + .milliseconds(plan.silence + 1000)
    for door in doors {
      var last = try await door.sample(at: time)
      while !door.sizes.atRest.exceeded([last]).isEmpty, clock.now < limit {
        try await Task.sleep(for: .milliseconds(100))
        last = try await door.sample(at: time)
      }
      put(last.row(door.name + " end"))
      problems += door.sizes.atRest.exceeded([last]).map { "\(door.name): at rest, \($0)" }
    }
    return problems
  }

  private func summary(_ door: Door) -> String {
    guard let first = door.samples.first, let last = door.samples.last else {
      return "\(door.name): no samples"
    }
    let columns = Column.allCases.compactMap { column -> String? in
      guard let from = first.values[column], let to = last.values[column] else { return nil }
      return "\(column.title) \(column.text(from)) → \(column.text(to))"
    }
    return "\(door.name): first and last: " + columns.joined(separator: ", ")
  }
}
