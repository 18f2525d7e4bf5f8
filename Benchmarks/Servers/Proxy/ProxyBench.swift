// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import ChildProcesses
import Foundation

/// Requests to servers that run as processes, in rounds that alternate between the servers.
struct ProxyBench {
  var options: ProxyBenchOptions
  var cases: [ProxyCase]
  var servers: [ProxyServer]
  var generator: LoadGenerator
  var progress: ProgressLine
  /// The program that serves as the origin: this one.
  var executable = OwnProgram.path

  func run() throws -> [Measurement] {
    Self.raiseFileLimit()
    return try cases.flatMap { one in try TemporaryDirectory.with { try measure(one, in: $0) } }
  }

  /// A server that runs, with the load for it and the results of its rounds.
  private struct Entrant {
    var server: ProxyServer
    var process: ChildProcess
    var load: LoadGenerator.Load
    var rounds: [Result] = []
    var systemCalls: Double?
    /// Number of runs of wrk so far. Each run has its own URLs in the case `miss`.
    var runs = 0
  }

  /// The result of a round.
  private struct Result {
    var summary: LoadSummary
    var processorNanoseconds: Double
    var originRequests: Int
  }

  // MARK: - A case

  private func measure(_ one: ProxyCase, in directory: String) throws -> [Measurement] {
    var processes: [ChildProcess] = []
    defer { for process in processes { process.blockingStop() } }
    func show(_ what: String) { progress.show("\(one.rawValue): \(what)") }

    let originPort = try LoopbackClient.freePort()
    // One thread for each of the server: the origin must not be the limit.
    let origin = try ChildProcess(
      executable,
      ["server-child", "--origin", "--port", String(originPort), "--threads", String(options.threads)],
      input: .pipe)
    processes.append(origin)
    try ProxyServer.awaitPort(originPort, of: origin, "the origin")

    let script = try script(one, in: directory)
    var entrants: [Entrant] = []
    for (number, server) in servers.enumerated() where server.can(one) {
      show("starting \(server.name)")
      var setup = ProxyServer.Setup(
        port: try LoopbackClient.freePort(), originPort: originPort, threads: options.threads,
        connections: connections(one), directory: directory + "/\(number)")
      (setup.bodyBytes, setup.closes, setup.usesDisk) = (one.bodyBytes, one.closes, options.disk)
      (setup.isInFiles, setup.revalidates) = (one == .disk, one == .revalidate)
      try FileManager.default.createDirectory(atPath: setup.directory, withIntermediateDirectories: false)
      let process = try server.start(setup)
      processes.append(process)
      var load = LoadGenerator.Load(
        port: setup.port, path: one.path, connections: connections(one), threads: options.threads,
        seconds: options.seconds)
      (load.closes, load.fields, load.script) = (one.closes, one.fields, script)
      entrants.append(Entrant(server: server, process: process, load: load))
    }

    for index in entrants.indices {
      show("warming up \(entrants[index].server.name)")
      try prepare(one, entrants[index])
      // Not counted: the first run allocates memory and opens connections to the origin.
      entrants[index].load.seconds = 1
      _ = try round(one, &entrants[index], originPort)
      entrants[index].load.seconds = options.seconds
    }
    for round in 0..<options.rounds {
      for offset in entrants.indices {
        // Each round begins with another server.
        let index = (round + offset) % entrants.count
        show("round \(round + 1) of \(options.rounds): \(entrants[index].server.name)")
        let result = try self.round(one, &entrants[index], originPort)
        entrants[index].rounds.append(result)
      }
    }
    if let tracer = options.tracer {
      for index in entrants.indices {
        show("counting system calls: \(entrants[index].server.name)")
        try countSystemCalls(one, &entrants[index], originPort, tracer, in: directory)
      }
    }
    return entrants.map { measurement(one, $0) }
  }

  private func connections(_ one: ProxyCase) -> Int {
    one == .many ? ProxyCase.manyConnections : options.connections
  }

  /// Writes the script of a case, if it has one.
  private func script(_ one: ProxyCase, in directory: String) throws -> String? {
    let text: String
    switch one {
    case .miss: text = LoadScript.newPaths(one.path)
    case .zipf:
      let sequence = KeySequence(
        keys: one.keys, distribution: .zipf, exponent: 0.99, seed: options.seed, stream: 0, length: 1 << 16)
      text = LoadScript.sequence(one.path, keys: one.keys, sequence.indices)
    case .disk, .revalidate:
      let shuffled = KeySequence.shuffle(keys: one.keys, seed: options.seed)
      text = LoadScript.sequence(one.path, keys: one.keys, shuffled)
    default: return nil
    }
    let path = directory + "/load.lua"
    try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    return path
  }

  // MARK: - Checks

  /// Stores what the case hits, and verifies the responses.
  private func prepare(_ one: ProxyCase, _ entrant: Entrant) throws {
    let server = entrant.server
    let client = try LoopbackClient(port: entrant.load.port)
    func get(_ path: String, _ fields: [String] = []) throws -> LoopbackClient.Response {
      let client = one.closes ? try LoopbackClient(port: entrant.load.port) : client
      return try client.get(path, fields: fields, closes: one.closes)
    }
    func check(
      _ response: LoopbackClient.Response, _ source: ProxyServer.Source,
      _ answer: (status: Int, bodyBytes: Int)
    ) throws {
      let found = server.source(of: response)
      guard response.status == answer.status, response.bodyBytes == answer.bodyBytes,
        found == source || server.contender == .bareNIO
      else {
        throw BenchError.unexpected(
          what: "\(one.rawValue), \(server.name)",
          found:
            "status \(response.status), \(response.bodyBytes) bytes, source: \(found); expected status "
            + "\(answer.status), \(answer.bodyBytes) bytes, source: \(source)")
      }
    }
    let paths =
      one == .miss
      ? [one.path + "first"] : one.keys == 1 ? [one.path] : (0..<one.keys).map { one.path + String($0) }
    for path in paths { try check(try get(path), .origin, (200, one.bodyBytes)) }
    // The second request for a URL is a hit, even where the measured requests are not.
    let source = one == .miss ? .cache : one.source
    var response = try get(paths[paths.count - 1], one.fields)
    // A server may publish the response after it has sent it.
    _ = poll(for: 2) {
      if server.contender == .bareNIO || server.source(of: response) == source { return true }
      if let next = try? get(paths[paths.count - 1], one.fields) { response = next }
      return false
    }
    try check(response, source, one.answer)
  }

  /// Runs wrk once, and verifies by the origin's count that all requests reached it, or none did.
  private func round(_ one: ProxyCase, _ entrant: inout Entrant, _ originPort: Int) throws -> Result {
    let name = "\(one.rawValue), \(entrant.server.name)"
    func originCount(_ path: String) throws -> Int {
      try LoopbackClient(port: originPort).get(path).bodyBytes
    }
    func processorTime() throws -> UInt64 {
      guard let time = ProcessTree.processorNanoseconds(of: entrant.process.id), entrant.process.isRunning
      else {
        throw BenchError.unprepared("\(entrant.server.name) ended early: \(entrant.process.lastWords)")
      }
      return time
    }
    entrant.runs += 1
    entrant.load.run = entrant.runs
    // With a 200, the server has not revalidated what it stored.
    let path = one == .revalidate ? ChildServer.notModifiedPath : ChildServer.countPath
    let before = (try originCount(path), try processorTime())
    let summary = try generator.run(entrant.load, name)
    let after = (try originCount(path), try processorTime())
    let fetched = after.0 - before.0
    guard one.reachesOrigin ? fetched >= summary.requests : fetched == 0 else {
      throw BenchError.unexpected(
        what: name,
        found:
          "\(fetched) of \(summary.requests) requests reached the origin\(one == .revalidate ? " and got a 304" : ""); "
          + "expected " + (one.reachesOrigin ? "all" : "none"))
    }
    return Result(
      summary: summary,
      processorNanoseconds: Double(after.1 - min(after.1, before.1)) / Double(summary.requests),
      originRequests: fetched)
  }

  /// Counts the system calls of one more run. The calls slow the server down, so this run has no other figures.
  private func countSystemCalls(
    _ one: ProxyCase, _ entrant: inout Entrant, _ originPort: Int, _ tracer: String, in directory: String
  ) throws {
    let file = directory + "/calls"
    let processes = ProcessTree.members(of: entrant.process.id).flatMap { ["-p", String($0.id)] }
    let trace = try ChildProcess(
      tracer, ["-c", "-f", "-o", file] + processes)
    defer { trace.blockingStop() }
    guard poll(for: 10, until: { trace.output.text.contains("attached") || !trace.isRunning }),
      trace.isRunning
    else {
      throw BenchError.unprepared("strace cannot trace \(entrant.server.name): \(trace.lastWords)")
    }
    let result = try round(one, &entrant, originPort)
    // It writes its table when it is interrupted.
    trace.signal(SIGINT)
    _ = trace.blockingEnd(atMost: .seconds(10))
    trace.blockingStop()
    let table = (try? String(contentsOfFile: file, encoding: .utf8)) ?? ""
    guard let calls = SystemCalls.total(table) else {
      throw BenchError.unprepared("strace printed no total for \(entrant.server.name): \(trace.lastWords)")
    }
    entrant.systemCalls = Double(calls) / Double(result.summary.requests)
  }

  // MARK: - Results

  private func measurement(_ one: ProxyCase, _ entrant: Entrant) -> Measurement {
    let rounds = entrant.rounds
    func middle(_ figure: (Result) -> Double?) -> Double? { median(rounds.compactMap(figure)) }
    var measurement = Measurement(
      .proxy, one.action, entrant.server.contender,
      [
        .threads: Double(options.threads), .connections: Double(entrant.load.connections),
        .valueBytes: Double(one.answer.bodyBytes),
        .requests: Double(rounds.reduce(0) { $0 + $1.summary.requests }),
        .originRequests: Double(rounds.reduce(0) { $0 + $1.originRequests }),
      ])
    measurement.label = entrant.server.label
    measurement.byRound = rounds.map(\.processorNanoseconds)
    measurement[.processorNanoseconds] = middle(\.processorNanoseconds)
    measurement[.operationsPerSecond] = middle {
      Double($0.summary.requests) / max(0.001, $0.summary.seconds)
    }
    measurement[.p50Nanoseconds] = middle { $0.summary.percentiles[50] }
    measurement[.p99Nanoseconds] = middle { $0.summary.percentiles[99] }
    measurement[.systemCallsPerRequest] = entrant.systemCalls
    return measurement
  }

  /// Raises this process's limit of open files, which its child processes inherit.
  private static func raiseFileLimit() {
    #if os(Linux)
      let kind = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
      let kind = RLIMIT_NOFILE
    #endif
    var limit = rlimit()
    guard getrlimit(kind, &limit) == 0 else { return }
    limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, 1 << 16))
    setrlimit(kind, &limit)
  }
}

/// The table of `strace -c`.
enum SystemCalls {
  /// Returns the number of all calls; `nil` without a total.
  static func total(_ table: String) -> Int? {
    // "% time  seconds  usecs/call  calls  errors  syscall"
    let total = table.split(separator: "\n").last { $0.hasSuffix(" total") }
    // The column of the errors is empty if there are none.
    return total.flatMap { line in
      let words = line.split(separator: " ")
      return words.count > 4 ? Int(words[3]) : nil
    }
  }
}
