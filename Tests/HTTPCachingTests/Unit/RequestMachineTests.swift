// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes
import TestSupport
import Testing

@testable import HTTPCaching

@Suite("The way of a request")
struct RequestMachineTests {
  typealias Machine = RequestMachine

  /// What the events contain.
  private struct Parts {
    let table = FetchTable(clock: ManualClock(Timestamp(seconds: 0)))
    let forwarding: CacheEngine.Forwarding
    let service: CacheEngine.Service
    let key: CacheKey
    let times: ExchangeTimes
    let refusal: CacheEngine.Refusal

    init() throws {
      let engine = CacheEngine(.init(kind: .private))
      let now = Timestamp(seconds: 1_700_000_000)
      func plan(_ candidates: [StoredResponse], _ fields: HTTPFields = [:]) -> CacheEngine.Plan {
        engine.plan(
          for: .get(fields: fields), policy: .useProtocolCachePolicy, candidates: candidates, now: now)
      }
      guard case .forward(let forwarding) = plan([]),
        case .fail(let refusal) = plan([], [.cacheControl: "only-if-cached"])
      else { throw Unreachable() }
      let exchange = CacheEngine.Exchange(
        forwarding: forwarding, candidates: [],
        result: .response(HTTPResponse(status: .ok, headerFields: [.cacheControl: "max-age=60"])),
        requestTime: now, responseTime: now)
      guard case .store(let stored, _) = engine.outcome(of: exchange).storage,
        case .serve(let service) = plan([stored])
      else { throw Unreachable() }
      self.forwarding = forwarding
      self.service = service
      self.refusal = refusal
      times = exchange.times
      key = try #require(CacheKey(.get(), partition: ""))
    }

    func demand(mayWait: Bool = false, maySearch: Bool = false, key: CacheKey? = nil) -> Machine.Demand {
      Machine.Demand(forwarding, key: key ?? self.key, mayWait: mayWait, maySearch: maySearch)
    }

    var response: CachedResponse {
      CachedResponse(
        head: HTTPResponse(status: .ok), body: .empty, source: .network, reason: .fromOrigin,
        cacheStatus: CacheStatus(cache: "test"))
    }

    /// Another fetch, which the request may follow.
    var claim: Fetch.Claim { Fetch.make(in: table) }
  }

  /// An event, by a name for the table.
  enum Step: String, CaseIterable {
    case found, foundOnDisk, refused
    case missed, missedMayWait, missedMaySearch, missedMayBoth, missedOtherKey
    case read, unreadable
    case leads, leadsLate, follows
    case readable, whenStored, notForThis
    case stored, notShared, abandoned, failed, failedWithFallback, overdue, cancelled
    case filled, notFilled, arrived, transportFailed
  }

  private static func event(_ step: Step, _ parts: Parts) -> Machine.Event {
    switch step {
    case .found: .found(parts.service, isReady: true)
    case .foundOnDisk: .found(parts.service, isReady: false)
    case .refused: .refused(parts.refusal)
    case .missed: .missed(parts.demand())
    case .missedMayWait: .missed(parts.demand(mayWait: true))
    case .missedMaySearch: .missed(parts.demand(maySearch: true))
    case .missedMayBoth: .missed(parts.demand(mayWait: true, maySearch: true))
    case .missedOtherKey:
      .missed(
        parts.demand(
          mayWait: true, maySearch: true,
          key: CacheKey(TargetURI(scheme: "http", authority: "b.example", path: "/"))))
    case .read: .read(isReadable: true)
    case .unreadable: .read(isReadable: false)
    case .leads: .leads(parts.claim, isLate: false)
    case .leadsLate: .leads(parts.claim, isLate: true)
    case .follows: .follows(parts.claim)
    case .readable: .arriving(.answer(parts.response))
    case .whenStored: .arriving(.whenStored)
    case .notForThis: .arriving(.notForThis)
    case .stored: .ended(.stored(status: 200, at: parts.times))
    case .notShared: .ended(.notShared)
    case .abandoned: .ended(.abandoned)
    case .failed: .ended(.failed(Unreachable()))
    case .failedWithFallback: .ended(.failed(Unreachable()), hasFallback: true)
    case .overdue: .overdue
    case .cancelled: .cancelled
    case .filled: .filled
    case .notFilled: .notFilled(nil)
    case .arrived: .arrived(parts.response)
    case .transportFailed: .failed(Unreachable())
    }
  }

  /// An action, by its name and what distinguishes it.
  private static func name(_ action: Machine.Action) -> String {
    switch action {
    case .lookUp: "look up"
    case .read: "read"
    case .join: "join"
    case .wait(_, _, let mayRead): mayRead ? "wait" : "wait for the end"
    case .search: "search"
    case .send(_, let claim, let collapsing, _):
      "send" + (claim == nil ? " alone" : " for all") + (collapsing == .inVain ? " after waiting" : "")
    case .serve(_, let stage): "serve" + (stage.collapsing.isCollapsed == true ? " coalesced" : "")
    case .refuse: "refuse"
    case .answer: "answer"
    case .fallBack: "fall back"
    case .fail: "fail"
    }
  }

  /// The events of a request, and the action after each.
  struct Way: CustomTestStringConvertible {
    let name: String
    let steps: [(Step, String)]

    init(_ name: String, _ steps: (Step, String)...) { (self.name, self.steps) = (name, steps) }

    var testDescription: String { name }
  }

  static let ways = [
    Way("from memory", (.found, "serve")),
    Way("from disk", (.foundOnDisk, "read"), (.read, "serve")),
    Way(
      "an entry on disk is damaged", (.foundOnDisk, "read"), (.unreadable, "look up"),
      (.missed, "send alone"), (.arrived, "answer")),
    Way("only if cached", (.refused, "refuse")),
    Way("nothing can be shared", (.missed, "send alone"), (.arrived, "answer")),
    Way("the origin fails", (.missed, "send alone"), (.transportFailed, "fail")),
    Way("it leads", (.missedMayWait, "join"), (.leads, "send for all"), (.arrived, "answer")),
    Way("the leader fails", (.missedMayWait, "join"), (.leads, "send for all"), (.transportFailed, "fail")),
    Way("stored meanwhile", (.missedMayWait, "join"), (.leadsLate, "look up"), (.found, "serve")),
    Way(
      "not stored meanwhile", (.missedMayWait, "join"), (.leadsLate, "look up"),
      (.missedMayWait, "send for all"), (.arrived, "answer")),
    Way(
      "known meanwhile not to be shareable", (.missedMayWait, "join"), (.leadsLate, "look up"),
      (.missed, "send alone"), (.arrived, "answer")),
    Way(
      "the key is another one meanwhile", (.missedMayWait, "join"), (.leadsLate, "look up"),
      (.missedOtherKey, "search"), (.notFilled, "send alone"), (.arrived, "answer")),
    Way("it reads what arrives", (.missedMayWait, "join"), (.follows, "wait"), (.readable, "answer")),
    Way(
      "it waits for the end", (.missedMayWait, "join"), (.follows, "wait"),
      (.whenStored, "wait for the end"), (.stored, "look up"), (.found, "serve coalesced")),
    Way(
      "what it waited for is on disk", (.missedMayWait, "join"), (.follows, "wait"), (.stored, "look up"),
      (.foundOnDisk, "read"), (.read, "serve coalesced")),
    Way(
      "another variant was stored", (.missedMayWait, "join"), (.follows, "wait"), (.stored, "look up"),
      (.missedMayBoth, "search"), (.notFilled, "send alone after waiting"), (.arrived, "answer")),
    Way(
      "the response is not for this request", (.missedMayWait, "join"), (.follows, "wait"),
      (.notForThis, "look up"), (.missedMayWait, "send alone after waiting"), (.arrived, "answer")),
    Way(
      "the response is not shared", (.missedMayWait, "join"), (.follows, "wait"), (.notShared, "look up"),
      (.missedMayWait, "send alone after waiting"), (.arrived, "answer")),
    Way(
      "not shared, but something else was stored", (.missedMayWait, "join"), (.follows, "wait"),
      (.notShared, "look up"), (.found, "serve")),
    Way(
      "it has waited long enough", (.missedMayWait, "join"), (.follows, "wait"), (.overdue, "look up"),
      (.missedMayWait, "send alone after waiting"), (.arrived, "answer")),
    Way(
      "the other one was abandoned, and it leads", (.missedMayWait, "join"), (.follows, "wait"),
      (.abandoned, "look up"), (.missedMayWait, "join"), (.leads, "send for all"), (.arrived, "answer")),
    Way(
      "the other one failed, and it leads", (.missedMayWait, "join"), (.follows, "wait"),
      (.failed, "look up"), (.missedMayWait, "join"), (.leads, "send for all"), (.arrived, "answer")),
    Way(
      "two others failed", (.missedMayWait, "join"), (.follows, "wait"), (.failed, "look up"),
      (.missedMayWait, "join"), (.follows, "wait"), (.failed, "fall back")),
    Way(
      "failed, then abandoned, then failed", (.missedMayWait, "join"), (.follows, "wait"),
      (.failed, "look up"), (.missedMayWait, "join"), (.follows, "wait"), (.abandoned, "look up"),
      (.missedMayWait, "join"), (.follows, "wait"), (.failed, "fall back")),
    Way(
      "after a failure it may no longer wait", (.missedMayWait, "join"), (.follows, "wait"),
      (.failed, "look up"), (.missed, "send alone"), (.arrived, "answer")),
    Way(
      "a stored response is used after a failure", (.missedMayWait, "join"), (.follows, "wait"),
      (.failedWithFallback, "fall back")),
    Way("the caller leaves", (.missedMayWait, "join"), (.follows, "wait"), (.cancelled, "fail")),
    Way("the tier has it", (.missedMaySearch, "search"), (.filled, "look up"), (.found, "serve")),
    Way(
      "the tier has nothing", (.missedMaySearch, "search"), (.notFilled, "send alone"),
      (.arrived, "answer")),
    Way(
      "the tier has something else", (.missedMaySearch, "search"), (.filled, "look up"),
      (.missedMayBoth, "send alone"), (.arrived, "answer")),
    Way(
      "a leader searches the tier", (.missedMayBoth, "join"), (.leads, "search"),
      (.notFilled, "send for all"), (.arrived, "answer")),
    Way(
      "a leader finds something else in the tier", (.missedMayBoth, "join"), (.leads, "search"),
      (.filled, "look up"), (.missedMayBoth, "send for all"), (.arrived, "answer")),
    Way(
      "a leader's key is another one after the tier", (.missedMayBoth, "join"), (.leads, "search"),
      (.filled, "look up"), (.missedOtherKey, "send alone"), (.arrived, "answer")),
    Way(
      "a leader's fetch is not shareable after the tier", (.missedMayBoth, "join"), (.leads, "search"),
      (.filled, "look up"), (.missed, "send alone"), (.arrived, "answer")),
    Way(
      "a late leader searches the tier", (.missedMayBoth, "join"), (.leadsLate, "look up"),
      (.missedMayBoth, "search"), (.filled, "look up"), (.found, "serve")),
  ]

  @Test("Each event has one action", arguments: ways)
  func table(_ way: Way) throws {
    let parts = try Parts()
    var machine = Machine()
    for (index, (step, expected)) in way.steps.enumerated() {
      let action = machine.handle(Self.event(step, parts))
      #expect(Self.name(action) == expected, "step \(index + 1) of \(way.name)")
      let isLast = index == way.steps.count - 1
      #expect(machine.isAnswered == isLast)
    }
  }

  @Test("A request whose caller can wait no longer neither waits nor searches the tier")
  func overdue() throws {
    let parts = try Parts()
    var machine = Machine(.overdue)
    #expect(Self.name(machine.handle(Self.event(.missedMayBoth, parts))) == "send alone")
    #expect(Self.name(machine.handle(Self.event(.transportFailed, parts))) == "fail")
    #expect(machine.isAnswered)
  }

  @Test("A request that waited for a response looks it up with the times of that fetch, and only then")
  func awaited() throws {
    let parts = try Parts()
    var machine = Machine()
    for step in [Step.missedMayWait, .follows, .stored] {
      #expect(machine.awaited == nil)
      _ = machine.handle(Self.event(step, parts))
    }
    #expect(machine.awaited?.response == parts.times.response)
    _ = machine.handle(Self.event(.found, parts))
    #expect(machine.awaited == nil)
  }

  /// The events that may follow an action.
  private static func events(after action: Machine.Action) -> [Step] {
    switch action {
    case .lookUp:
      [
        .found, .foundOnDisk, .refused, .missed, .missedMayWait, .missedMaySearch, .missedMayBoth,
        .missedOtherKey,
      ]
    case .read: [.read, .unreadable]
    case .join: [.leads, .leadsLate, .follows]
    case .wait(_, _, mayRead: true):
      [
        .readable, .whenStored, .notForThis, .stored, .notShared, .abandoned, .failed,
        .failedWithFallback, .overdue, .cancelled,
      ]
    case .wait: [.stored, .notShared, .abandoned, .failed, .failedWithFallback, .overdue, .cancelled]
    case .search: [.filled, .notFilled]
    case .send: [.arrived, .transportFailed]
    case .serve, .refuse, .answer, .fallBack, .fail: []
    }
  }

  @Test("Every way ends in one answer, with one search and one request at most, and ends each fetch it leads")
  func randomWalk() async throws {
    for seed in 0..<2000 {
      let parts = try Parts()
      var random = SplitMix64(seed: UInt64(seed))
      var machine = Machine()
      var (action, searches, sends, failures) = (Machine.Action.lookUp, 0, 0, 0)
      // A follower of the fetch that the request leads.
      var follower: Fetch.Claim?
      while let step = Self.events(after: action).randomElement(using: &random) {
        #expect(!machine.isAnswered)
        let event: Machine.Event
        switch step {
        case .leads, .leadsLate:
          let (claim, isLeader) = parts.table.join(FetchKey(key: parts.key))
          #expect(isLeader, "no fetch that it led before is left")
          follower = parts.table.join(FetchKey(key: parts.key)).claim
          event = .leads(claim, isLate: step == .leadsLate)
        default: event = Self.event(step, parts)
        }
        if step == .failed { failures += 1 }
        action = machine.handle(event)
        if case .search = action { searches += 1 }
        if case .send(_, let claim, _, _) = action {
          sends += 1
          claim?.fetch.finish(.notShared)
        }
      }
      #expect(machine.isAnswered)
      #expect(searches <= 1 && sends <= 1 && failures <= 2)
      // The action has the claim that the machine had.
      action = .lookUp
      #expect(parts.table.count == 0)
      if let follower {
        guard case .ended = await follower.follow() else {
          Issue.record("the fetch has not ended")
          return
        }
      }
    }
  }
}

extension RequestMachine {
  fileprivate var isAnswered: Bool { if case .answered = state { true } else { false } }
}
