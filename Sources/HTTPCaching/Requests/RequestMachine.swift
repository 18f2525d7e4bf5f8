// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine

/// The way of one request from its lookup to its answer, as a state machine: it gets events and returns actions.
///
/// ```
/// lookingUp ──> answered                                      a stored response answers, or the request is refused
///    │  ▲
///    │  ├────────────── waiting <── joining (follows)         another request's fetch (RFC 9111 §4, collapsed requests)
///    │  └── searching <──┐             │ (leads)
///    ▼         │         └─────────────┤                      the shared tier
/// joining ─────┴───────────────────────┴──> forwarded ──> answered
/// ```
///
/// It has no task, clock or store: ``RequestRun`` performs the actions. After each action it gets exactly one event. Every
/// way ends with one action that gives the answer.
struct RequestMachine: Sendable {
  /// A request that no stored response can answer, as it was judged. A class, because states and actions contain it.
  final class Demand: Sendable {
    /// What goes to the origin.
    let forwarding: CacheEngine.Forwarding
    /// The key of the responses; `nil` if the request has none.
    let key: CacheKey?
    /// Whether the request may wait for an equal one, and others for it.
    let mayWait: Bool
    /// Whether the shared tier may have the response.
    let maySearch: Bool

    init(
      _ forwarding: CacheEngine.Forwarding, key: CacheKey?, mayWait: Bool = false, maySearch: Bool = false
    ) {
      (self.forwarding, self.key, self.mayWait, self.maySearch) = (forwarding, key, mayWait, maySearch)
    }
  }

  /// What the request has tried before it looks up the stored responses.
  enum Stage: Sendable {
    /// Nothing.
    case first
    /// It waited for a fetch that failed. It may wait for one more.
    case second
    /// It leads a fetch that others may have joined. Another fetch has ended since the last lookup.
    case leading(Fetch.Claim, CacheKey?)
    /// It waits for no other request, or no longer.
    ///
    /// - Parameter times: the times of the fetch that it waited for, if that response is stored.
    case alone(Collapsing, times: ExchangeTimes? = nil)
    /// Something was copied from the shared tier.
    ///
    /// - Parameter claim: the fetch that it leads, if others may have joined it.
    case filled(Fetch.Claim?, CacheKey?, Collapsing)
    /// Its caller can wait no longer.
    case overdue

    var collapsing: Collapsing {
      switch self {
      case .first, .second, .leading, .overdue: .notTried
      case .alone(let collapsing, _), .filled(_, _, let collapsing): collapsing
      }
    }
  }

  /// The states are those of a request.
  enum State: Sendable {
    /// The stored responses are looked up and judged (RFC 9111 §4).
    case lookingUp(Stage)
    /// A stored response answers, if the beginning of its content can be read from disk.
    indirect case reading(CacheEngine.Service, Stage)
    /// It joins the fetch of an equal request, or begins one.
    case joining(Demand, Stage)
    /// It waits for a fetch of another request.
    case waiting(Demand, Fetch.Claim, Stage)
    /// The shared tier is searched.
    case searching(Demand, Fetch.Claim?, Collapsing)
    /// Its own request was sent.
    case forwarded
    case answered
  }

  /// How a follower may use a response that is still arriving.
  enum Reading: Sendable {
    indirect case answer(CachedResponse)
    /// The response can answer when it is stored: it answers a range, or its beginning is no longer in memory.
    case whenStored
    /// The rules do not allow the response for this request, now or later.
    case notForThis
  }

  enum Event: Sendable {
    /// The engine chose a stored response.
    ///
    /// - Parameter isReady: whether its content can begin without the disk.
    indirect case found(CacheEngine.Service, isReady: Bool)
    /// The request must not go to the origin.
    indirect case refused(CacheEngine.Refusal)
    case missed(Demand)
    /// The content was read from disk; if it was unreadable, its entry has been dropped.
    case read(isReadable: Bool)
    /// - Parameter isLate: whether another fetch ended since the lookup, and may have stored the response.
    case leads(Fetch.Claim, isLate: Bool)
    case follows(Fetch.Claim)
    case arriving(Reading)
    /// - Parameter hasFallback: whether a stored response may be used if the fetch failed.
    case ended(Fetch.Ending, hasFallback: Bool = false)
    case overdue
    /// The caller was cancelled.
    case cancelled
    case filled
    case notFilled(LeaseHold?)
    /// The response to its own request.
    indirect case arrived(CachedResponse)
    case failed(any Error)
  }

  enum Action: Sendable {
    case lookUp
    indirect case read(CacheEngine.Service)
    case join(Demand)
    /// - Parameter mayRead: whether the request may use a response that is still arriving.
    case wait(Demand, Fetch.Claim, mayRead: Bool)
    case search(Demand)
    /// - Parameter claim: the fetch that it leads; `nil` if no other request may join.
    case send(Demand, Fetch.Claim?, Collapsing, LeaseHold?)
    /// Answers with the stored response.
    indirect case serve(CacheEngine.Service, Stage)
    indirect case refuse(CacheEngine.Refusal)
    indirect case answer(CachedResponse)
    /// Answers with a stored response in place of one that another request did not get, or fails.
    case fallBack(Demand, any Error)
    case fail(any Error)
  }

  private(set) var state: State

  init(_ stage: Stage = .first) { state = .lookingUp(stage) }

  /// The times of the fetch that the request waited for, if that response is stored: it is now looked up.
  var awaited: ExchangeTimes? { if case .lookingUp(.alone(_, let times)) = state { times } else { nil } }

  mutating func handle(_ event: Event) -> Action {
    switch (state, event) {
    case (.lookingUp(let stage), .found(let service, isReady: true)):
      return answer(.serve(service, stage))
    case (.lookingUp(let stage), .found(let service, isReady: false)):
      state = .reading(service, stage)
      return .read(service)
    case (.lookingUp, .refused(let refusal)): return answer(.refuse(refusal))
    case (.lookingUp(let stage), .missed(let demand)): return forward(demand, stage)

    case (.reading(let service, let stage), .read(isReadable: true)):
      return answer(.serve(service, stage))
    case (.reading(_, let stage), .read(isReadable: false)): return lookUp(stage)

    case (.joining(let demand, _), .leads(let claim, isLate: true)):
      return lookUp(.leading(claim, demand.key))
    case (.joining(let demand, _), .leads(let claim, isLate: false)): return forward(demand, claim, .notTried)
    case (.joining(let demand, let stage), .follows(let claim)):
      state = .waiting(demand, claim, stage)
      return .wait(demand, claim, mayRead: true)

    case (.waiting, .arriving(.answer(let response))): return answer(.answer(response))
    case (.waiting(let demand, let claim, _), .arriving(.whenStored)):
      return .wait(demand, claim, mayRead: false)
    case (.waiting(let demand, _, _), .ended(.stored(let status, let times), _)):
      let forward = demand.forwarding.reason.forward
      return lookUp(.alone(.collapsed(forward: forward, status: status), times: times))
    case (.waiting, .arriving(.notForThis)), (.waiting, .ended(.notShared, _)), (.waiting, .overdue):
      return lookUp(.alone(.inVain))
    // One of the requests that waited leads the next fetch.
    case (.waiting(_, _, let stage), .ended(.abandoned, _)): return lookUp(stage)
    case (.waiting(_, _, .first), .ended(.failed, hasFallback: false)): return lookUp(.second)
    case (.waiting(let demand, _, _), .ended(.failed(let error), _)): return answer(.fallBack(demand, error))
    case (.waiting, .cancelled): return answer(.fail(CancellationError()))

    case (.searching(let demand, let claim, let collapsing), .filled):
      return lookUp(.filled(claim, demand.key, collapsing))
    case (.searching(let demand, let claim, let collapsing), .notFilled(let lease)):
      return send(demand, claim, collapsing, lease)

    case (.forwarded, .arrived(let response)): return answer(.answer(response))
    case (.forwarded, .failed(let error)): return answer(.fail(error))

    case (.lookingUp, _), (.reading, _), (.joining, _), (.waiting, _), (.searching, _), (.forwarded, _),
      (.answered, _):
      preconditionFailure("a request in the state \(state) got the event \(event)")
    }
  }

  private mutating func lookUp(_ stage: Stage) -> Action {
    state = .lookingUp(stage)
    return .lookUp
  }

  private mutating func answer(_ action: Action) -> Action {
    state = .answered
    return action
  }

  /// Sends a request that no stored response can answer, or waits for an equal one.
  private mutating func forward(_ demand: Demand, _ stage: Stage) -> Action {
    switch stage {
    case .first where demand.mayWait, .second where demand.mayWait:
      state = .joining(demand, stage)
      return .join(demand)
    case .first, .second: return forward(demand, nil, .notTried)
    // If the key is another one now, the requests that have joined must send their own.
    case .leading(let claim, let key):
      return forward(demand, demand.mayWait && demand.key == key ? claim : nil, .notTried)
    case .alone(let collapsing, _): return forward(demand, nil, collapsing)
    case .filled(let claim, let key, let collapsing):
      return send(demand, demand.mayWait && demand.key == key ? claim : nil, collapsing, nil)
    case .overdue: return send(demand, nil, .notTried, nil)
    }
  }

  /// Searches the shared tier before the request is sent.
  private mutating func forward(_ demand: Demand, _ claim: Fetch.Claim?, _ collapsing: Collapsing) -> Action {
    guard demand.maySearch else { return send(demand, claim, collapsing, nil) }
    state = .searching(demand, claim, collapsing)
    return .search(demand)
  }

  private mutating func send(
    _ demand: Demand, _ claim: Fetch.Claim?, _ collapsing: Collapsing, _ lease: LeaseHold?
  ) -> Action {
    state = .forwarded
    return .send(demand, claim, collapsing.whenSent, lease)
  }
}
