// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import ChildProcesses
import Foundation
import HTTPCaching
import Loopback

/// How long clients of a proxy wait for each other, and how many of their requests reach the origin.
struct WaitingBench: Sendable {
  var cases: [WaitingCase]
  var delay: Duration
  var threads: Int
  var servers: [ProxyServer]
  var progress: ProgressLine

  func run() async throws -> [Measurement] {
    let origin = try await WaitingOrigin.start()
    let result = await BlockingExecutor.run {
      Result { try cases.flatMap { $0.loads(delay) }.flatMap { try measure($0, origin) } }
    }
    await origin.stop()
    return try result.get()
  }

  /// Applies a load to the origin alone, and then to each server.
  private func measure(_ load: WaitingLoad, _ origin: WaitingOrigin) throws -> [Measurement] {
    let direct = ProxyServer(contender: .directOrigin, executable: "")
    var own: Double?
    let ruled =
      load.rules.isEmpty ? [] : servers.filter { $0.contender == .ours }.map { $0.labelled("rules") }
    return try ([direct] + servers + ruled).map { server in
      progress.show("\(load.action.rawValue), \(load.clients) at a time: \(server.name)")
      var one = try with(server, load, originPort: origin.port) { try measure(load, server, $0, origin) }
      if load.limits.contains(where: { $0.metric == .timesOfOrigin }), let p50 = one[.p50Nanoseconds] {
        own = own ?? p50
        one[.timesOfOrigin] = own.map { p50 / max(1, $0) }
      }
      return one
    }
  }

  /// Runs a body with a server that has stored nothing yet.
  private func with<Value>(
    _ server: ProxyServer, _ load: WaitingLoad, originPort: Int, _ body: (_ port: Int) throws -> Value
  ) throws -> Value {
    guard server.contender != .directOrigin else { return try body(originPort) }
    return try TemporaryDirectory.with { directory in
      var setup = ProxyServer.Setup(
        port: try LoopbackClient.freePort(), originPort: originPort, threads: threads, connections: 0,
        directory: directory)
      setup.coalesces = true
      setup.servesStale = !load.rules.isEmpty
      if server.label == "rules" { setup.rules = load.rules }
      let process = try server.start(setup)
      defer { process.blockingStop() }
      return try body(setup.port)
    }
  }

  private func measure(
    _ load: WaitingLoad, _ server: ProxyServer, _ port: Int, _ origin: WaitingOrigin
  ) throws -> Measurement {
    let path = "/\(UUID().uuidString)"
    if let stored = load.stored { try store(stored, path, port, origin) }
    origin.publish(load.answer, at: path)
    var one = Measurement(
      .waiting, load.action, server.contender, [.concurrency: Double(load.clients)])
    one.label = server.label
    let round: Round
    if load.readers > 0 {
      round = try besideReaders(load, path, server, port, origin)
      one[.hitRatio] = Double(round.successes) / Double(max(1, round.operations))
    } else {
      let leader = try load.leader.map { try lead($0, load, path, port, origin) }
      round = ThreadTeam.run(load.clients) { requests(load, path, port, user: $0 + 1) }
      withExtendedLifetime(leader) {}
      one[.failures] = Double(round.operations - round.successes)
      one[.originRequests] = Double(origin.requests(path))
    }
    one[.requests] = Double(round.operations)
    one.add(round)
    return one
  }

  /// Requests the response that is stored before the others come, and waits until it is as old as it has to be.
  private func store(
    _ stored: WaitingLoad.Stored, _ path: String, _ port: Int, _ origin: WaitingOrigin
  ) throws {
    switch stored {
    case .fresh(let answer):
      origin.publish(answer, at: path)
      _ = try LoopbackClient(port: port).get(path)
    case .stale(let answer):
      try store(.fresh(answer), path, port, origin)
      // Ages are whole seconds, and begin with the origin's Date.
      usleep(2_100_000)
    }
  }

  /// Sends a request, and returns its connection when the origin has the request, or when the response has begun.
  private func lead(
    _ leader: WaitingLoad.Leader, _ load: WaitingLoad, _ path: String, _ port: Int, _ origin: WaitingOrigin
  ) throws -> LoopbackClient {
    let client = try LoopbackClient(port: port, receiveBuffer: 4096)
    try client.send("GET", path, fields: load.fields(ofUser: 0))
    guard origin.awaitRequest(path) else {
      throw BenchError.unexpected(what: load.action.rawValue, found: "no request reached the origin")
    }
    if leader == .stopsReading { _ = try client.receiveFirstByte() }
    return client
  }

  /// Sends the requests of one client. A response with another status than the origin's, and a lost connection, is a failure.
  private func requests(_ load: WaitingLoad, _ path: String, _ port: Int, user: Int) -> Round {
    var round = Round(timesEach: true)
    var client = try? LoopbackClient(port: port)
    let begin = MonotonicClock.now
    var number = 0
    func isOver() -> Bool {
      load.seconds.map { MonotonicClock.now - begin > UInt64($0) * 1_000_000_000 } ?? (number >= load.rounds)
    }
    while !isOver() {
      let start = MonotonicClock.now
      let status = client.flatMap { client -> Int? in
        guard (try? client.send("GET", path, fields: load.fields(ofUser: user, round: number))) != nil else {
          return nil
        }
        if case .open = load.answer.ending { return try? client.receiveFirstByte() }
        return (try? client.receive())?.status
      }
      let time = MonotonicClock.now - start
      if number >= load.skipped {
        round.operations += 1
        round.successes += status == load.status ? 1 : 0
        round.record(time)
      }
      if status == nil { client = try? LoopbackClient(port: port) }
      if load.seconds != nil { usleep(10_000) }
      number += 1
    }
    return round
  }

  /// Requests each of some URLs twice, while other clients read a large response at 5 KB/s each.
  ///
  /// - Returns: the second requests. Those from the cache are successes.
  private func besideReaders(
    _ load: WaitingLoad, _ path: String, _ server: ProxyServer, _ port: Int, _ origin: WaitingOrigin
  ) throws -> Round {
    let readers = try (0..<load.readers).map { number in
      let large = "\(path)/large/\(number)"
      origin.publish(.init("no-store", bytes: 40_000_000), at: large)
      let reader = try LoopbackClient(port: port, receiveBuffer: 4096)
      try reader.send("GET", large)
      return reader
    }
    for reader in readers { _ = try reader.receiveFirstByte() }
    let client = try LoopbackClient(port: port)
    var round = Round(timesEach: true)
    for isSecond in [false, true] {
      for number in 0..<load.rounds {
        let small = "\(path)/small/\(number)"
        if !isSecond { origin.publish(load.answer, at: small) }
        let start = MonotonicClock.now
        let response = try client.get(small)
        if isSecond {
          round.record(MonotonicClock.now - start)
          round.operations += 1
          round.successes += server.source(of: response) == .cache ? 1 : 0
        }
        for reader in readers { reader.discard(atMost: 50) }
        usleep(10_000)
      }
    }
    return round
  }
}
