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
    #expect((0..<2).map { _ in pool.takePlace() } == [true, false])
    #expect(Self.request(&pool, 1).result == .wait)
    #expect(pool.removeWaiting() == [1] && pool.waiting == 0)
    #expect(Self.ended(&pool) == [] && pool.connections == 0)
  }

  // MARK: - Shared connections

  private static func sharing(_ places: Int? = nil, idle: Int = 64, queue: Int = 100, capacity: Int = 4)
    -> Pool
  {
    Pool(
      .init(connections: places, idle: idle, queue: queue, queueTime: .seconds(10)), capacity: capacity)
  }

  /// What the waiting requests may do, in their order.
  private static func results(_ outcome: Pool.Outcome) -> [Result] {
    outcome.granted.map {
      if case .reuse(let connection) = $0.grant { .reuse(connection.number) } else { .connect }
    }
  }

  @Test("Requests wait for a connection that will be shared, and others make the next one")
  func joining() {
    var pool = Self.sharing(queue: 0)
    #expect(
      (0..<6).map { Self.request(&pool, $0).result } == [.connect, .wait, .wait, .wait, .connect, .wait])
    #expect(pool.connections == 2 && pool.places == 2)
    let outcome = pool.opened(
      .shared(Connection(number: 1), limit: 4, isRetired: false), on: 0, at: Self.start)
    #expect(outcome.waiters == [1, 2, 3] && Self.results(outcome) == [.reuse(1), .reuse(1), .reuse(1)])
    #expect(pool.sharing == 4 && pool.places == 5)
    // The last one that waits does so for the second connection, and gets what is free first.
    #expect(pool.requestEnded(on: Connection(number: 1), at: Self.start).waiters == [5])
    #expect(pool.waiting == 0 && pool.sharing == 4)
  }

  @Test("If the connection turns out not to be shared, each request that waited makes one")
  func exclusive() {
    var pool = Self.sharing(3)
    for number in 0..<5 { Self.request(&pool, number) }
    let outcome = pool.opened(.exclusive, on: 0, at: Self.start)
    #expect(Self.results(outcome) == [.connect, .connect] && pool.waiting == 2)
    #expect(pool.returned(Connection(number: 1), at: Self.start).waiters == [3])
    // Later ones do not wait any more.
    #expect(Self.request(&pool, 9).result == .wait && pool.waiting == 2)
  }

  @Test("Requests that waited for a connection that fails do so too, unless there is another")
  func failure() {
    var pool = Self.sharing()
    for number in 0..<3 { Self.request(&pool, number) }
    #expect(pool.failed(on: 0, at: Self.start).failed == [1, 2])
    #expect(pool.connections == 0 && pool.waiting == 0)
    for number in 0..<6 { Self.request(&pool, number) }
    // The second one serves as many as it may.
    let outcome = pool.failed(on: 0, at: Self.start)
    #expect(outcome.failed == [] && outcome.waiters == [1] && pool.waiting == 3)
    #expect(
      pool.opened(.shared(Connection(number: 1), limit: 4, isRetired: false), on: 0, at: Self.start).waiters
        == [2, 3, 5])
  }

  @Test(
    "No request waits for a connection that becomes a tunnel, and a tunnel gets the place of one that is free"
  )
  func tunnels() {
    var pool = Self.sharing(2, queue: 1)
    #expect(Self.request(&pool, 0, needsNew: true).result == .connect)
    #expect(Self.request(&pool, 1).result == .connect)
    #expect(pool.opened(.unasked, on: nil, at: Self.start).granted.isEmpty)
    let connection = Connection(number: 1)
    _ = pool.opened(.shared(connection, limit: 4, isRetired: false), on: 0, at: Self.start)
    #expect(Self.request(&pool, 2, needsNew: true).result == .wait)
    #expect(pool.requestEnded(on: connection, at: Self.start).closing == [connection])
    #expect(pool.closed(connection, at: Self.start).waiters == [2])
  }

  @Test("A connection that the origin has retired by the time that it is open serves one request")
  func retiredFromTheBeginning() {
    var pool = Self.sharing()
    for number in 0..<2 { Self.request(&pool, number) }
    let connection = Connection(number: 1)
    let outcome = pool.opened(.shared(connection, limit: 4, isRetired: true), on: 0, at: Self.start)
    #expect(outcome.waiters == [1] && Self.results(outcome) == [.connect])
    #expect(pool.requestEnded(on: connection, at: Self.start).closing == [connection])
  }

  @Test("Each event loop has a connection of its own, unless there is no room, or another one is idle")
  func loops() {
    var pool = Self.sharing(6)
    let connections = (0..<2).map { Connection(number: $0, loop: $0) }
    for loop in 0..<2 { #expect(Self.request(&pool, loop, loop: loop).result == .connect) }
    _ = pool.opened(.shared(connections[0], limit: 4, isRetired: false), on: 0, at: Self.start)
    // The one of its own loop is on the way, and another is here.
    #expect(Self.request(&pool, 2, loop: 1).result == .reuse(0))
    _ = pool.opened(.shared(connections[1], limit: 4, isRetired: false), on: 1, at: Self.start)
    #expect(
      (0..<3).map { Self.request(&pool, 3, loop: [1, 0, 1][$0]).result } == [.reuse(1), .reuse(0), .reuse(1)])
    // No room for a third.
    #expect(pool.places == 6 && Self.request(&pool, 7, loop: 2).result == .wait)
    let outcome = pool.requestEnded(on: connections[1], at: Self.start)
    #expect(outcome.waiters == [7] && Self.results(outcome) == [.connect])
    for _ in 0..<2 { _ = pool.requestEnded(on: connections[0], at: Self.start) }
    // One that is idle serves any.
    _ = pool.requestEnded(on: connections[0], at: Self.start)
    #expect(Self.request(&pool, 8, loop: 2).result == .reuse(0))
    // The places that are left are those of requests that may join the one on the way.
    #expect(Self.request(&pool, 9, loop: 3).result == .wait)
  }

  @Test("A retired connection ends with its last request, and serves no other")
  func retirement() {
    var pool = Self.sharing(queue: 0)
    let connection = Connection(number: 1)
    Self.request(&pool)
    _ = pool.opened(.shared(connection, limit: 4, isRetired: false), on: 0, at: Self.start)
    var mustClose = pool.retire(connection)
    #expect(!mustClose)
    #expect(Self.request(&pool, 1).result == .connect)
    let outcome = pool.requestEnded(on: connection, at: Self.start)
    #expect(outcome.closing == [connection])
    #expect(pool.connections == 2)
    _ = pool.closed(connection, at: Self.start)
    #expect(pool.connections == 1 && pool.sharing == 0)
    // What comes later changes nothing.
    mustClose = pool.retire(connection) || pool.retireIdle(connection)
    #expect(!mustClose)
    #expect(pool.requestEnded(on: connection, at: Self.start).closing == [])
    #expect(pool.connections == 1 && pool.places == 1)
  }

  @Test("An idle connection is closed after its time, and one that is in use again is not")
  func idleForLong() {
    var pool = Self.sharing()
    let connection = Connection(number: 1)
    Self.request(&pool)
    _ = pool.opened(.shared(connection, limit: 4, isRetired: false), on: 0, at: Self.start)
    _ = pool.requestEnded(on: connection, at: Self.start)
    #expect(Self.request(&pool).result == .reuse(1))
    var mustClose = pool.retireIdle(connection)
    #expect(!mustClose)
    _ = pool.requestEnded(on: connection, at: Self.start)
    mustClose = pool.retireIdle(connection)
    #expect(mustClose)
    #expect(Self.request(&pool).result == .connect)
  }

  @Test("Of shared connections, too, no more are kept idle than allowed, and a tunnel gets the place of one")
  func idleShared() {
    var pool = Self.sharing(2, idle: 1, capacity: 1)
    let connections = (0..<2).map { Connection(number: $0, loop: $0) }
    for connection in connections {
      Self.request(&pool, loop: connection.loop)
      _ = pool.opened(.shared(connection, limit: 2, isRetired: false), on: connection.loop, at: Self.start)
    }
    #expect(pool.requestEnded(on: connections[0], at: Self.start).closing == [])
    #expect(pool.requestEnded(on: connections[1], at: Self.start).closing == [connections[1]])
    let tunnel = Self.request(&pool, 5, needsNew: true)
    #expect(tunnel.result == .wait && tunnel.closing == [0])
    #expect(pool.closed(connections[0], at: Self.start).waiters == [5])
    let rest = pool.retire { _ in true }
    #expect(rest == [])
  }

  @Test("The origin's limit applies at once, and to what is expected of the next connection")
  func allowance() {
    var pool = Self.sharing(capacity: 100)
    for number in 0..<9 { Self.request(&pool, number) }
    let connection = Connection(number: 1)
    let outcome = pool.opened(.shared(connection, limit: 2, isRetired: false), on: 0, at: Self.start)
    // One shares it, and every second one of the others makes a connection for two.
    #expect(outcome.waiters == [1, 2, 3, 4, 5] && pool.connections == 5)
    #expect(pool.waiting == 3 && pool.sharing == 2)
    #expect(pool.limitChanged(of: connection, to: 4, at: Self.start).waiters == [6, 7])
    #expect(pool.sharing == 4)
  }

  @Test("For any events, requests on shared connections and connections have no more places than there are")
  func randomSharing() {
    var generator = SplitMix64(seed: 11)
    for _ in 0..<60 {
      let places = Int.random(in: 1...8, using: &generator)
      let limit = Int.random(in: 1...4, using: &generator)
      var pool = Self.sharing(
        places, idle: Int.random(in: 0...2, using: &generator), queue: 20, capacity: limit)
      // The connections by their states, with the requests on each; and the requests that wait.
      var opening: [Int?] = []
      var open: [Connection: Int] = [:]
      var retired: Set<Int> = []
      var closing: [Connection] = []
      var waiting: [Int] = []
      var number = 0
      func grant(_ grant: Pool.Grant, loop: Int?) {
        switch grant {
        case .connect: opening.append(loop)
        case .reuse(let connection):
          #expect(!retired.contains(connection.number) && !closing.contains(connection))
          open[connection, default: 0] += 1
          #expect(open[connection, default: 0] <= limit)
        }
      }
      func perform(_ outcome: Pool.Outcome) {
        for (waiter, given) in outcome.granted {
          #expect(waiting.contains(waiter))
          waiting.removeAll { $0 == waiter }
          grant(given, loop: waiter % 7 == 0 ? nil : waiter % 3)
        }
        for waiter in outcome.failed {
          #expect(waiting.contains(waiter))
          waiting.removeAll { $0 == waiter }
        }
        for connection in outcome.closing {
          #expect(open[connection] == 0)
          open[connection] = nil
          closing.append(connection)
        }
      }
      for _ in 0..<200 {
        number += 1
        let loop = number % 3
        let busy = open.filter { $0.value > 0 }.keys.min { $0.number < $1.number }
        switch Int.random(in: 0..<9, using: &generator) {
        case 0...3:
          let admission = pool.request(
            needsNew: number % 7 == 0, on: loop, at: Self.start, waiter: { number })
          perform(Pool.Outcome(closing: admission.closing))
          switch admission.decision {
          case .grant(let given): grant(given, loop: number % 7 == 0 ? nil : loop)
          case .wait: waiting.append(number)
          case .refuse: #expect(waiting.count >= 20)
          }
        case 4 where !opening.isEmpty:
          let loop = opening.removeFirst()
          let connection = Connection(number: number, loop: loop ?? 0)
          open[connection] = 1
          perform(pool.opened(.shared(connection, limit: limit, isRetired: false), on: loop, at: Self.start))
        case 5 where !opening.isEmpty: perform(pool.failed(on: opening.removeFirst(), at: Self.start))
        case 6:
          guard let busy else { continue }
          open[busy, default: 0] -= 1
          perform(pool.requestEnded(on: busy, at: Self.start))
        case 7:
          guard let connection = open.keys.min(by: { $0.number < $1.number }), number % 4 == 0 else {
            continue
          }
          retired.insert(connection.number)
          if pool.retire(connection) { perform(Pool.Outcome(closing: [connection])) }
        case 8:
          // A connection may also end with all its requests.
          if let connection = closing.popLast() {
            perform(pool.closed(connection, at: Self.start))
          } else if let busy, number % 5 == 0 {
            open[busy] = nil
            perform(pool.closed(busy, at: Self.start))
          }
        default: break
        }
        let requests = open.values.reduce(0) { $0 + max(1, $1) }
        #expect(pool.places == opening.count + requests + closing.count)
        #expect(pool.connections == opening.count + open.count + closing.count)
        #expect(pool.places <= places)
        #expect(pool.waiting == waiting.count)
        #expect(pool.sharing == open.values.reduce(0, +))
        // Requests wait only for what is in use, made or closed.
        #expect(waiting.isEmpty || !opening.isEmpty || !closing.isEmpty || busy != nil || requests > 0)
        // A place that is free, with none on the way, is not kept from a request that waits.
        if !waiting.isEmpty, opening.isEmpty { #expect(pool.places == places) }
      }
    }
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
