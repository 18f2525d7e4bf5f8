// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CrashWorkload
import HTTPCacheStore
import SystemPackage

/// Works on a store until it is killed, and tells on standard output what it begins and what is done.
///
/// `StoreCrashChild DIRECTORY SEED FIRST-NUMBER CAPACITY LARGEST-BODY SYNCS-REMOVALS(0 or 1)`
@main
enum StoreCrashChild {
  static func main() throws {
    let arguments = CommandLine.arguments.dropFirst()
    let numbers = arguments.dropFirst().compactMap { Int($0) }
    guard let directory = arguments.first, numbers.count == 5 else {
      put("!six arguments are needed")
      return
    }
    var configuration = CacheStore.Configuration(
      memoryCapacity: 100_000, diskCapacity: numbers[2], directory: FilePath(directory))
    configuration.segmentSize = 64 << 10
    configuration.largeBodyThreshold = 6000
    configuration.sync = numbers[4] == 1 ? .removals : .never
    let store = try CacheStore(configuration)
    var workload = CrashWorkload(
      store: store, seed: UInt64(numbers[0]), first: numbers[1], largest: numbers[3])
    // Far more than anybody waits for; if whoever started it is gone, the first write ends it.
    for _ in 0..<1_000_000 {
      workload.step(
        begin: { put($0.text) }, end: { put($0 ? "+" : "-") }, complain: { put("!" + $0) })
    }
  }

  /// At once, in one piece: what the other end has read was done.
  private static func put(_ line: String) {
    _ = try? FileDescriptor.standardOutput.writeAll((line + "\n").utf8)
  }
}
