// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import Foundation

// In a build with Hummingbird, the compiler takes this module of libdispatch for the one that defines C's structures.
#if canImport(CDispatch)
  import CDispatch
#endif

#if canImport(Glibc)
  import CPlatform
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// The memory of the process at one moment.
struct MemoryUse: Sendable {
  /// Bytes that `malloc` has allocated, including its own headers and padding; `nil` if it does not report them.
  var allocatedBytes: Int?
  /// Bytes of physical memory, as the system counts them; `nil` if unknown.
  var residentBytes: Int?

  /// Returns the current use. It first returns free memory to the system, so that later moments can be compared with
  /// this one.
  static func now() -> MemoryUse {
    #if canImport(Glibc)
      malloc_trim(0)
      let info = mallinfo2()
      return MemoryUse(allocatedBytes: Int(info.uordblks + info.hblkhd), residentBytes: ResidentMemory.now)
    #elseif canImport(Darwin)
      return MemoryUse(allocatedBytes: Int(mstats().bytes_used), residentBytes: nil)
    #else
      return MemoryUse(allocatedBytes: nil, residentBytes: ResidentMemory.now)
    #endif
  }
}

/// The reads and writes of the process so far, as Linux counts them.
struct ProcessIO: Sendable {
  private let counts: [Substring: Int]

  /// Number of calls that read.
  var readCalls: Int { counts["syscr"] ?? 0 }
  /// Bytes written by calls, to the page cache or to the device.
  var writtenBytes: Int { counts["wchar"] ?? 0 }
  /// Bytes read from the device.
  var deviceReadBytes: Int { counts["read_bytes"] ?? 0 }

  /// `nil` if the system does not report it.
  static var now: ProcessIO? {
    guard let text = try? String(contentsOfFile: "/proc/self/io", encoding: .utf8) else { return nil }
    let lines = text.split(separator: "\n").map { $0.split(separator: ":") }
    let counts = lines.map { ($0[0], Int($0.last?.dropFirst() ?? "") ?? 0) }
    return ProcessIO(counts: Dictionary(counts) { $1 })
  }
}

/// The files of a directory, and their part of the page cache.
enum FileCache {
  /// Syncs the files of a directory to the disk and drops them from the page cache. Returns `false` if that is
  /// impossible.
  static func drop(_ directory: String) -> Bool {
    #if os(Linux)
      for name in (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? [] {
        let file = open(directory + "/" + name, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return false }
        defer { close(file) }
        // Only bytes that are already on the device can be dropped.
        guard fdatasync(file) == 0, posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) == 0 else { return false }
      }
      return true
    #else
      return false
    #endif
  }

  /// Returns the bytes of all files in a directory.
  static func size(_ directory: String) -> Int {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
    return names.reduce(0) { sum, name in
      var status = stat()
      return stat(directory + "/" + name, &status) == 0 ? sum + Int(status.st_size) : sum
    }
  }
}
