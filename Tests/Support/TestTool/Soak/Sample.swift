// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheStore
import HTTPCaching

/// What is looked at of a entry point: from outside, by the system, and from inside, by its own report.
enum Column: String, CaseIterable, Sendable {
  /// Resident memory, descriptors and threads of the entry point's process.
  case rss, fds, threads
  /// Live objects; see `LiveCount.Kind`.
  case fetch, transfer, reader, writer
  case clients = "client_connection"
  case streams = "client_stream"
  case origins = "origin_connection"
  case originStreams = "origin_stream"
  /// Bytes of content in flight, of the store in memory and on disk.
  case transit, memory, disk
  /// How often a look at the entry point, each millisecond, met a writer: those of a session live for a moment, and no report of a
  /// short run need meet one.
  case writing
  /// Readers that were left behind so far: others read the same content much faster, and there was no memory to keep it.
  case left
  /// Responses that were found in the shared tier so far.
  case tier
  /// Requests so far, and cells of the matrix that were drawn so far.
  case requests, cells

  var isBytes: Bool { [.rss, .transit, .memory, .disk].contains(self) }
  var title: String {
    switch self {
    case .clients: "clients"
    case .streams: "streams"
    case .origins: "origins"
    case .originStreams: "o.streams"
    default: rawValue + (isBytes ? " MB" : "")
    }
  }

  func text(_ value: Int) -> String {
    isBytes ? String(format: "%.1f", Double(value) / 1_048_576) : String(value)
  }
}

/// The state of a entry point at a moment. What the system does not tell has no value.
struct Sample: Sendable {
  /// Seconds since the start.
  var time: Double
  var values: [Column: Int]

  static var header: String {
    "seconds  entry point         " + Column.allCases.map { Self.pad($0.title) }.joined()
  }

  func row(_ entryPoint: String) -> String {
    let columns = Column.allCases.map { column in
      Self.pad(values[column].map { column.text($0) } ?? "-")
    }
    return String(format: "%7.0f  ", time) + entryPoint.padding(toLength: 20, withPad: " ", startingAt: 0)
      + columns.joined()
  }

  private static func pad(_ text: String) -> String {
    String(repeating: " ", count: Swift.max(1, 11 - text.count)) + text
  }
}

extension [Column: Int] {
  /// What a process knows of itself.
  static func inside(_ cache: HTTPCache) -> Self {
    var values: Self = [.transit: cache.transit.used]
    for kind in LiveCount.Kind.allCases { Column(rawValue: kind.rawValue).map { values[$0] = kind.count } }
    values[.writing] = WriterWatch.shared.meetings
    let usage = cache.store.usage
    (values[.memory], values[.disk]) = (usage.memoryBytes, usage.diskBytes)
    values[.left] = cache.transit.leftBehind
    values[.tier] = cache.sharedTierStatistics?.hits
    return values
  }

  /// What Linux says of a process; nothing on other systems.
  static func outside(_ process: Int32) -> Self {
    var values: Self = [:]
    let status = (try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)) ?? ""
    for line in status.split(separator: "\n") {
      let words = line.split(whereSeparator: { $0 == " " || $0 == "\t" })
      guard words.count > 1, let number = Int(words[1]) else { continue }
      if words[0] == "VmRSS:" { values[.rss] = number << 10 }
      if words[0] == "Threads:" { values[.threads] = number }
    }
    values[.fds] = try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/fd").count
    return values
  }

  /// Reads `name=value` pairs.
  init(line: String) {
    self = [:]
    for pair in line.split(separator: " ").map({ $0.split(separator: "=") }) where pair.count == 2 {
      if let column = Column(rawValue: String(pair[0])) { self[column] = Int(pair[1]) }
    }
  }

  var line: String { map { "\($0.key.rawValue)=\($0.value)" }.joined(separator: " ") }
}
