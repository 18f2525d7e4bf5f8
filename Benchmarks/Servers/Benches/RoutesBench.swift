// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import ChildProcesses
import Foundation
import HTTPCacheHummingbird
import HTTPCaching
import Hummingbird
import Logging
import NIOCore
import NIOPosix

/// Requests to servers with one route each, which run as processes, in rounds that alternate between the servers.
struct RoutesBench {
  var seconds: Int
  var rounds: Int
  var connections: Int
  var generator: LoadGenerator
  var progress: ProgressLine
  var executable = OwnProgram.path

  /// A server that runs, and the nanoseconds of processor time of a request in each of its rounds.
  private struct Entrant {
    var route: Route
    var process: ChildProcess
    var port: Int
    var rounds: [(summary: LoadSummary, processor: Double)] = []
  }

  func run() throws -> [Measurement] {
    var entrants: [Entrant] = []
    defer { for entrant in entrants { entrant.process.blockingStop() } }
    for route in Route.allCases {
      let port = try LoopbackClient.freePort()
      let process = try ChildProcess(
        executable, ["server-child", "--port", String(port), "--route", route.rawValue],
        input: .pipe)
      entrants.append(Entrant(route: route, process: process, port: port))
      try ProxyServer.awaitPort(port, of: process, route.contender.rawValue)
      for number in 0..<2 {
        try check(try LoopbackClient(port: port).get("/route"), route, isFirst: number == 0)
      }
      _ = try round(entrants[entrants.count - 1], seconds: 1)
    }
    for round in 0..<rounds {
      for offset in entrants.indices {
        // Each round begins with another server.
        let index = (round + offset) % entrants.count
        progress.show("round \(round + 1) of \(rounds): \(entrants[index].route.contender.rawValue)")
        entrants[index].rounds.append(try self.round(entrants[index], seconds: seconds))
      }
    }
    return entrants.map(measurement)
  }

  private func check(_ response: LoopbackClient.Response, _ route: Route, isFirst: Bool) throws {
    let status = response.fields["cache-status"]
    guard response.status == 200, response.bodyBytes >= 1024,
      route.isExpected(status, isFirst: isFirst)
    else {
      throw BenchError.unexpected(
        what: route.contender.rawValue,
        found: "status \(response.status), \(response.bodyBytes) bytes, Cache-Status: \(status ?? "none")")
    }
  }

  private func round(_ entrant: Entrant, seconds: Int) throws -> (LoadSummary, Double) {
    func processorTime() throws -> UInt64 {
      guard let time = ProcessTree.processorNanoseconds(of: entrant.process.id), entrant.process.isRunning
      else {
        throw BenchError.unprepared(
          "\(entrant.route.contender.rawValue) ended early: \(entrant.process.lastWords)")
      }
      return time
    }
    let before = try processorTime()
    let summary = try generator.run(
      LoadGenerator.Load(
        port: entrant.port, path: "/route", connections: connections, threads: 1, seconds: seconds),
      entrant.route.contender.rawValue)
    let time = try processorTime()
    return (summary, Double(time - min(time, before)) / Double(summary.requests))
  }

  private func measurement(_ entrant: Entrant) -> Measurement {
    var one = Measurement(
      .proxy, .route, entrant.route.contender,
      [
        .threads: 1, .connections: Double(connections), .valueBytes: 1024,
        .requests: Double(entrant.rounds.reduce(0) { $0 + $1.summary.requests }),
      ])
    one.byRound = entrant.rounds.map(\.processor)
    one[.processorNanoseconds] = median(entrant.rounds.map(\.processor))
    one[.operationsPerSecond] = median(
      entrant.rounds.map { Double($0.summary.requests) / max(0.001, $0.summary.seconds) })
    one[.p50Nanoseconds] = median(entrant.rounds.compactMap { $0.summary.percentiles[50] })
    one[.p99Nanoseconds] = median(entrant.rounds.compactMap { $0.summary.percentiles[99] })
    return one
  }
}

/// What a server of ``RoutesBench`` does for a request.
enum Route: String, CaseIterable, Sendable {
  /// Responds with a constant.
  case constant
  /// Encodes a value as JSON.
  case json
  /// Does the same, behind the cache.
  case cached
  /// Does the same, behind the cache, which may not store it.
  case passed

  var contender: Contender {
    switch self {
    case .constant: .constantRoute
    case .json: .encodingRoute
    case .cached: .ours
    case .passed: .passedRoute
    }
  }

  /// Whether the first or a later response says what it should in `Cache-Status`.
  fileprivate func isExpected(_ status: String?, isFirst: Bool) -> Bool {
    switch self {
    case .constant, .json: status == nil
    case .cached: status?.contains("; hit") == !isFirst
    case .passed: status?.contains("; fwd=") == true && status?.contains("; stored") == false
    }
  }
}

extension Route {
  /// Serves until standard input is closed.
  func run(port: Int) async throws {
    let router = Router()
    switch self {
    case .constant:
      let buffer = ByteBuffer(repeating: UInt8(ascii: "x"), count: 1024)
      router.get("route") { _, _ in
        Response(status: .ok, headers: [.contentType: "application/json"], body: .init(byteBuffer: buffer))
      }
    case .json: addJSON(router)
    case .cached, .passed:
      let cache = try HTTPCache(.init(kind: .shared, memoryCapacity: 64 << 20))
      router.add(middleware: CacheMiddleware(cache: cache))
      addJSON(router)
    }
    var logger = Logger(label: "route")
    logger.logLevel = .error
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let app = Application(
      responder: router.buildCachingResponder(),
      configuration: .init(address: .hostname("127.0.0.1", port: port), backlog: 4096),
      eventLoopGroupProvider: .shared(group), logger: logger)
    let server = Task { try await app.run() }
    await withCheckedContinuation { continuation in
      // A thread of its own: it blocks until the parent has closed it, or has ended.
      Thread.detachNewThread {
        _ = try? FileHandle.standardInput.readToEnd()
        continuation.resume()
      }
    }
    server.cancel()
    try? await server.value
    try await group.shutdownGracefully()
  }

  private func addJSON(_ router: Router<BasicRequestContext>) {
    let items = (0..<17).map { Item(id: $0, name: "item number \($0)", price: 99, tags: ["a", "b"]) }
    router.get("route") { request, context in
      var response = try context.responseEncoder.encode(items, from: request, context: context)
      if self == .passed {
        response.cache(.noStore)
      } else {
        response.cache(.public, maxAge: .seconds(3600))
      }
      return response
    }
  }

  private struct Item: Encodable {
    var id: Int
    var name: String
    var price: Double
    var tags: [String]
  }
}
