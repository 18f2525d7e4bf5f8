// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation

/// The maximum resident memory of the process, in bytes; `nil` on systems that do not report it.
package enum PeakMemory {
  /// Forgets the peak so far, and returns what is resident.
  package static func begin() -> Int? {
    guard let file = FileHandle(forWritingAtPath: "/proc/self/clear_refs") else { return nil }
    try? file.write(contentsOf: Data("5".utf8))
    return now
  }

  package static var now: Int? {
    guard let text = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8) else { return nil }
    let line = text.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
    return line.flatMap { Int($0.split(whereSeparator: { !$0.isNumber }).first ?? "") }.map { $0 * 1024 }
  }
}
