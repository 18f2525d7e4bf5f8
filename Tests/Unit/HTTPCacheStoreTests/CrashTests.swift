// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CrashWorkload
import Foundation
import SystemPackage
import Testing

@testable import HTTPCacheStore

/// How many rounds of each, where somebody asks for more than the usual ones: `make test-crash ROUNDS=200`.
private let askedRounds = number("HTTPCACHE_CRASH_ROUNDS")
/// With `HTTPCACHE_CRASH_STORY` in the environment, a failure comes with all that was done before it.
private let isVerbose = number("HTTPCACHE_CRASH_STORY") != nil

private func number(_ name: String) -> Int? {
  ProcessInfo.processInfo.environment[name].flatMap { Int($0) }
}

@Suite("Recovery after a killed process", .timeLimit(.minutes(60)))
struct CrashTests {
  /// Room for all there ever is, or for little.
  enum Room: CaseIterable {
    case ample
    case little

    var capacity: Int { self == .ample ? 64 << 20 : 1 << 20 }
  }

  @Test(
    "A store whose process was killed is intact, without removed entries, and within its capacity",
    arguments: Room.allCases)
  func killed(room: Room) throws {
    let executable = try #require(Self.child, "StoreCrashChild is not beside the tests")
    var model = CrashModel()
    var scratch = ScratchDirectory()
    var random = CrashGenerator(state: UInt64(room.capacity))
    for round in 0..<(askedRounds ?? 10) {
      let steps = Int.random(in: 1...400, using: &random)
      let seed = Int.random(in: 0...1_000_000, using: &random)
      try Self.run(
        executable, on: scratch.path, seed: seed, capacity: room.capacity,
        syncsRemovals: round.isMultiple(of: 4),
        killedAfter: steps, &model)
      // Either what was looked at and closed goes on, or what was left behind.
      let looked = try Bool.random(using: &random) ? scratch : scratch.copy()
      let problems = try Self.check(looked.path, room: room, &model)
      #expect(problems.isEmpty, "round \(round), seed \(seed), killed after \(steps) steps")
      if !problems.isEmpty { (scratch, model) = (ScratchDirectory(), CrashModel()) }
    }
  }

  /// Runs a process until it has told of so many steps, and kills it.
  private static func run(
    _ executable: String, on directory: FilePath, seed: Int, capacity: Int, syncsRemovals: Bool,
    killedAfter steps: Int, _ model: inout CrashModel
  ) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: executable)
    process.arguments = [
      directory.string, String(seed), String(model.last + 1), String(capacity), "100000",
      syncsRemovals ? "1" : "0",
    ]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    var rest = ""
    var done = 0
    while true {
      let some = output.fileHandleForReading.availableData
      // What it had told before it died comes before the end.
      if some.isEmpty { break }
      rest += String(decoding: some, as: UTF8.self)
      var lines = rest.split(separator: "\n", omittingEmptySubsequences: false)
      rest = String(lines.removeLast())
      for line in lines {
        model.read(line)
        if line == "+" || line == "-" { done += 1 }
      }
      if done >= steps { kill(process.processIdentifier, SIGKILL) }
    }
    process.waitUntilExit()
    if process.terminationReason != .uncaughtSignal || process.terminationStatus != SIGKILL {
      model.complain("the process ended by itself with \(process.terminationStatus), after \(done) steps")
    }
  }

  static func check(
    _ directory: FilePath, room: Room, files: any FileSystem = POSIXFileSystem(), keepsFlushed: Bool = true,
    _ model: inout CrashModel
  ) throws -> [String] {
    let store = try CacheStore(configuration(directory, room: room), files: files)
    defer { store.close() }
    var problems = model.check(
      store, nothingIsEvicted: room == .ample && keepsFlushed, keepsPinned: keepsFlushed)
    if store.usage.diskBytes > room.capacity { problems.append("\(store.usage.diskBytes) bytes are used") }
    // It goes on.
    let name = StoreKey("https://example.com/afterwards")
    store.insert(entry(name, number: 7))
    if !(store.lookup(name).first.map { holds($0, number: 7) } ?? false) {
      problems.append("it takes nothing")
    }
    store.remove(name)
    return problems
  }

  static func configuration(_ directory: FilePath, room: Room) -> CacheStore.Configuration {
    var configuration = CacheStore.Configuration(
      memoryCapacity: 0, diskCapacity: room.capacity, directory: directory)
    configuration.segmentSize = 64 << 10
    configuration.largeBodyThreshold = 6000
    return configuration
  }

  /// The program is built beside the tests.
  private static var child: String? {
    let own =
      (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")).map { [$0] } ?? []
    let bundles = Bundle.allBundles.map(\.bundlePath).filter { $0.hasSuffix(".xctest") }
    return (own + CommandLine.arguments.prefix(1) + bundles).lazy
      .map {
        URL(fileURLWithPath: $0).deletingLastPathComponent().appendingPathComponent("StoreCrashChild").path
      }
      .first { FileManager.default.isExecutableFile(atPath: $0) }
  }
}

@Suite("Recovery after a power loss", .timeLimit(.minutes(60)))
struct PowerLossTests {
  /// Each seed is a history of three losses; the middle of it is wherever the seed says, be it within a step.
  @Test(
    "A store is intact after a power loss, whichever unsynced writes survive",
    arguments: SimulatedFileSystem.Loss.allCases, CrashTests.Room.allCases)
  func lost(loss: SimulatedFileSystem.Loss, room: CrashTests.Room) throws {
    for seed in 0..<UInt64(askedRounds ?? 6) {
      let problems = try Self.history(loss, room, seed: seed)
      #expect(problems.isEmpty, "\(loss), \(room), seed \(seed)")
    }
  }

  private static func history(
    _ loss: SimulatedFileSystem.Loss, _ room: CrashTests.Room, seed: UInt64
  ) throws -> [String] {
    var random = CrashGenerator(state: seed &* 77 &+ 5)
    var files = SimulatedFileSystem()
    var model = CrashModel()
    for _ in 0..<3 {
      let directory = FilePath("/simulated")
      let store = try CacheStore(CrashTests.configuration(directory, room: room), files: files)
      files.die(afterChanges: Int.random(in: 1..<400, using: &random))
      var workload = CrashWorkload(
        store: store, seed: random.next(), first: model.last + 1, largest: 40_000)
      for _ in 0..<2000 where !files.isDead {
        workload.step(
          begin: { model.begin($0) },
          // What is acknowledged after the power has gone nobody hears.
          end: { if !files.isDead { model.end($0) } },
          complain: { if !files.isDead { model.complain($0) } })
      }
      files = files.afterPowerLoss(loss, seed: random.next())
      // Where a later write is there and an earlier one is not, all before it is dropped: a cache may forget.
      let keepsFlushed = loss == .everything || loss == .tail
      let problems = try CrashTests.check(
        directory, room: room, files: files, keepsFlushed: keepsFlushed, &model)
      if !problems.isEmpty { return problems + (isVerbose ? [model.story.joined(separator: "; ")] : []) }
    }
    return []
  }
}
