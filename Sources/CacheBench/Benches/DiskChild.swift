// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import ChildProcesses
import Foundation
import HTTPCacheStore

/// A process that has a store open; see ``DiskChildCommand``.
struct DiskChild {
  /// Runs in the child process, which reports the cost of opening in one line of JSON.
  static func run(directory: String, fill: Int, valueSize: Int, capacity: Int) throws {
    let data = try Dataset(count: 1, valueSize: valueSize, seed: 1, .entries)
    let (memory, io, start) = (MemoryUse.now(), ProcessIO.now, MonotonicClock.now)
    let cache = try StoreOnDisk(data, capacity: capacity, directory: directory)
    var story: [Metric: Double] = [.nanoseconds: Double(MonotonicClock.now - start)]
    if let before = memory.allocatedBytes, let after = MemoryUse.now().allocatedBytes {
      story[.allocatedBytes] = Double(after - before)
    }
    if let io, let after = ProcessIO.now {
      story[.deviceBytes] = Double(after.deviceReadBytes - io.deviceReadBytes)
    }
    for number in 0..<fill where !cache.put(Keys.key(number), data.body(0)) {
      throw BenchError.unprepared("the store refused entry \(number)")
    }
    // Buffered records would be lost when the process is killed; the measurement is of opening a whole log.
    if fill > 0 { cache.store.flush() }
    story[.entries] = Double(cache.store.usage.diskEntries)
    try Output.write(String(decoding: JSONEncoder().encode(story), as: UTF8.self) + "\n")
    // Wait until the parent closes it, or ends.
    _ = try? FileHandle.standardInput.readToEnd()
    cache.store.close()
  }

  private let process: ChildProcess
  let story: [Metric: Double]

  /// Starts a process, and waits for its report.
  init(executable: String, directory: String, fill: Int = 0, valueSize: Int, capacity: Int) throws {
    let process = try ChildProcess(
      executable,
      [
        "disk-child", directory, "--fill", String(fill), "--value-size", String(valueSize), "--capacity",
        String(capacity),
      ], input: .pipe, errors: .inherited)
    let newline = UInt8(ascii: "\n")
    // Filling a directory may take many minutes.
    _ = poll(for: .infinity) { process.output.bytes.contains(newline) || !process.isRunning }
    let line = process.output.bytes.prefix { $0 != newline }
    guard let story = try? JSONDecoder().decode([Metric: Double].self, from: Data(line)) else {
      process.blockingStop()
      throw BenchError.unprepared("the process with the store ended early")
    }
    (self.process, self.story) = (process, story)
  }

  /// Lets the process close the store, or kills it.
  func end(_ ending: Action) {
    if ending == .reopenKilled { process.kill() } else { process.closeInput() }
    while process.blockingEnd(atMost: .seconds(60)) == nil {}
  }
}
