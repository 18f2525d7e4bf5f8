// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine

/// One request on its way to an answer: what was looked up for it, and what it has tried.
///
/// It belongs to the task that answers the request. It is a class because an async function keeps its own copies of what a
/// struct contains at every point where it may wait: as variables there, the same took 13 KB of each request.
final class RequestCourse {
  /// What a request does next.
  enum Step {
    /// It has its answer. As in the next case, a reference to it keeps the task small.
    indirect case answer(CachedResponse)
    /// It reads the beginning of a stored response's content from disk, and serves it if that is possible.
    indirect case begin(CacheEngine.Service, MessageBody)
    /// It waits for another request's fetch.
    case follow(Flight.Claim, PendingExchange)
    /// It looks in the shared tier, and leads the fetch if that has nothing. There is no claim yet if no other request may
    /// join.
    case share(PendingExchange, Flight.Claim?)
    /// It leads the fetch.
    case lead(PendingExchange, Flight.Claim)
    case lookUpAgain
  }

  let call: Call
  var lookup: Lookup
  /// When the request began: when its first step was decided.
  var start: Timestamp?
  /// How many fetches had ended before the store was looked up.
  let endCount: Int
  var collapsing = Collapsing.notTried
  /// A fetch that the request leads, before its request is sent.
  var led: (claim: Flight.Claim, key: CacheKey)?
  var hasLookedAgain = false
  var hasAskedTier = false
  /// Whether a fetch that it waited for has failed.
  var hasSeenFailure = false
  /// The times of the fetch that it waited for, if that response is stored.
  var awaited: ExchangeTimes?

  init(_ call: Call, _ lookup: Lookup, endCount: Int) {
    (self.call, self.lookup, self.endCount) = (call, lookup, endCount)
  }

  /// The stored responses, as they are judged for this request.
  var responses: [StoredResponse] {
    guard let awaited else { return lookup.candidates.responses }
    return lookup.candidates.responses.map { response in
      guard response.facts.responseTime == awaited.response else { return response }
      var response = response
      response.facts.leaveOutDelay(of: awaited)
      return response
    }
  }

  /// Takes the result of a fetch that the request has waited for.
  ///
  /// - Parameter forward: why the request would have gone to the origin.
  func note(_ landing: Flight.Landing, forward: CacheStatus.Forward?) {
    switch landing {
    case .stored(let status, let times):
      collapsing = .collapsed(forward: forward, status: status)
      if let start, start <= times.response { awaited = times }
    // One of the requests that waited leads the next fetch.
    case .abandoned: break
    case .failed: hasSeenFailure = true
    case .notShared, .shared, .overdue, .cancelled: collapsing = .inVain
    }
  }

  /// What goes to the origin.
  func pending(_ forwarding: CacheEngine.Forwarding) -> PendingExchange {
    PendingExchange(
      call: call, forwarding: forwarding, lookup: lookup,
      // It sends its own request, whatever it has waited for.
      collapsing: collapsing == .notTried ? .notTried : .inVain)
  }
}
