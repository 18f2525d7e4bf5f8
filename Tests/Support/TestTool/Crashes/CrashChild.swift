// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import HTTPCacheStore
import SystemPackage
import TestSupport

/// Works on a store until it is killed, and tells on standard output what it begins and what is done.
struct CrashChild: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "crash", abstract: "Work on a store until the process is killed.")

  @Argument(help: "Directory of the store.") var directory: String
  @Option(help: "Seed of the operations.") var seed: UInt64
  @Option(help: "Number of the first operation.") var first: Int
  @Option(help: "Disk capacity in bytes.") var capacity: Int
  @Option(help: "Maximum bytes of a body.") var largest: Int
  @Flag(help: "Sync removals.") var syncsRemovals = false

  func run() throws {
    var configuration = CacheStore.Configuration(
      memoryCapacity: 100_000, diskCapacity: capacity, directory: FilePath(directory))
    configuration.segmentSize = 64 << 10
    configuration.largeBodyThreshold = 6000
    configuration.sync = syncsRemovals ? .removals : .never
    let store = try CacheStore(configuration)
    var workload = CrashWorkload(store: store, seed: seed, first: first, largest: largest)
    // Far more than a test waits for; if its process is gone, the first write ends this one.
    for _ in 0..<1_000_000 {
      workload.step(
        begin: { Self.tell($0.text) }, end: { Self.tell($0 ? "+" : "-") }, complain: { Self.tell("!" + $0) })
    }
  }

  /// At once, in one piece: what the other end has read was done.
  private static func tell(_ line: String) {
    _ = try? FileDescriptor.standardOutput.writeAll((line + "\n").utf8)
  }
}
