// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import ChildProcesses
import Foundation

/// The load generator wrk.
struct LoadGenerator {
  var executable: String

  /// The load of one run.
  struct Load {
    var port: Int
    var path: String
    var connections: Int
    var threads: Int
    /// wrk takes whole seconds only.
    var seconds: Int
    /// Whether each request has a new connection.
    var closes = false
    /// The field Host; by default the address of the server.
    var host: String?
    /// More lines of the head.
    var fields: [String] = []
    /// A file with a Lua script that makes the requests, and the number of the run, which it is given.
    var script: String?
    var run = 0

    var arguments: [String] {
      var arguments = [
        "--latency", "--timeout", "30s", "-t", String(min(threads, connections)), "-c", String(connections),
        "-d",
        "\(seconds)s",
      ]
      if closes { arguments += ["-H", "Connection: close"] }
      if let host { arguments += ["-H", "Host: \(host)"] }
      arguments += fields.flatMap { ["-H", $0] }
      if let script { arguments += ["-s", script] }
      return arguments + ["http://127.0.0.1:\(port)\(path)", "--", String(run)]
    }
  }

  /// - Throws: ``BenchError`` if wrk is not installed.
  static func installed(_ find: (String) -> String? = Program.installed) throws -> LoadGenerator {
    guard let path = find("wrk") else {
      throw BenchError.unprepared(
        "wrk is not installed; install it (Debian: apt-get install wrk, Homebrew: brew install wrk)")
    }
    return LoadGenerator(executable: path)
  }

  /// Runs a load to its end.
  ///
  /// - Throws: ``BenchError`` if a request failed.
  func run(_ load: Load, _ what: String) throws -> LoadSummary {
    let output = try ChildProcess.output(
      of: executable, load.arguments, seconds: Double(load.seconds) + 60)
    return try summary(output, what)
  }

  /// Returns the summary of wrk's output.
  ///
  /// - Throws: ``BenchError`` if a request failed.
  func summary(_ output: String, _ what: String) throws -> LoadSummary {
    guard let summary = LoadSummary(output) else {
      throw BenchError.unexpected(what: what, found: "wrk printed no summary: \(Printable.text(output))")
    }
    guard summary.problems.isEmpty, summary.requests > 0 else {
      throw BenchError.unexpected(
        what: what,
        found: summary.problems.isEmpty
          ? "wrk completed no request" : summary.problems.joined(separator: "; "))
    }
    return summary
  }
}

/// The result of a run of wrk, from its output.
struct LoadSummary: Hashable, Sendable {
  var requests: Int
  var seconds: Double
  /// Percentiles of the latency in nanoseconds, by percent.
  var percentiles: [Int: Double] = [:]
  /// wrk's lines about failed requests.
  var problems: [String] = []

  /// Parses wrk's output. Returns `nil` without the line of the requests, which wrk always prints at its end.
  init?(_ output: String) {
    var total: (requests: Int, seconds: Double)?
    for line in output.split(whereSeparator: \.isNewline) {
      let words = line.split(separator: " ")
      guard let first = words.first else { continue }
      if line.contains("Socket errors:") || line.contains("Non-2xx or 3xx responses:") {
        problems.append(words.joined(separator: " "))
      } else if words.count > 3, words[1] == "requests", words[2] == "in", let requests = Int(first),
        let nanoseconds = Self.nanoseconds(words[3].prefix { $0 != "," })
      {
        total = (requests, nanoseconds / 1e9)
      } else if words.count == 2, first.last == "%", let percent = Int(first.dropLast()) {
        percentiles[percent] = Self.nanoseconds(words[1])
      }
    }
    guard let total else { return nil }
    (requests, seconds) = total
  }

  /// Parses a time as wrk prints it, such as 153.00us.
  static func nanoseconds(_ text: some StringProtocol) -> Double? {
    let units: [(String, Double)] = [("us", 1e3), ("ms", 1e6), ("s", 1e9), ("m", 60e9), ("h", 3600e9)]
    guard let (unit, size) = units.first(where: { text.hasSuffix($0.0) }) else { return nil }
    return Double(text.dropLast(unit.count)).map { $0 * size }
  }
}

/// The Lua scripts for wrk.
enum LoadScript {
  /// Each request has a path that no other request of any run and thread has.
  static func newPaths(_ prefix: String) -> String {
    """
    local threads = 0
    function setup(thread)
      thread:set("number", threads)
      threads = threads + 1
    end
    function init(arguments)
      prefix = "\(prefix)" .. arguments[1] .. "-" .. number .. "-"
      count = 0
    end
    function request()
      count = count + 1
      return wrk.format("GET", prefix .. count)
    end

    """
  }

  /// The requests repeat a sequence of keys. Each thread and each run begins at another position.
  static func sequence(_ prefix: String, keys: Int, _ sequence: [UInt32]) -> String {
    """
    local threads = 0
    local sequence = {\(sequence.map { String($0) }.joined(separator: ","))}
    function setup(thread)
      thread:set("number", threads)
      threads = threads + 1
    end
    function init(arguments)
      requests = {}
      for key = 0, \(keys - 1) do requests[key] = wrk.format("GET", "\(prefix)" .. key) end
      position = (number * 7919 + arguments[1] * 104729) % #sequence
    end
    function request()
      position = position % #sequence + 1
      return requests[sequence[position]]
    end

    """
  }
}
