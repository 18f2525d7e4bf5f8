// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore
import TestSupport
import Testing

@testable import HTTPCacheProxy

@Suite("The list of URLs that warm the cache", .timeLimit(.minutes(10)))
struct WarmingListTests {
  private static func time(_ milliseconds: Int64) -> NIODeadline {
    .uptimeNanoseconds(UInt64(milliseconds) * 1_000_000 + 1)
  }

  private static func targets(_ count: Int) -> [WarmingList.Target] {
    (0..<count).map { .init(url: "http://a.example/\($0)") }
  }

  /// Sends what may be sent by a time; the origin answers at once.
  private static func run(_ list: inout WarmingList, from start: Int64, until end: Int64) -> [Int64] {
    var (times, timer) = ([Int64](), NIODeadline?.some(time(start)))
    for now in start...end {
      guard let due = timer, due <= time(now) else { continue }
      (timer, _) = (nil, list.timerFired(at: time(now)))
      steps: while true {
        switch list.step(at: time(now)) {
        case .start(let target):
          times.append(now)
          _ = list.ended(target, .stored)
        case .wait(let time): timer = time
        case .nothing: break steps
        }
      }
    }
    return times
  }

  @Test(
    "Requests are sent at the rate, also if the timer is late, and after a pause",
    arguments: [(10.0, 10), (0.5, 1), (1000, 1000), (100, 100)])
  func pace(rate: Double, second: Int) {
    var list = WarmingList()
    #expect(list.add(Self.targets(5000), rate: rate, number: 1, at: Self.time(0)) == .added(count: 5000))
    let first = Self.run(&list, from: 0, until: 999)
    #expect(first.count == second)
    // Nothing was sent for a minute: what could have been sent meanwhile does not come at once.
    let later = Self.run(&list, from: 61_000, until: 61_999)
    #expect(later.count <= second + 1 && later.count >= second)
    #expect(list.progress.waiting == 5000 - first.count - later.count && list.progress.running == 0)
  }

  @Test("An origin that does not answer gets a few requests, and the others when it answers")
  func concurrency() {
    var list = WarmingList()
    #expect(list.add(Self.targets(100), rate: 1000, number: 1, at: Self.time(0)) == .added(count: 100))
    var sent: [WarmingList.Target] = []
    for now: Int64 in 0..<200 {
      list.timerFired(at: Self.time(now))
      while case .start(let target) = list.step(at: Self.time(now)) { sent.append(target) }
    }
    #expect(sent.count == WarmingList.concurrency && list.progress.running == sent.count)
    #expect(list.ended(sent[0], .failed(reason: "x")) == nil)
    #expect(list.step(at: Self.time(300)) == .start(.init(url: "http://a.example/\(sent.count)")))
    #expect(list.step(at: Self.time(300)) == .nothing)
  }

  @Test("One timer is set at a time")
  func timer() {
    var list = WarmingList()
    #expect(list.add(Self.targets(3), rate: 10, number: 1, at: Self.time(0)) == .added(count: 3))
    #expect(list.step(at: Self.time(0)) == .start(.init(url: "http://a.example/0")))
    #expect(list.step(at: Self.time(0)) == .wait(Self.time(100)))
    #expect(list.step(at: Self.time(50)) == .nothing)
    list.timerFired(at: Self.time(100))
    #expect(list.step(at: Self.time(100)) == .start(.init(url: "http://a.example/1")))
    #expect(list.step(at: Self.time(100)) == .wait(Self.time(200)))
  }

  @Test("Results are counted until the next list, and the first problems are kept")
  func results() {
    var list = WarmingList()
    let count = WarmingList.problemLimit + 3
    #expect(
      list.add(Self.targets(count + 4), rate: 1000, number: 1, at: Self.time(0)) == .added(count: count + 4))
    var last: WarmingList.Progress?
    for now in 0..<Int64(count + 2) {
      list.timerFired(at: Self.time(now))
      guard case .start(let target) = list.step(at: Self.time(now)) else { continue }
      let result: WarmingList.Result =
        switch now {
        case 0: .stored
        case 1: .fresh
        case 2: .notStored(reason: "no-store")
        default: .failed(reason: "the status is 500")
        }
      #expect(last == nil)
      last = list.ended(target, result)
    }
    #expect(last == nil && list.progress.waiting == 2)
    #expect(list.drop() == 2)
    #expect(list.progress.isOver)
    let progress = list.progress
    #expect((progress.stored, progress.fresh, progress.notStored, progress.dropped) == (1, 1, 1, 2))
    #expect(progress.failed == count - 1 && progress.all == count + 4)
    #expect(progress.problems.count == WarmingList.problemLimit)
    #expect(progress.problems[0] == .init(url: "http://a.example/2", reason: "not stored: no-store"))
    #expect(progress.problems[1] == .init(url: "http://a.example/3", reason: "the status is 500"))

    #expect(list.add(Self.targets(1), rate: 1, number: 1, at: Self.time(5000)) == .added(count: 1))
    #expect(list.progress == WarmingList.Progress(list: 1, waiting: 1))
    guard case .start(let target) = list.step(at: Self.time(5000)) else { return #expect(Bool(false)) }
    #expect(list.ended(target, .fresh) == WarmingList.Progress(list: 1, fresh: 1))
  }

  @Test("A list that is too long is refused as a whole")
  func room() {
    var list = WarmingList()
    #expect(
      list.add(Self.targets(WarmingList.capacity - 1), rate: 1, number: 1, at: Self.time(0))
        == .added(count: WarmingList.capacity - 1))
    #expect(list.add(Self.targets(2), rate: 1, number: 1, at: Self.time(0)) == .full)
    #expect(list.room.count == 1)
    #expect(list.add(Self.targets(1), rate: 1, number: 1, at: Self.time(0)) == .added(count: 1))
    #expect(list.room.count == 0)
    #expect(list.drop() == WarmingList.capacity)
    #expect(list.room.count == WarmingList.capacity)
    #expect(list.room.bytes == WarmingList.byteCapacity)
  }

  @Test("Another rate, or an end, does not wait for the timer of before")
  func otherRate() {
    var list = WarmingList()
    #expect(list.add(Self.targets(3), rate: 0.1, number: 1, at: Self.time(0)) == .added(count: 3))
    #expect(list.step(at: Self.time(0)) == .start(.init(url: "http://a.example/0")))
    #expect(list.step(at: Self.time(0)) == .wait(Self.time(10_000)))
    #expect(list.drop() == 2)
    #expect(list.ended(.init(url: "http://a.example/0"), .stored)?.dropped == 2)
    #expect(list.add(Self.targets(3), rate: 100, number: 2, at: Self.time(1000)) == .added(count: 3))
    #expect(list.step(at: Self.time(1000)) == .start(.init(url: "http://a.example/0")))
    #expect(list.step(at: Self.time(1000)) == .wait(Self.time(1010)))
    list.timerFired(at: Self.time(1010))
    // A rate that is higher does not hold while others wait, and a lower one does.
    #expect(list.add(Self.targets(1), rate: 1000, number: 3, at: Self.time(1010)) == .added(count: 1))
    #expect(list.add(Self.targets(1), rate: 1, number: 3, at: Self.time(1010)) == .added(count: 1))
    #expect(list.step(at: Self.time(1010)) == .start(.init(url: "http://a.example/1")))
    #expect(list.step(at: Self.time(1010)) == .wait(Self.time(2010)))
    #expect(list.progress.list == 2)
  }

  @Test("A list goes on under its number, also when all is loaded, and not under another one")
  func continued() {
    var list = WarmingList()
    #expect(list.add(Self.targets(1), rate: 10, number: 7, at: Self.time(0)) == .added(count: 1))
    guard case .start(let target) = list.step(at: Self.time(0)) else { return #expect(Bool(false)) }
    #expect(list.ended(target, .stored)?.isOver == true)
    #expect(list.add(Self.targets(2), rate: 10, to: 8, number: 9, at: Self.time(1)) == .over)
    #expect(list.add(Self.targets(2), rate: 10, to: 7, number: 9, at: Self.time(1)) == .added(count: 2))
    #expect(list.progress == WarmingList.Progress(list: 7, waiting: 2, stored: 1))
    #expect(list.add(Self.targets(1), rate: 10, number: 9, at: Self.time(1)) == .added(count: 1))
    #expect(list.progress.list == 7 && list.progress.waiting == 3)
  }

  @Test("URLs have a limit of bytes, and what fits may be added alone")
  func bytes() {
    let url = "http://a.example/" + String(repeating: "x", count: 1 << 20)
    let targets = Array(repeating: WarmingList.Target(url: url), count: 100)
    let most = WarmingList.byteCapacity / targets[0].size
    var list = WarmingList()
    #expect(list.add(targets, rate: 1, number: 1, at: Self.time(0)) == .full)
    #expect(list.progress.all == 0)
    #expect(list.add(targets, rate: 1, number: 1, isPart: true, at: Self.time(0)) == .added(count: most))
    #expect(list.room.bytes < targets[0].size && list.progress.waiting == most)
    #expect(list.add(targets, rate: 1, number: 1, isPart: true, at: Self.time(0)) == .added(count: 0))
    guard case .start = list.step(at: Self.time(0)) else { return #expect(Bool(false)) }
    #expect(list.add(targets, rate: 1, number: 1, isPart: true, at: Self.time(0)) == .added(count: 1))
  }

  @Test("A list that is closed takes nothing, and says how many requests it leaves")
  func closes() {
    var list = WarmingList()
    #expect(list.add(Self.targets(5), rate: 1000, number: 1, at: Self.time(0)) == .added(count: 5))
    guard case .start = list.step(at: Self.time(0)) else { return #expect(Bool(false)) }
    #expect(list.close() == 5)
    #expect(list.add(Self.targets(1), rate: 1, number: 1, isPart: true, at: Self.time(1)) == .closed)
    #expect(list.step(at: Self.time(1)) == .nothing)
    #expect(list.progress.dropped == 4)
  }
}
