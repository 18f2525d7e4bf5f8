// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheStore
import SystemPackage

/// A process that has a store open; see ``DiskChildCommand``.
struct DiskChild {
  /// What the process says of itself, in one line of JSON.
  struct Story: Codable, Sendable {
    var nanoseconds: UInt64
    var entries: Int
    var deviceBytes: Int?
    var allocatedBytes: Int?
  }

  /// In the process itself.
  static func run(directory: String, fill: Int, valueSize: Int, capacity: Int) throws {
    let head = try Dataset.head(valueSize)
    let before = (MemoryUse.now(), ProcessIO.now)
    let start = MonotonicClock.now
    let store = try CacheStore(
      CacheStore.Configuration(memoryCapacity: 0, diskCapacity: capacity, directory: FilePath(directory)))
    let nanoseconds = MonotonicClock.now - start
    let after = (MemoryUse.now(), ProcessIO.now)
    let bodies = Bodies(size: valueSize, seed: 1)
    let body = bodies.fresh()
    for number in 0..<fill {
      let entry = NewEntry(
        key: Keys.key(number), variant: VariantID(rawValue: 1), metadata: head, body: body,
        storedAt: 1_700_000_000_000, tiers: .disk)
      guard store.insert(entry).id != nil else {
        throw BenchError.unprepared("the store does not take entry \(number)")
      }
    }
    // What is buffered would be lost when the process is killed; what is measured is the opening of a whole log.
    if fill > 0 { store.flush() }
    var story = Story(nanoseconds: nanoseconds, entries: store.usage.diskEntries)
    if let one = before.1, let two = after.1 { story.deviceBytes = two.deviceReadBytes - one.deviceReadBytes }
    if let one = before.0.allocatedBytes, let two = after.0.allocatedBytes {
      story.allocatedBytes = two - one
    }
    FileHandle.standardOutput.write(try JSONEncoder().encode(story) + Data("\n".utf8))
    // Until the parent closes it, or ends.
    _ = try? FileHandle.standardInput.readToEnd()
    store.close()
  }

  private let process = Process()
  private let toChild = Pipe()
  let story: Story

  /// Starts a process, and waits for what it says.
  init(
    executable: String, directory: String, fill: Int = 0, valueSize: Int, capacity: Int
  ) throws {
    process.executableURL = URL(fileURLWithPath: executable)
    process.arguments = [
      "disk-child", directory, "--fill", String(fill), "--value-size", String(valueSize), "--capacity",
      String(capacity),
    ]
    let fromChild = Pipe()
    process.standardInput = toChild
    process.standardOutput = fromChild
    try process.run()
    var line = Data()
    while line.last != UInt8(ascii: "\n") {
      let some = fromChild.fileHandleForReading.availableData
      if some.isEmpty { break }
      line += some
    }
    guard let story = try? JSONDecoder().decode(Story.self, from: line) else {
      process.waitUntilExit()
      throw BenchError.unprepared(
        "the process with the store ended early, with status \(process.terminationStatus)")
    }
    self.story = story
  }

  /// Lets the process close the store, or kills it.
  func end(_ ending: Action) throws {
    if ending == .reopenKilled {
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
    }
    try toChild.fileHandleForWriting.close()
    process.waitUntilExit()
  }

  /// The program that is running.
  static var ownExecutable: String {
    (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
  }
}
