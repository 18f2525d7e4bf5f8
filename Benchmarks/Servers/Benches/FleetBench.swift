// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import CacheMutex
import ChildProcesses
import Foundation
import HTTPCacheRedis
import HTTPCaching
import Loopback

/// Proxies with a shared tier on Redis: requests that reach the origin, local hits, and the time of a removal.
struct FleetBench: Sendable {
  /// Between two requests for a URL that is being removed. It is part of the measured time.
  private static let pollMicroseconds: UInt32 = 500

  var options: FleetOptions
  var server: ProxyServer
  var generator: LoadGenerator
  var progress: ProgressLine

  func run() async throws -> [Measurement] {
    guard RedisServer.isInstalled else { throw BenchError.unprepared(RedisServer.howToInstall) }
    return try await RedisServer.with { redis in
      let origin = try await FleetContent.origin(delay: .milliseconds(options.originDelay))
      let result = await BlockingExecutor.run { Result { try measure(redis, origin) } }
      await origin.stop()
      return try result.get()
    }
  }

  private func measure(_ redis: RedisServer, _ origin: LoopbackOrigin) throws -> [Measurement] {
    guard case .tcp(host: let host, port: let port) = redis.address else { return [] }
    var (alone, sharing) = (server, server)
    // PURGE is for trusted clients.
    alone.furtherArguments = ["--trust", "127.0.0.0/8"]
    sharing.label = FleetLabel.sharedTier
    sharing.furtherArguments =
      alone.furtherArguments + [
        "--shared", "redis://\(host):\(port)", "--shared-trust", String(options.sharedTrust),
      ]
    func fleet<Value>(_ server: ProxyServer, _ body: (Fleet) throws -> Value) throws -> Value {
      try Fleet.with(
        server, count: options.proxies, originPort: origin.port, threads: options.proxy.threads,
        usesDisk: options.proxy.disk, body)
    }
    var measurements = [try fleet(alone) { try cold($0, origin, FleetLabel.privateCaches) }]
    measurements += try fleet(sharing) { fleet in
      [try cold(fleet, origin, FleetLabel.sharedTier)] + (try removals(fleet, FleetLabel.idle))
        + (try removalsUnderLoad(fleet))
    }
    // A fleet before would still send heartbeats, which take processor time.
    return measurements
      + (try ProxyBench(
        options: options.proxy, cases: options.cases, servers: [alone, sharing], generator: generator,
        progress: progress
      ).run())
  }

  // MARK: - A cold fleet

  /// Sends the requests of a sequence to random proxies, and counts those that reach the origin.
  private func cold(_ fleet: Fleet, _ origin: LoopbackOrigin, _ label: String) throws -> Measurement {
    progress.show("cold, \(label)")
    let prefix = "/cold/"
    let keys = KeySequence(
      keys: options.urls, distribution: .zipf, exponent: 0.99, seed: options.proxy.seed, stream: 0,
      length: options.requests
    ).indices
    let (before, threads) = (origin.requestCount, min(options.proxy.connections, keys.count))
    let failure = FirstError()
    let seed = options.proxy.seed
    let start = MonotonicClock.now
    let round = ThreadTeam.run(threads) { thread in
      failure.catching(or: Round(timesEach: true)) {
        let clients = try fleet.ports.map { try LoopbackClient(port: $0) }
        var random = SplitMix64(seed: seed &+ UInt64(thread))
        let share = keys[keys.count * thread / threads..<keys.count * (thread + 1) / threads]
        return Loop(timesEach: true).pass(over: share) { key in
          failure.catching(or: false) {
            let client = clients[Int.random(in: clients.indices, using: &random)]
            let path = prefix + String(key)
            let response = try client.get(path, host: Fleet.host)
            let size = FleetContent(path: path).bodyBytes
            guard response.status == 200, response.bodyBytes == size else {
              throw BenchError.unexpected(
                what: path,
                found: "status \(response.status), \(response.bodyBytes) bytes; expected 200, \(size) bytes"
              )
            }
            return server.source(of: response) == .cache
          }
        }
      }
    }
    let seconds = Double(MonotonicClock.now - start) / 1e9
    try failure.check()
    let fetched = origin.requests.dropFirst(before).count { $0.target.hasPrefix(prefix) }
    let distinct = Set(keys).count
    var one = Measurement(
      .fleet, .coldFleet, .ours,
      [
        .requests: Double(keys.count), .distinctKeys: Double(distinct), .originRequests: Double(fetched),
        .originRequestsPerURL: Double(fetched) / Double(distinct), .concurrency: Double(threads),
        .operationsPerSecond: Double(keys.count) / seconds,
        .hitRatio: Double(round.successes) / Double(max(1, round.operations)),
      ])
    one.label = label
    one.add(round)
    return one
  }

  // MARK: - Removals

  /// Purges one URL after the other through a random proxy, and asks all other proxies until they have removed it.
  private func removals(_ fleet: Fleet, _ label: String) throws -> [Measurement] {
    var random = SplitMix64(seed: options.proxy.seed)
    let first = label == FleetLabel.idle ? 0 : options.removals
    var rounds = [Round(timesEach: true), Round(timesEach: true)]
    for number in 0..<options.removals {
      progress.show("removal \(number + 1) of \(options.removals), \(label)")
      let path = "/removed/\(first + number)"
      for port in fleet.ports { try fleet.awaitStored(path, on: port) }
      let times = try removal(path, fleet, from: Int.random(in: fleet.ports.indices, using: &random))
      for index in rounds.indices { rounds[index].append(times[index]) }
    }
    return zip([Action.removal, .purge], rounds).map { action, round in
      var one = Measurement(.fleet, action, .ours, [.requests: Double(options.removals)])
      one.label = label
      one.add(round)
      return one
    }
  }

  /// Purges a URL through one proxy.
  ///
  /// - Returns: the times until each other proxy has removed it, and the time until the purge was answered.
  private func removal(_ path: String, _ fleet: Fleet, from purging: Int) throws -> [Round] {
    let failure = FirstError()
    let answered = Mutex(Round(timesEach: true))
    let ready = Atomic(0)
    let start = Atomic<UInt64>(0)
    let others = fleet.ports.count - 1
    let removed = ThreadTeam.run(fleet.ports.count) { index in
      var round = Round(timesEach: true)
      return failure.catching(or: round) {
        let client = try LoopbackClient(port: fleet.ports[index])
        guard index != purging else {
          _ = poll(for: 20) { ready.load(ordering: .relaxed) == others }
          start.store(MonotonicClock.now, ordering: .relaxed)
          let response = try client.request("PURGE", path, host: Fleet.host)
          guard response.status == 200 else {
            throw BenchError.unexpected(what: "PURGE \(path)", found: "status \(response.status)")
          }
          answered.withLock { $0.record(MonotonicClock.now - start.load(ordering: .relaxed)) }
          return round
        }
        let deadline = MonotonicClock.now + 30_000_000_000
        guard try Fleet.isStored(path, client) else {
          throw BenchError.unexpected(what: path, found: "not stored before the purge")
        }
        ready.add(1, ordering: .relaxed)
        while try Fleet.isStored(path, client) {
          guard MonotonicClock.now < deadline else {
            throw BenchError.unexpected(what: "PURGE \(path)", found: "another proxy still serves it")
          }
          usleep(Self.pollMicroseconds)
        }
        round.record(MonotonicClock.now - start.load(ordering: .relaxed))
        return round
      }
    }
    try failure.check()
    return [removed, answered.withLock { $0 }]
  }

  /// Does the same while wrk requests one stored URL from each proxy.
  private func removalsUnderLoad(_ fleet: Fleet) throws -> [Measurement] {
    let path = "/load"
    for port in fleet.ports { try fleet.awaitStored(path, on: port) }
    var loads: [ChildProcess] = []
    defer { for load in loads { load.blockingStop() } }
    for port in fleet.ports {
      var load = LoadGenerator.Load(
        port: port, path: path, connections: max(1, options.proxy.connections / options.proxies),
        threads: 1, seconds: 86_400)
      load.host = Fleet.host
      loads.append(
        try ChildProcess(generator.executable, load.arguments))
    }
    let measurements = try removals(fleet, FleetLabel.underLoad)
    var rate = 0.0
    for load in loads {
      // It prints its summary when it is interrupted.
      load.signal(SIGINT)
      _ = load.blockingEnd(atMost: .seconds(10))
      let summary = try generator.summary(load.output.text, "load")
      rate += Double(summary.requests) / max(0.001, summary.seconds)
    }
    return measurements.map { one in
      var one = one
      one[.operationsPerSecond] = rate
      return one
    }
  }
}

/// The first error on several threads.
private final class FirstError: Sendable {
  private let error = Mutex<(any Error)?>(nil)

  /// Runs a body. Returns another value if it fails, or if a body failed before.
  func catching<Value>(or other: Value, _ body: () throws -> Value) -> Value {
    guard error.withLock({ $0 == nil }) else { return other }
    do {
      return try body()
    } catch let thrown {
      error.withLock { $0 = $0 ?? thrown }
      return other
    }
  }

  func check() throws { if let error = error.withLock({ $0 }) { throw error } }
}
