// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching
import SystemPackage

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// What the process uses of the machine, as Prometheus' own clients report it (`process_…`).
struct ProcessFigures {
  /// Processor time in seconds, in user mode and in the kernel.
  var processorSeconds: Double
  /// File descriptors that are open, and that may be; `nil` if that is unknown.
  var descriptors: Int?
  var descriptorLimit: Int?
  /// What only Linux tells without privileges.
  var status: Status?

  /// A reading of `/proc/self/stat` (proc_pid_stat(5)).
  struct Status: Equatable {
    var threads: Int
    /// When the process was started, in ticks since the start of the system.
    var startTicks: Int
    var virtualBytes: Int
    /// Pages in memory.
    var pages: Int

    /// - Parameter text: one line. The name of the program, in parentheses, may have any character.
    init?(_ text: String) {
      guard let end = text.utf8.lastIndex(of: 0x29) else { return nil }
      // The third field is the first one here.
      let fields = text[text.utf8.index(after: end)...].split(separator: " ")
      guard fields.count > 21, let threads = Int(fields[17]), let startTicks = Int(fields[19]),
        let virtualBytes = Int(fields[20]), let pages = Int(fields[21])
      else { return nil }
      (self.threads, self.startTicks) = (threads, startTicks)
      (self.virtualBytes, self.pages) = (virtualBytes, pages)
    }

    var residentBytes: Int { pages * sysconf(Int32(_SC_PAGESIZE)) }
  }

  init() {
    var usage = rusage()
    #if canImport(Glibc)
      getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    #else
      getrusage(RUSAGE_SELF, &usage)
    #endif
    func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
    processorSeconds = seconds(usage.ru_utime) + seconds(usage.ru_stime)
    descriptors = Self.openDescriptors()
    descriptorLimit = DescriptorLimit.current
    status = Self.text(of: "/proc/self/stat").flatMap { Status($0) }
  }

  /// When the process was started, in seconds since 1970. Read once: a clock that is set later must not change it.
  static let start: Double? = {
    guard let status = text(of: "/proc/self/stat").flatMap({ Status($0) }),
      let uptime = text(of: "/proc/uptime")?.split(separator: " ").first.flatMap({ Double($0) })
    else { return nil }
    let now = Double(SystemCacheClock.shared.now.milliseconds) / 1000
    return now - uptime + Double(status.startTicks) / Double(sysconf(Int32(_SC_CLK_TCK)))
  }()

  /// Reads a file of the kernel, which is short, and for which no disk is needed.
  private static func text(of path: FilePath) -> String? {
    guard let file = try? FileDescriptor.open(path, .readOnly) else { return nil }
    defer { try? file.close() }
    var bytes = [UInt8](repeating: 0, count: 4096)
    guard let count = try? bytes.withUnsafeMutableBytes({ try file.read(into: $0) }) else { return nil }
    return String(decoding: bytes[..<count], as: UTF8.self)
  }

  private static func openDescriptors() -> Int? {
    guard let folder = opendir("/dev/fd") else { return nil }
    defer { closedir(folder) }
    var count = 0
    while readdir(folder) != nil { count += 1 }
    // `.`, `..`, and the descriptor that reads them.
    return Swift.max(0, count - 3)
  }
}
