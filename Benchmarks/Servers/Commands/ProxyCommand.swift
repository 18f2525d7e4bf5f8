// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import BenchmarkHarness
import ChildProcesses
import Foundation

/// The flags of `proxy`.
struct ProxyBenchOptions: ParsableArguments {
  @Option(help: "Seconds of each round of each server. A case has one more second of each server to warm up.")
  var seconds = 2
  @Option(help: "Number of rounds; in each, the servers take turns.")
  var rounds = 5
  @Option(help: "Threads that serve connections, of each server.")
  var threads = 1
  @Option(help: "Number of concurrent connections; 'many' always has 1000.")
  var connections = 32
  @Option(
    help: ArgumentHelp(
      "The httpcache to measure (default: the one beside this program); may be repeated with labels.",
      discussion:
        "With a label, as in --httpcache base=PATH, the program is measured in addition, such as an older build.",
      valueName: "[label=]path"))
  var httpcache: [LabelledProgram] = []
  @Flag(help: "Let HTTPCacheEngine also store on disk, in the temporary directory.")
  var disk = false
  @Flag(help: "Also count the system calls of each request, with strace.")
  var syscalls = false
  @Option(help: "Seed of the zipf distribution; the same seed gives the same sequence.")
  var seed: UInt64 = 1
  @Flag(help: "Print the result as one JSON document.")
  var json = false

  /// The path of strace, if it is needed.
  var tracer: String? { syscalls ? Program.installed("strace") : nil }

  func validate() throws {
    try Limits.require(seconds, "seconds", in: 1...3600)
    try Limits.require(rounds, "rounds", in: 1...1000)
    try Limits.require(threads, "threads", in: 1...256)
    try Limits.require(connections, "connections", in: 1...9000)
    guard connections >= threads else {
      throw ValidationError(
        "--connections: expected at least as many as --threads (\(threads)), found \(connections)")
    }
    try Self.requireLabels(httpcache)
    if syscalls, tracer == nil {
      throw ValidationError(
        "--syscalls: strace is not installed; install it (Debian: apt-get install strace), or remove the option"
      )
    }
  }

  /// - Throws: `ValidationError` if two programs cannot be told apart.
  static func requireLabels(_ programs: [LabelledProgram]) throws {
    let labels = programs.map(\.label)
    for (index, label) in labels.enumerated() where labels.prefix(index).contains(label) {
      throw ValidationError(
        label.map { "--httpcache: the label '\($0)' is given twice; use another label" }
          ?? "--httpcache: two paths without a label; give one of them a label, as in base=PATH")
    }
  }
}

/// A program with an optional label: `PATH` or `LABEL=PATH`.
struct LabelledProgram: ExpressibleByArgument, Hashable, Sendable {
  var label: String?
  var path: String

  init(label: String?, path: String) { (self.label, self.path) = (label, path) }

  init?(argument: String) {
    let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    // A path may contain an equals sign.
    if parts.count == 2, !parts[0].contains("/") {
      (label, path) = (String(parts[0]), String(parts[1]))
      guard label?.isEmpty == false else { return nil }
    } else {
      path = argument
    }
    guard !path.isEmpty else { return nil }
  }
}

struct ProxyCommand: BenchCommand {
  static let configuration = CommandConfiguration(
    commandName: "proxy",
    abstract:
      "Measure the processor time of 'httpcache proxy' for a request, and compare it with other caching proxies.",
    discussion: """
      hit, hit-large, hit-megabyte: one URL of 1 KiB, 64 KiB, 1 MiB. connections: a new connection for each request. \
      many: 1,000 connections. not-modified: a 304 to If-None-Match. range: 64 KiB out of 10 MiB. pass: no-store, \
      passed on. revalidate: stored, and confirmed by a 304 of the origin each time. miss: every URL is new, fetched \
      and stored. disk: URLs of 16 KiB in files. zipf: 10,000 URLs by a zipf distribution, all stored. All servers run \
      as processes on loopback, with the same origin, and without logs. wrk generates the load and must be installed. \
      nginx, Varnish, HAProxy and Traffic Server are measured if they are installed. A server on SwiftNIO alone, which \
      answers with a constant response, shows the minimum. Linux only: the processor time is read from /proc.
      """)

  @Argument(help: "Cases to run.")
  var cases: [ProxyCase] = ProxyCase.allCases
  @OptionGroup var options: ProxyBenchOptions
  var json: Bool { options.json }

  func report(_ progress: ProgressLine) throws -> Report {
    try Self.report(cases, options, progress)
  }

  static func report(
    _ cases: [ProxyCase], _ options: ProxyBenchOptions, _ progress: ProgressLine,
    executable: String = OwnProgram.path
  ) throws -> Report {
    try requireProcessorTimes()
    let generator = try LoadGenerator.installed()
    let found = try ProxyField.found(options.httpcache, beside: executable)
    let bench = ProxyBench(
      options: options, cases: cases, servers: found.servers, generator: generator, progress: progress,
      executable: executable)
    var report = Report(
      command: "proxy",
      parameters: Parameters(
        threads: options.threads, seconds: Double(options.seconds), rounds: options.rounds, seed: options.seed
      ))
    report.measurements = try bench.run()
    report.measurements += report.measurements.proxyRatios
    report.targets = report.proxyTargets
    report.notes =
      found.notes + [
        "Processor time is user and system time of all processes of a server, by requests. It includes opening the "
          + "connections of each round.",
        "Each ratio is the median of the rounds, with the least and the greatest of them. 'Not separated': each of the "
          + "two was faster in some round.",
      ]
    for server in found.servers where server.contender != .bareNIO {
      let omitted = cases.filter { !server.can($0) }.map(\.rawValue)
      if !omitted.isEmpty {
        report.notes.append(
          "\(server.name) cannot do what these cases measure: \(omitted.joined(separator: ", ")).")
      }
    }
    if options.threads > 1 || cases.contains(.many) {
      report.notes.append(
        "Varnish uses a thread for each connection in use; --threads sets its thread pools.")
    }
    return report
  }

  /// - Throws: ``BenchError`` without /proc.
  static func requireProcessorTimes() throws {
    guard ProcessTree.processorNanoseconds(of: getpid()) != nil else {
      throw BenchError.unprepared(
        "the processor time of other processes is read from /proc; run this on Linux")
    }
  }
}

/// The servers that can be measured on this machine.
struct ProxyField {
  var servers: [ProxyServer]
  /// The versions, and what is not measured.
  var notes: [String]

  /// - Parameters:
  ///   - given: the programs from the command line.
  ///   - own: the path of this program.
  ///   - find: returns the path of a program of the system.
  /// - Throws: ``BenchError`` if there is no `httpcache`.
  static func found(
    _ given: [LabelledProgram], beside own: String,
    find: (String) -> String? = Program.installed
  ) throws -> ProxyField {
    var servers = try ours(given, beside: own)
    var notes: [String] = []
    for (contender, name, package) in [
      (Contender.nginx, "nginx", "nginx"), (.varnish, "varnishd", "varnish"),
      (.haproxy, "haproxy", "haproxy"),
      (.trafficServer, "traffic_server", "trafficserver"),
    ] {
      if let path = find(name) {
        servers.append(ProxyServer(contender: contender, executable: path))
        if contender == .nginx {
          servers.append(ProxyServer(contender: .nginx, label: "open_file_cache", executable: path))
        }
        let output =
          (try? ChildProcess.output(
            of: path, [.varnish, .trafficServer].contains(contender) ? ["-V"] : ["-v"])) ?? ""
        notes.append(version(of: contender, output))
      } else {
        notes.append(
          "\(contender.rawValue) is not measured, because \(name) is not installed. On Debian, install \(package)."
        )
      }
    }
    servers.append(ProxyServer(contender: .bareNIO, executable: own))
    return ProxyField(servers: servers, notes: notes)
  }

  /// Returns the programs of this package: this build first, then the labelled ones.
  ///
  /// - Throws: ``BenchError`` if there is no `httpcache`.
  static func ours(_ given: [LabelledProgram], beside own: String) throws -> [ProxyServer] {
    let beside = URL(fileURLWithPath: own).deletingLastPathComponent().appendingPathComponent("httpcache")
      .path
    let isGiven = given.contains { $0.label == nil }
    let all = (isGiven ? [] : [LabelledProgram(label: nil, path: beside)]) + given
    var servers: [ProxyServer] = []
    for program in all.filter({ $0.label == nil }) + all.filter({ $0.label != nil }) {
      guard FileManager.default.isExecutableFile(atPath: program.path) else {
        throw BenchError.unprepared(
          program.path == beside && !isGiven
            ? "httpcache is not beside cache-bench-servers; build it with 'swift build -c release --enable-all-traits --product "
              + "httpcache', or use --httpcache PATH"
            : "--httpcache: \(Printable.text(program.path)) is not a program that can be run")
      }
      servers.append(ProxyServer(contender: .ours, label: program.label, executable: program.path))
    }
    return servers
  }

  /// Returns a sentence with the version that a program has printed.
  static func version(of contender: Contender, _ output: String) -> String {
    // "nginx version: nginx/1.22.1", "varnishd (varnish-7.1.1 revision …)", "HAProxy version 2.6.12-1+deb12u4 …"
    let number = output.split(separator: "\n").first.flatMap { line in
      line.split { !($0.isNumber || $0 == ".") }.first { $0.contains(".") }
    }
    return "\(contender.rawValue) \(number.map { "is version \($0)" } ?? "has an unknown version")."
  }
}

/// The process that `proxy` starts as the origin, and as a server without a cache, and `routes` as a server. It serves
/// until its standard input is closed.
struct ServerChildCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(commandName: "server-child", shouldDisplay: false)

  @Option var port: Int
  @Option var threads = 1
  @Option var size = 1024
  @Flag var origin = false
  @Flag var closes = false
  @Option var route: String?

  func run() async throws {
    if let route = route.flatMap(Route.init(rawValue:)) {
      return try await route.run(port: port)
    }
    let server = origin ? ChildServer.origin : .constant(bodyBytes: size, closes: closes)
    try server.run(port: port, threads: threads)
  }
}
