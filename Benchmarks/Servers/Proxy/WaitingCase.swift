// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import BenchmarkHarness
import HTTPTypes
import Loopback

/// The cases of `waiting`.
enum WaitingCase: String, CaseIterable, Sendable, ExpressibleByArgument {
  /// Clients request a URL with `no-store` in a loop, also with a field of their own, and from an origin that fails.
  case noStore = "no-store"
  /// Users request a URL with a `private` response each.
  case `private`
  /// Fast requests of some users come while a slow one of another user is in flight.
  case slowUser = "slow-user"
  /// Clients wait for an event of the origin.
  case longPoll = "long-poll"
  /// A client requests a stream without an end, which another client already reads.
  case stream
  /// The origin delays only its first response, for 10 s.
  case hang
  /// Clients request a large response that another client has begun to read, and reads no further.
  case slowLeader = "slow-leader"
  /// Small responses are requested while many clients read large ones slowly.
  case slowReaders = "slow-readers"
  /// The origin closes the first connection without a response.
  case lostConnection = "lost-connection"
  /// Clients request a page in a loop that is fresh for one second.
  case shortLived = "short-lived"
  /// Requests that cannot be coalesced, 1, 10 and 100 at a time.
  case unshared

  // What rules are for: an origin that does not say what its operator wants. httpcache is also measured with rules.

  /// Clients request a page in a loop that takes 2 s, and is fresh for one second.
  case microcaching
  /// Clients reload a fresh page.
  case reload
  /// A file has `Last-Modified`, and no lifetime.
  case noLifetime = "no-lifetime"
  /// The origin answers no more, and a response has become stale.
  case stopped
  /// The origin answers 503, and a response has become stale.
  case failing
  /// A response sets a cookie.
  case cookies
  /// Browsers accept different codings, and the response varies by them.
  case codings

  /// The loads of the case: a row of the result each.
  ///
  /// - Parameter delay: the origin's time for a slow response.
  func loads(_ delay: Duration) -> [WaitingLoad] {
    let ownTime = WaitingLoad.Limit(.timesOfOrigin, .atMost, 1.05)
    // Waiting clients of nginx look every 500 ms.
    let soon = WaitingLoad.Limit(.maxNanoseconds, .atMost, 50e6)
    let fast = Duration.milliseconds(1)
    switch self {
    case .noStore:
      let answer = WaitingOrigin.Answer("no-store", delay)
      var (reload, failing) = (
        WaitingLoad(.waitReload, answer, 10, rounds: 4, ownTime),
        WaitingLoad(.waitFailing, answer, 10, rounds: 4, ownTime)
      )
      (reload.field, failing.answer.status) = ("Cache-Control: max-age=0", 503)
      return [.init(.waitNoStore, answer, 10, rounds: 4, ownTime), reload, failing]
    case .private:
      var load = WaitingLoad(.waitPrivate, .init("private", delay), 6, rounds: 3, ownTime)
      (load.areUsers, load.skipped) = (true, 2)
      return [load]
    case .slowUser:
      var load = WaitingLoad(.waitSlowUser, .init("private", fast, first: delay * 10), 5, soon)
      (load.areUsers, load.leader) = (true, .sent)
      return [load]
    case .longPoll: return [.init(.waitLongPoll, .init("no-store", delay * 3), 6, rounds: 3, ownTime)]
    case .stream:
      return [(Action.waitStreamNoCache, "no-cache"), (.waitStream, nil)].map { action, cacheControl in
        var load = WaitingLoad(action, .init(cacheControl), 1, soon)
        (load.leader, load.answer.ending) = (.stopsReading, .open)
        return load
      }
    case .hang:
      let answer = WaitingOrigin.Answer("max-age=60", fast, first: .seconds(10))
      // A request waits for another for 5 s, in httpcache and in nginx.
      var load = WaitingLoad(.waitHang, answer, 5, .init(.maxNanoseconds, .atMost, 5.1e9))
      load.leader = .sent
      return [load]
    case .slowLeader:
      // Too large for the memory that httpcache has for content in flight.
      var load = WaitingLoad(
        .waitSlowLeader, .init("max-age=3600", bytes: 100_000_000), 2, .init(.maxNanoseconds, .atMost, 5.5e9))
      load.leader = .stopsReading
      return [load]
    case .slowReaders:
      var load = WaitingLoad(
        .waitSlowReaders, .init("max-age=3600", bytes: 20_000), 1, rounds: 100,
        .init(.hitRatio, .atLeast, 0.99))
      load.readers = 150
      return [load]
    case .lostConnection:
      var answer = WaitingOrigin.Answer("max-age=60", delay)
      answer.losesFirst = true
      return [.init(.waitLostConnection, answer, 4, .init(.failures, .atMost, 1))]
    case .shortLived:
      let seconds = 5
      var load = WaitingLoad(
        .waitShortLived, .init("max-age=1", .milliseconds(500)), 20,
        .init(.originRequests, .atMost, Double(seconds) + 1))
      load.seconds = seconds
      return [load]
    case .unshared:
      return [1, 10, 100].map {
        .init(.waitUnshared, .init("no-store", .milliseconds(50)), $0, rounds: 20, ownTime)
      }
    default: return [ruledLoad]
    }
  }

  /// The load of a case that rules are for.
  private var ruledLoad: WaitingLoad {
    let all = WaitingLoad.Limit(.failures, .atMost, 0)
    func toOrigin(_ bound: Target.Bound, _ count: Double) -> WaitingLoad.Limit {
      .init(.originRequests, bound, count)
    }
    var page = WaitingOrigin.Answer("max-age=60", .milliseconds(20))
    var load: WaitingLoad
    switch self {
    case .microcaching:
      load = .init(
        .waitMicrocaching, .init("max-age=1", .seconds(2)), 20, .init(.p50Nanoseconds, .atMost, 10e6),
        toOrigin(.atMost, 30), all)
      (load.seconds, load.rules) = (15, ["grace: 10m"])
    case .reload:
      load = .init(.waitReloads, page, 50, rounds: 40, toOrigin(.atMost, 0), all)
      (load.stored, load.field, load.rules) = (.fresh(page), "Cache-Control: no-cache", ["reload: ignore"])
    case .noLifetime:
      page.cacheControl = nil
      page.fields = [.lastModified: "Thu, 01 Jan 2026 00:00:00 GMT"]
      load = .init(.waitNoLifetime, page, 1, rounds: 20, toOrigin(.atLeast, 20), all)
      (load.stored, load.rules) = (.fresh(page), ["heuristics: false"])
    case .stopped:
      // Longer than a client waits.
      load = .init(
        .waitStopped, .init("max-age=60", .seconds(30)), 1, rounds: 3, .init(.maxNanoseconds, .atMost, 50e6),
        all)
      (load.stored, load.rules) = (.stale(.init("max-age=1")), ["grace: 1h"])
    case .failing:
      (page.status, page.cacheControl) = (503, nil)
      load = .init(.waitFailingLater, page, 1, rounds: 10, all)
      (load.stored, load.rules) = (.stale(.init("max-age=1")), ["stale-if-error: 1h"])
    case .cookies:
      page.fields = [.setCookie: "visit=1; Path=/"]
      load = .init(.waitCookies, page, 10, toOrigin(.atMost, 1), all)
      load.rules = ["set-cookie: strip"]
    default:
      page.fields = [.vary: "Accept-Encoding"]
      load = .init(.waitCodings, page, 1, rounds: 7, toOrigin(.atMost, 2), all)
      load.fieldsInTurn = Self.acceptedCodings.map { "Accept-Encoding: \($0)" }
      load.rules = ["content-codings: [br, gzip]"]
    }
    return load
  }

  /// What browsers and other clients accept.
  private static let acceptedCodings = [
    "gzip, deflate, br, zstd", "gzip, deflate, br", "gzip, deflate", "gzip", "br, gzip, deflate",
    "deflate, gzip, br, zstd",
    "gzip;q=1.0, deflate;q=0.6, identity;q=0.3",
  ]
}

/// The requests of a row of `waiting`, and the origin's answer to them. All are for one URL.
struct WaitingLoad: Sendable {
  /// What the proxy of this package must reach.
  struct Limit: Sendable {
    var metric: Metric
    var bound: Target.Bound
    var value: Double

    init(_ metric: Metric, _ bound: Target.Bound, _ value: Double) {
      (self.metric, self.bound, self.value) = (metric, bound, value)
    }
  }

  /// What another client has done before the others begin.
  enum Leader {
    /// Its request is at the origin.
    case sent
    /// It has got the first bytes of its response, and reads no more.
    case stopsReading
  }

  /// What is stored before the clients begin.
  enum Stored {
    case fresh(WaitingOrigin.Answer)
    /// It lives for a second, which is over.
    case stale(WaitingOrigin.Answer)
  }

  var action: Action
  var answer: WaitingOrigin.Answer
  /// The number of clients, which begin at once. Each sends its next request after the response to the last.
  var clients: Int
  /// Requests of each client; `seconds` takes precedence.
  var rounds: Int
  var limits: [Limit]
  /// The requests of each client that are not measured.
  var skipped = 0
  /// A field of all requests.
  var field: String?
  /// Whether each client has its own `Authorization`.
  var areUsers = false
  /// Another client, whose request comes before the others and is not measured.
  var leader: Leader?
  /// Clients that read another response slowly meanwhile. Each URL is then requested twice, and the second counts.
  var readers = 0
  /// The answer to a request before the others, which is not measured.
  var stored: Stored?
  /// A field of each request of a client.
  var fieldsInTurn: [String] = []
  /// The settings of a rule for all requests. Then, the limits hold for httpcache with this rule.
  var rules: [String] = []
  /// How long the clients repeat their requests, each 10 ms after the last response.
  var seconds: Int?

  init(
    _ action: Action, _ answer: WaitingOrigin.Answer, _ clients: Int, rounds: Int = 1, _ limits: Limit...
  ) {
    (self.action, self.answer, self.clients) = (action, answer, clients)
    (self.rounds, self.limits) = (rounds, limits)
  }

  func fields(ofUser number: Int, round: Int = 0) -> [String] {
    (areUsers ? ["Authorization: Bearer \(number)"] : []) + (field.map { [$0] } ?? [])
      + (fieldsInTurn.isEmpty ? [] : [fieldsInTurn[round % fieldsInTurn.count]])
  }

  /// The status of a response that does not count as a failure.
  var status: Int {
    switch stored {
    case .fresh(let answer), .stale(let answer): answer.status
    case nil: answer.status
    }
  }
}
