// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import Foundation
import HTTPCacheRedis
import Loopback
import TestSupport

/// What a run is to be.
struct Plan: Sendable {
  var seconds: Double
  var seed: UInt64
  /// Clients of each proxy entry point; a session entry point has half as many.
  var clients: Int
  /// Milliseconds.
  var silence: Int64
  /// The memory capacity of each cache in MiB.
  var memory: Int
  /// Whether there is a shared tier.
  var hasTier: Bool
  /// The numbers of the entry points.
  var entryPoints: [Int]
  /// Whether the proxies log to standard error.
  var isVerbose: Bool
}

/// Starts the origin and the entry points, lets the clients run, looks at the entry points now and then, and judges.
struct Driver {
  let plan: Plan

  /// - Returns: what is wrong; nothing if the run passed.
  func run() async throws -> [String] {
    // A child that died is noticed by what it does not say.
    signal(SIGPIPE, SIG_IGN)
    return try await withTemporaryFolder { folder in
      try await plan.hasTier ? runWithTier(in: folder.path) : run(in: folder.path, nil)
    }
  }

  private func runWithTier(in directory: String) async throws -> [String] {
    try await RedisServer.with { server in
      let disturbing = Task { [plan] in try await Self.disturb(server, seed: plan.seed) }
      let result: Result<[String], any Error>
      do { result = .success(try await run(in: directory, server)) } catch { result = .failure(error) }
      disturbing.cancel()
      do {
        let count = try await disturbing.value
        put("the server of the tier was killed or stopped \(count) times")
      } catch {
        return try result.get() + ["the server of the tier did not start again: \(error)"]
      }
      return try result.get()
    }
  }

  /// Kills the server of the shared tier, or stops it, at random times, until it is cancelled.
  ///
  /// - Returns: how many times.
  private static func disturb(_ server: RedisServer, seed: UInt64) async throws -> Int {
    var random = SplitMix64(seed: seed)
    var count = 0
    func pause(_ milliseconds: ClosedRange<Int>) async {
      try? await Task.sleep(for: .milliseconds(Int.random(in: milliseconds, using: &random)))
    }
    while true {
      await pause(3000...15_000)
      if Task.isCancelled { return count }
      count += 1
      if Bool.random(using: &random) {
        server.stop()
        await pause(100...5000)
        server.resume()
      } else {
        await server.kill()
        await pause(100...5000)
        if Task.isCancelled { return count }
        try await server.start()
      }
    }
  }

  private func run(in directory: String, _ server: RedisServer?) async throws -> [String] {
    let arguments = ["origin", "--silence", "\(plan.silence)"]
    let origins = [
      try Child("the origin", arguments), try Child("the origin of HTTP/2", arguments + ["--http2"]),
    ]
    let ports = [try await origins[0].port(), try await origins[1].port()]
    var entryPoints: [EntryPoint] = []
    for number in plan.entryPoints {
      entryPoints.append(
        try await EntryPoint(
          number, origin: ports[EntryPoint.usesHTTP2(number) ? 1 : 0], directory: directory,
          tier: server?.url,
          plan: plan))
    }
    // A entry point that hangs does not say so.
    let killing = (entryPoints.map(\.child) + origins).map(\.watchdog)
    let watchdog = Task { [plan] in
      try await Task.sleep(for: .seconds(plan.seconds + Double(plan.silence) / 250 + 90))
      for kill in killing { kill() }
    }
    defer { watchdog.cancel() }

    var problems: [String] = []
    do {
      problems = try await run(entryPoints)
    } catch {
      problems = ["\(error)"]
    }
    for entryPoint in entryPoints {
      put(summary(entryPoint))
      for failure in entryPoint.tally.failures { put("failure at \(entryPoint.name): \(failure)") }
      let count = entryPoint.tally.failureCount
      if count > 0 { problems.append("\(entryPoint.name): \(count) wrong answers") }
    }
    for child in entryPoints.map(\.child) + origins { await child.end(within: 20) }
    return problems
  }

  private func run(_ entryPoints: [EntryPoint]) async throws -> [String] {
    let clock = ContinuousClock()
    let start = clock.now
    var time: Double { (clock.now - start) / .seconds(1) }
    let interval = plan.seconds > 60 ? 10.0 : 2.0
    put(Sample.header)
    for entryPoint in entryPoints { entryPoint.start(plan) }
    while time < plan.seconds {
      try await Task.sleep(for: .seconds(Swift.min(interval, Swift.max(0, plan.seconds - time))))
      for entryPoint in entryPoints { put(try await entryPoint.sample(at: time).row(entryPoint.name)) }
    }
    for entryPoint in entryPoints { entryPoint.stop() }
    var problems = entryPoints.flatMap { entryPoint in
      entryPoint.sizes.whileRunning.problems(entryPoint.samples, duration: plan.seconds).map {
        "\(entryPoint.name): \($0)"
      }
    }

    // Background revalidations of silent origins go on for a while.
    for entryPoint in entryPoints { try await entryPoint.finish() }
    let limit = clock.now + .seconds(5) + .milliseconds(plan.silence + 1000)
    for entryPoint in entryPoints {
      var last = try await entryPoint.sample(at: time)
      while !entryPoint.sizes.atRest.exceeded([last]).isEmpty, clock.now < limit {
        try await Task.sleep(for: .milliseconds(100))
        last = try await entryPoint.sample(at: time)
      }
      put(last.row(entryPoint.name + " end"))
      entryPoint.tally.judgeCut(leftBehind: last.values[.left] ?? 0)
      problems += entryPoint.sizes.atRest.exceeded([last]).map { "\(entryPoint.name): at rest, \($0)" }
    }
    return problems
  }

  private func summary(_ entryPoint: EntryPoint) -> String {
    guard let first = entryPoint.samples.first, let last = entryPoint.samples.last else {
      return "\(entryPoint.name): no samples"
    }
    let columns = Column.allCases.compactMap { column -> String? in
      guard let from = first.values[column], let to = last.values[column] else { return nil }
      return "\(column.title) \(column.text(from)) → \(column.text(to))"
    }
    return "\(entryPoint.name): first and last: " + columns.joined(separator: ", ")
  }
}

extension RedisServer {
  fileprivate var url: String? {
    if case .tcp(let host, let port) = address { "redis://\(host):\(port)" } else { nil }
  }
}
