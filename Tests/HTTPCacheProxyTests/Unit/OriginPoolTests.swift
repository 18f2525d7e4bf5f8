// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import NIOCore
import TestSupport
import Testing

@testable import HTTPCacheProxy

@Suite("Places of connections to the origin", .timeLimit(.minutes(10)))
struct OriginPoolTests {
  struct Connection: PooledConnection, Hashable {
    var number: Int
    var loop = 0
    var end = NIODeadline.distantFuture
    func isUsable(at now: NIODeadline) -> Bool { end > now }
  }

  typealias Pool = OriginPool<Connection, Int>

  private static let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)

  private static func pool(_ connections: Int?, idle: Int = 64, queue: Int = 100) -> Pool {
    Pool(.init(connections: connections, idle: idle, queue: queue, queueTime: .seconds(10)))
  }

  enum Result: Hashable {
    case reuse(Int)
    case connect
    case wait
    case refuse
  }

  @discardableResult
  private static func request(
    _ pool: inout Pool, _ waiter: Int = 0, needsNew: Bool = false, isAgain: Bool = false, loop: Int = 0,
    at seconds: Int64 = 0
  ) -> (result: Result, closing: [Int], timer: NIODeadline?, ticket: Int?) {
    let admission = pool.request(
      needsNew: needsNew, isAgain: isAgain, on: loop, at: start + .seconds(seconds), waiter: { waiter })
    let closing = admission.closing.map(\.number)
    switch admission.decision {
    case .grant(.reuse(let connection)): return (.reuse(connection.number), closing, admission.timer, nil)
    case .grant(.connect): return (.connect, closing, admission.timer, nil)
    case .wait(let ticket): return (.wait, closing, admission.timer, ticket)
    case .refuse: return (.refuse, closing, admission.timer, nil)
    }
  }

  /// Closes a connection.
  private static func ended(_ pool: inout Pool) -> [Int] {
    pool.closed(Connection(number: -1), at: start).waiters
  }

  @Test("Requests beyond the limit wait, and get connections in the order of their arrival")
  func order() {
    var pool = Self.pool(2)
    #expect((0..<5).map { Self.request(&pool, $0).result } == [.connect, .connect, .wait, .wait, .wait])
    #expect(pool.connections == 2 && pool.waiting == 3)
    // One is returned, the other is closed.
    #expect(pool.returned(Connection(number: 1), at: Self.start).waiters == [2])
    #expect(Self.ended(&pool) == [3])
    // No request overtakes another.
    #expect(Self.request(&pool, 5).result == .wait)
    #expect(pool.returned(Connection(number: 1), at: Self.start).waiters == [4])
    #expect(pool.returned(Connection(number: 1), at: Self.start).waiters == [5])
    #expect(pool.returned(Connection(number: 1), at: Self.start).waiters == [])
    #expect(Self.request(&pool).result == .reuse(1))
    #expect(pool.connections == 2)
    #expect(Self.ended(&pool) == [] && pool.connections == 1)
  }

  @Test("Without a limit no request waits")
  func unlimited() {
    var pool = Self.pool(nil, queue: 0)
    for _ in 0..<5000 { #expect(Self.request(&pool).result == .connect) }
  }

  @Test("Requests beyond the length of the queue are refused")
  func full() {
    var pool = Self.pool(1, queue: 1)
    #expect((0..<3).map { Self.request(&pool, $0).result } == [.connect, .wait, .refuse])
    pool = Self.pool(1, queue: 0)
    #expect((0..<2).map { Self.request(&pool, $0).result } == [.connect, .refuse])
    // One that is sent again has had its place.
    #expect(Self.request(&pool, needsNew: true, isAgain: true).result == .wait)
  }

  @Test("Requests that have waited too long end, and one timer serves all")
  func expiry() {
    var pool = Self.pool(1)
    Self.request(&pool)
    #expect(Self.request(&pool, 1).timer == Self.start + .seconds(10))
    #expect(Self.request(&pool, 2, at: 1).timer == nil)
    #expect(Self.request(&pool, 3, at: 2).timer == nil)
    var (late, timer) = pool.expire(at: Self.start + .seconds(9))
    #expect(late == [] && timer == Self.start + .seconds(10))
    (late, timer) = pool.expire(at: Self.start + .seconds(11))
    #expect(late == [1, 2] && timer == Self.start + .seconds(12))
    #expect(Self.ended(&pool) == [3])
    (late, timer) = pool.expire(at: Self.start + .seconds(12))
    #expect(late == [] && timer == nil)
    #expect(Self.request(&pool, 4, at: 20).timer == Self.start + .seconds(30))
  }

  @Test("A request whose client leaves gives up its turn")
  func leaving() throws {
    var pool = Self.pool(1)
    Self.request(&pool)
    let tickets = (1...3).compactMap { Self.request(&pool, $0).ticket }
    #expect(pool.leave(tickets[0]) == 1)
    #expect(pool.leave(tickets[0]) == nil)
    #expect(pool.leave(tickets[2]) == 3)
    #expect(pool.waiting == 1)
    #expect(pool.returned(Connection(number: 1), at: Self.start).waiters == [2])
    #expect(pool.leave(tickets[1]) == nil)
    #expect(pool.returned(Connection(number: 1), at: Self.start).waiters == [])
    #expect(Self.request(&pool).result == .reuse(1))
  }

  @Test("A request that is sent again comes before those that wait")
  func again() {
    var pool = Self.pool(1)
    Self.request(&pool)
    Self.request(&pool, 1)
    Self.request(&pool, 2, at: 1)
    #expect(Self.request(&pool, 3, needsNew: true, isAgain: true, at: 5).result == .wait)
    #expect(Self.ended(&pool) == [3])
    #expect(Self.ended(&pool) == [1])
    Self.request(&pool, 4, needsNew: true, isAgain: true, at: 5)
    // It does not keep those behind it beyond their time.
    #expect(pool.expire(at: Self.start + .seconds(11)).late == [4, 2])
  }

  @Test("A tunnel gets the place of an idle connection, which is closed before")
  func tunnel() {
    var pool = Self.pool(1)
    Self.request(&pool)
    _ = pool.returned(Connection(number: 1), at: Self.start)
    let tunnel = Self.request(&pool, 1, needsNew: true)
    #expect(tunnel.result == .wait && tunnel.closing == [1])
    #expect(pool.connections == 1)
    #expect(Self.ended(&pool) == [1])
    // While a tunnel waits, a connection that is returned is closed for it.
    Self.request(&pool, 2, needsNew: true)
    let outcome = pool.returned(Connection(number: 2), at: Self.start)
    #expect(outcome.waiters == [] && outcome.closing.map(\.number) == [2])
    #expect(Self.ended(&pool) == [2])
  }

  @Test("A request prefers the connection of its event loop that was used last")
  func preference() {
    var pool = Self.pool(nil)
    for number in 0..<4 {
      Self.request(&pool, needsNew: true)
      _ = pool.returned(Connection(number: number, loop: number % 2), at: Self.start)
    }
    #expect((0..<4).map { _ in Self.request(&pool, loop: 0).result } == [2, 0, 3, 1].map { .reuse($0) })
  }

  @Test("Connections that are too old are closed, and keep their places until then")
  func old() {
    var pool = Self.pool(2)
    for number in 0..<2 {
      Self.request(&pool, needsNew: true)
      _ = pool.returned(Connection(number: number, end: Self.start + .seconds(4)), at: Self.start)
    }
    let late = Self.request(&pool, 7, at: 5)
    #expect(late.result == .wait && late.closing == [1, 0])
    #expect(Self.ended(&pool) == [7])
  }

  @Test("No more connections are kept idle than allowed")
  func idle() {
    var pool = Self.pool(nil, idle: 1)
    Self.request(&pool)
    Self.request(&pool)
    #expect(pool.returned(Connection(number: 1), at: Self.start).closing == [])
    #expect(pool.returned(Connection(number: 2), at: Self.start).closing.map(\.number) == [2])
    #expect(pool.forget { $0.number == 1 }?.number == 1)
    #expect(pool.forget { $0.number == 1 } == nil)
  }

  @Test("A changed limit lets waiting requests in, or closes connections as they are returned")
  func update() {
    var pool = Self.pool(1)
    for number in 0..<4 { Self.request(&pool, number) }
    #expect(
      pool.update(.init(connections: 3, idle: 64, queue: 9, queueTime: .seconds(1)), at: Self.start).waiters
        == [1, 2])
    #expect(
      pool.update(.init(connections: 2, idle: 64, queue: 9, queueTime: .seconds(1)), at: Self.start).waiters
        == [])
    #expect(pool.returned(Connection(number: 1), at: Self.start).closing.map(\.number) == [1])
    #expect(Self.ended(&pool) == [])
    #expect(pool.returned(Connection(number: 2), at: Self.start).waiters == [3])
  }

  @Test("A probe takes a place that is free, and never waits")
  func probe() {
    var pool = Self.pool(1)
    #expect((0..<2).map { _ in pool.takePlace(on: 0) } == [true, false])
    #expect(Self.request(&pool, 1).result == .wait)
    #expect(pool.removeWaiting() == [1] && pool.waiting == 0)
    #expect(Self.ended(&pool) == [] && pool.connections == 0)
  }

  @Test("For any events, no more connections exist than allowed, and no request is lost")
  func random() {
    var generator = SplitMix64(seed: 7)
    for _ in 0..<200 {
      let limit = Int.random(in: 1...4, using: &generator)
      var pool = Self.pool(limit, idle: Int.random(in: 0...3, using: &generator), queue: 8)
      // The connections by their states, and the requests that wait.
      var (busy, idle, closing, waiting): (Int, [Connection], Int, [Int]) = (0, [], 0, [])
      var number = 0
      func grant(_ waiter: Int) {
        #expect(waiting.contains(waiter))
        waiting.removeAll { $0 == waiter }
        busy += 1
      }
      func close(_ connections: [Connection]) {
        for connection in connections { idle.removeAll { $0 == connection } }
        closing += connections.count
      }
      for _ in 0..<200 {
        number += 1
        switch Int.random(in: 0..<4, using: &generator) {
        case 0, 1:
          let needsNew = Bool.random(using: &generator)
          let admission = pool.request(needsNew: needsNew, on: 0, at: Self.start, waiter: { number })
          close(admission.closing)
          switch admission.decision {
          case .grant(.reuse(let connection)):
            #expect(!needsNew)
            idle.removeAll { $0 == connection }
            busy += 1
          case .grant(.connect): busy += 1
          case .wait: waiting.append(number)
          case .refuse: #expect(waiting.count == 8)
          }
        case 2 where busy > 0:
          busy -= 1
          let connection = Connection(number: number)
          let outcome = pool.returned(connection, at: Self.start)
          if outcome.granted.isEmpty { idle.append(connection) }
          outcome.waiters.forEach(grant)
          close(outcome.closing)
        case 3 where closing > 0:
          closing -= 1
          Self.ended(&pool).forEach(grant)
        default: break
        }
        #expect(pool.connections == busy + idle.count + closing)
        #expect(pool.connections <= limit)
        #expect(pool.waiting == waiting.count)
        // Requests wait only for connections in use, or for those that are being closed.
        #expect(waiting.isEmpty || busy + closing > 0)
      }
    }
  }
}

extension OriginPool.Outcome {
  /// The requests that were let in.
  fileprivate var waiters: [Waiter] { granted.map(\.waiter) }
}
