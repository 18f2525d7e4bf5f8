// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import Testing

@testable import CacheBench

@Suite(.timeLimit(.minutes(10))) struct NodeListTests {
  @Test func `the least recently used entry is evicted first`() {
    let list = NodeList<String, Int>(capacity: 2)
    _ = list.put("a", 1, cost: 1)
    _ = list.put("b", 2, cost: 1)
    #expect(list.value(of: "a") == 1)
    _ = list.put("c", 3, cost: 1)
    #expect(list.value(of: "b") == nil)
    #expect(list.value(of: "a") == 1)
    #expect(list.value(of: "c") == 3)
    #expect(list.count == 2)
  }

  @Test func `an entry stored again counts once and as used`() {
    let list = NodeList<String, Int>(capacity: 5)
    _ = list.put("a", 1, cost: 2)
    _ = list.put("b", 2, cost: 2)
    _ = list.put("a", 3, cost: 3)
    #expect(list.cost == 5)
    _ = list.put("c", 4, cost: 1)
    #expect(list.value(of: "b") == nil)
    #expect(list.value(of: "a") == 3)
    #expect(list.cost == 4)
  }

  @Test func `an entry larger than the capacity is refused, and the older one is removed`() {
    let list = NodeList<String, Int>(capacity: 2)
    _ = list.put("a", 1, cost: 1)
    #expect(list.put("a", 2, cost: 3))
    #expect(list.value(of: "a") == nil)
    #expect(list.cost == 0)
    #expect(list.count == 0)
    #expect(!list.put("b", 2, cost: 2))
    #expect(list.value(of: "b") == 2)
  }

  @Test func `a long list is released without a stack overflow`() {
    var list: NodeList<Int, Int>? = NodeList(capacity: 50_000)
    for number in 0..<50_000 { _ = list?.put(number, number, cost: 1) }
    #expect(list?.count == 50_000)
    list = nil
    #expect(list == nil)
  }
}
