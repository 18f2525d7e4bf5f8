// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import BenchmarkHarness
import HTTPCacheStore
import TestSupport

/// Fills a store in memory and removes its entries. Prints the resident memory before, between and after.
struct MemoryChild: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "memory", abstract: "Print the resident memory before, between and after a removal.")

  @Argument(help: "Which removal.") var removal: MemoryRemoval

  func run() throws {
    let store = try CacheStore(.init(memoryCapacity: 200 << 20))
    tell()
    // Something of other owners between the entries, as in every process.
    var others: [[UInt8]] = []
    for number in 0..<60_000 {
      let body = [UInt8](repeating: 7, count: 300 + number % 7 * 300)
      store.insert(
        NewEntry(
          key: StoreKey("https://example.com/\(number)"), variant: VariantID(rawValue: 1), metadata: [],
          body: body, storedAt: 1000))
      if number % 100 == 0 { others.append(body) }
    }
    tell()
    removal.remove(from: store)
    tell()
    withExtendedLifetime(others) {}
  }

  private func tell() { print(ResidentMemory.now ?? 0) }
}

extension MemoryRemoval: ExpressibleByArgument {}
