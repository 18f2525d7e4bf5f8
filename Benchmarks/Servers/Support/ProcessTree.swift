// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation

/// A process as Linux describes it in /proc.
struct ProcessStatus: Hashable, Sendable {
  var id: Int32
  var parent: Int32
  /// User and system time in clock ticks, including ended children that the process has waited for.
  var ticks: UInt64
}

extension ProcessStatus {
  /// Parses a line of /proc/PID/stat. Returns `nil` if it is invalid.
  init?(line: String) {
    // The name is in parentheses, and may contain spaces and parentheses.
    guard let open = line.firstIndex(of: "("), let close = line.lastIndex(of: ")"), open < close,
      let id = Int32(line[..<open].filter { $0 != " " })
    else { return nil }
    let fields = line[line.index(after: close)...].split(whereSeparator: \.isWhitespace)
    guard fields.count > 14, let parent = Int32(fields[1]) else { return nil }
    // utime, stime, cutime and cstime.
    let times = fields[11...14].compactMap { UInt64($0) }
    guard times.count == 4 else { return nil }
    (self.id, self.parent, ticks) = (id, parent, times.reduce(0, +))
  }
}

/// A process and its descendants.
enum ProcessTree {
  /// Returns the process and its descendants; nothing if the process has ended, or without /proc.
  static func members(of root: Int32) -> [ProcessStatus] { members(of: root, in: all) }

  static func members(of root: Int32, in all: [ProcessStatus]) -> [ProcessStatus] {
    var members = all.filter { $0.id == root }
    var next = 0
    while next < members.count {
      let parent = members[next].id
      members += all.filter { $0.parent == parent && $0.id != parent && $0.id != root }
      next += 1
    }
    return members
  }

  /// Returns the processor time of a process and its descendants so far, in nanoseconds. The unit of the system is a
  /// clock tick: usually 10 ms.
  static func processorNanoseconds(of root: Int32) -> UInt64? {
    let members = members(of: root)
    guard !members.isEmpty else { return nil }
    let perSecond = UInt64(max(1, sysconf(Int32(_SC_CLK_TCK))))
    return members.reduce(0) { $0 + $1.ticks } * 1_000_000_000 / perSecond
  }

  private static var all: [ProcessStatus] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    return names.filter { $0.allSatisfy(\.isNumber) }.compactMap { name in
      (try? String(contentsOfFile: "/proc/\(name)/stat", encoding: .utf8)).flatMap { ProcessStatus(line: $0) }
    }
  }
}
