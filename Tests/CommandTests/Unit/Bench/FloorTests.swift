// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import CHarness
import HTTPCacheStore
import Testing

@testable import CacheBench

@Suite(.timeLimit(.minutes(10))) struct FloorTests {
  private func key(_ number: Int) -> StoreKey { StoreKey("key \(number)") }

  @Test func `the floor finds the stored entries and no others`() throws {
    let table = try FloorCache(keys: 1000)
    let values = (0..<1000).map { [UInt8](repeating: 1, count: $0) }
    for (number, value) in values.enumerated() { #expect(table.put(key(number), value)) }
    for number in values.indices { #expect(table.bodyCount(of: key(number)) == number) }
    for number in 1000..<2000 { #expect(table.bodyCount(of: key(number)) == nil) }
    #expect(table.bodyCount(of: StoreKey([])) == nil)
    #expect(table.byteCount >= 1000 * 128)
  }

  @Test func `storing a key again replaces its value`() throws {
    let table = try FloorCache(keys: 1)
    let (old, new): ([UInt8], [UInt8]) = ([1], [1, 2])
    #expect(table.put(key(1), old))
    #expect(table.put(key(1), new))
    #expect(table.bodyCount(of: key(1)) == 2)
  }

  @Test func `an entry without room is refused`() throws {
    let table = try FloorCache(keys: 2)
    let long = [UInt8](repeating: 7, count: Int(FLOOR_KEY_MAXIMUM))
    #expect(table.put(StoreKey(long), []))
    #expect(!table.put(StoreKey(long + [7]), []))
    #expect(table.put(key(1), []))
    #expect(!table.put(key(2), []))
    #expect(table.bodyCount(of: StoreKey(long)) == 0)
    #expect(table.bodyCount(of: StoreKey(long + [7])) == nil)
  }

  @Test func `the floor with separate entries finds the latest value of each key`() throws {
    let table = try FloorCache(keys: 1000, isApart: true)
    for number in 0..<1000 { #expect(table.put(key(number), [1])) }
    for number in 0..<1000 { #expect(table.put(key(number), [UInt8](repeating: 2, count: number))) }
    for number in 0..<1000 {
      #expect(table.bodyCount(of: key(number)) == number)
      if number > 0 { #expect(table.bodyByte(of: key(number)) == 2) }
    }
    for number in 1000..<2000 { #expect(table.bodyCount(of: key(number)) == nil) }
    let small = try FloorCache(keys: 1, isApart: true)
    #expect(small.put(StoreKey([]), []))
    #expect(small.bodyCount(of: StoreKey([])) == 0)
    #expect(!small.put(key(1), []))
  }

  @Test(arguments: [false, true])
  func `a hit takes a reference and releases it`(isApart: Bool) throws {
    let table = try #require(floor_create(4, 1, isApart))
    defer { floor_destroy(table) }
    let name: [UInt8] = [1, 2, 3]
    #expect(floor_put(table, name, 3, Array(0..<9) as [UInt8], 9))
    let first = try #require(floor_take(table, name, 3))
    let second = try #require(floor_take(table, name, 3))
    #expect(first == second)
    #expect(floor_references(first) == 2)
    #expect(floor_value_length(first) == 9)
    floor_drop(first)
    floor_drop(second)
    #expect(floor_references(first) == 0)
  }
}
