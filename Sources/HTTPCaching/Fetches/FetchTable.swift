// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes

/// What requests must have in common to share a fetch.
struct FetchKey: Hashable, Sendable {
  let key: CacheKey
  /// The variants that the request selects, one for each list of names that `Vary` is known to nominate: a response to a
  /// request for another variant would be of no use.
  var variants: [VariantID] = []
}

/// The fetches that other requests may join, by what these must have in common: see ``Fetch``.
package final class FetchTable: Sendable {
  private let fetches = Monitor<[FetchKey: Fetch]>([:])
  let clock: any CacheClock
  /// Maximum time that a request waits for another.
  let patience: Duration
  /// Whether the cache serves many users.
  private let isShared: Bool
  /// Which of the last responses could be shared.
  let memory: SharingMemory
  /// The keys of the fetches that ended last, as hashes, each at the index of its number.
  private let ended = Mutex([Int](repeating: 0, count: 64))
  private let endings = Atomic<Int>(0)

  init(clock: any CacheClock, patience: Duration = .seconds(5), isShared: Bool = false) {
    self.clock = clock
    self.patience = patience
    self.isShared = isShared
    memory = SharingMemory(clock: clock)
  }

  /// Joins the fetch for a key, or makes a new one that the caller leads.
  ///
  /// A fetch that began before an invalidation continues for the callers that have joined it. The next request starts a
  /// new one.
  ///
  /// - Parameters:
  ///   - token: the present moment, for a new fetch.
  ///   - isOutdated: whether the key may have been removed since a fetch began.
  func join(
    _ key: FetchKey, at token: RemovalToken? = nil, isOutdated: (RemovalToken) -> Bool = { _ in false }
  ) -> (claim: Fetch.Claim, isLeader: Bool) {
    fetches.withLock { fetches in
      if let fetch = fetches[key], fetch.start.map(isOutdated) != true, let claim = fetch.claim() {
        return (claim, false)
      }
      // An abandoned or outdated fetch that this one replaces is owned by its task.
      let claim = Fetch.make(for: key, at: token, in: self)
      fetches[key] = claim.fetch
      return (claim, true)
    }
  }

  /// Starts a fetch that no caller waits for; returns `nil` if the key already has one that began after its last
  /// invalidation.
  func startInBackground(
    _ key: FetchKey, at token: RemovalToken, isOutdated: (RemovalToken) -> Bool = { _ in false }
  ) -> Fetch.Claim? {
    fetches.withLock { fetches in
      if let fetch = fetches[key], !fetch.isAbandoned, fetch.start.map(isOutdated) != true { return nil }
      let claim = Fetch.make(for: key, hasLeader: false, at: token, in: self)
      fetches[key] = claim.fetch
      return claim
    }
  }

  /// Lets no further requests join: the next request for the key starts a new fetch.
  func close(_ fetch: Fetch) {
    guard let key = fetch.key else { return }
    fetches.withLock { fetches in
      guard let index = fetches.index(forKey: key), fetches[index].value === fetch else { return }
      fetches.remove(at: index)
      ended.withLock { ended in
        let number = endings.load(ordering: .relaxed)
        ended[number % ended.count] = key.hashValue
        endings.store(number + 1, ordering: .releasing)
      }
    }
  }

  /// The number of fetches that have ended: a moment to record before the store is looked up.
  var endCount: Int {
    @inline(__always) get { endings.load(ordering: .acquiring) }
  }

  /// Whether a fetch for a key may have ended since a moment.
  ///
  /// The response of a fetch is stored before the fetch ends. A request that found neither a stored response nor a
  /// fetch may have looked up the store before that, so it looks again. If more fetches have ended than the table
  /// records, any of them may have been for the key.
  func mayHaveEnded(_ key: FetchKey, since endCount: Int) -> Bool {
    guard self.endCount != endCount else { return false }
    return ended.withLock { ended in
      let newer = endings.load(ordering: .relaxed) - endCount
      if newer > ended.count { return true }
      let hash = key.hashValue
      return (endCount..<endCount + newer).contains { ended[$0 % ended.count] == hash }
    }
  }

  /// Calls `body` with each fetch in flight.
  func each(_ body: (Fetch) -> Void) { fetches.withLock { $0.values.forEach(body) } }

  /// The number of fetches in flight.
  var count: Int { fetches.withLock { $0.count } }

  /// The number of requests that are coalesced with another.
  package var followerCount: Int { fetches.withLock { Self.followers($0) } }

  private static func followers(_ fetches: [FetchKey: Fetch]) -> Int {
    fetches.values.reduce(0) { $0 + $1.followerCount }
  }

  // MARK: - Waiting, for tests

  /// Returns when no fetch is in flight.
  package func emptied() async throws { try await fetches.wait { $0.isEmpty } }

  /// Returns when this many requests are coalesced with another.
  package func followers(_ count: Int) async throws {
    try await fetches.wait { Self.followers($0) >= count }
  }
}

/// A request for something that is not stored waits for an equal one in flight, if it can expect to use that response. The
/// page "CoalescedRequests" has a table.
extension FetchTable {
  /// Whether a request waits for an equal one in flight, and others for it.
  func mayWait(_ forwarding: CacheEngine.Forwarding, _ key: CacheKey) -> Bool {
    guard forwarding.isCollapsible else { return false }
    let hasCredentials = hasCredentials(forwarding)
    switch memory.sharing(of: key, withCredentials: hasCredentials) {
    case .never: return false
    case .always: return true
    // In a shared cache, few responses to requests with credentials may answer others (§3.5), and their senders must not
    // wait for each other. If one is stored, that is known.
    case nil: return !hasCredentials || forwarding.selected != nil
    }
  }

  /// Whether a request is known to get a response of its own, so that other nodes cannot have it either.
  func isAlone(_ forwarding: CacheEngine.Forwarding, _ key: CacheKey) -> Bool {
    memory.sharing(of: key, withCredentials: hasCredentials(forwarding)) == .never
  }

  /// Records whether a response can answer other requests.
  func note(
    _ isReusable: Bool, of key: CacheKey?, _ forwarding: CacheEngine.Forwarding, status: Int
  ) {
    guard let key, forwarding.isCollapsible else { return }
    let hasCredentials = hasCredentials(forwarding)
    if isReusable {
      memory.note(hasCredentials ? .always : nil, of: key, withCredentials: hasCredentials)
    } else {
      // A server error says little about the resource, and soon many may wait for the first response of an origin that works
      // again.
      memory.note(
        .never, of: key, withCredentials: hasCredentials,
        for: status < 500 ? SharingMemory.lifetime : SharingMemory.lifetimeOfError)
    }
  }

  /// Whether a request has credentials that separate it from others. A private cache has one user.
  private func hasCredentials(_ forwarding: CacheEngine.Forwarding) -> Bool {
    isShared && forwarding.hasAuthorization
  }
}

/// What the last response to a request says of the next one with the same key.
enum Sharing: Sendable {
  /// It could answer no other request.
  case never
  /// It answers others, too.
  case always
}

/// Remembers for a while whether responses could be shared, by key. Requests with credentials are remembered apart.
///
/// A key has one place among a fixed number, by its hash. If another key takes it, requests for the first one wait for each
/// other once more.
final class SharingMemory: Sendable {
  private struct Note {
    var hash = 0
    /// When it is forgotten, in milliseconds.
    var end = Int64.min
    var sharing: Sharing?
  }

  /// After this time, a resource may be another.
  static let lifetime = Duration.seconds(120)
  /// The same for what a server error (5xx) says.
  static let lifetimeOfError = Duration.seconds(10)
  private static let count = 4096

  /// Empty until the first note: most caches of an app need none.
  private let notes = Mutex<[Note]>([])
  private let clock: any CacheClock

  init(clock: any CacheClock) {
    self.clock = clock
  }

  /// Records what a response says; `nil` forgets what the last one said.
  ///
  /// - Parameter lifetime: after this time, it is forgotten.
  func note(
    _ sharing: Sharing?, of key: CacheKey, withCredentials: Bool,
    for lifetime: Duration = SharingMemory.lifetime
  ) {
    notes.withLock { notes in
      if notes.isEmpty {
        if sharing == nil { return }
        notes = Array(repeating: Note(), count: Self.count)
      }
      let (hash, index) = Self.place(of: key, withCredentials)
      if sharing != nil || notes[index].hash == hash {
        notes[index] = Note(
          hash: hash, end: clock.now.advanced(by: lifetime).milliseconds, sharing: sharing)
      }
    }
  }

  /// Returns what the last response said; `nil` if that is unknown.
  func sharing(of key: CacheKey, withCredentials: Bool) -> Sharing? {
    notes.withLock { notes in
      guard !notes.isEmpty else { return nil }
      let (hash, index) = Self.place(of: key, withCredentials)
      let note = notes[index]
      guard note.hash == hash, note.sharing != nil, note.end > clock.now.milliseconds else { return nil }
      return note.sharing
    }
  }

  private static func place(of key: CacheKey, _ withCredentials: Bool) -> (hash: Int, index: Int) {
    let hash = withCredentials ? ~key.hashValue : key.hashValue
    return (hash, Int(UInt(bitPattern: hash) % UInt(count)))
  }
}

extension CacheEngine.Forwarding {
  /// Whether this request may share the response to an equal request in flight.
  ///
  /// It may not if it requires a response made after it was sent (a reload, `no-cache`), or if every use requires its
  /// own revalidation, or if it forbids that its response is stored. The response to a range request serves only requests
  /// for that range or a part of it.
  var isCollapsible: Bool {
    guard original.method == .get || original.method.isQuery, !original.headerFields.contains(.range),
      !forbidsStoring, policy == .useProtocolCachePolicy || policy == .returnCacheDataElseLoad
    else { return false }
    switch reason {
    case .nothingStored, .noVariantMatches, .stale, .staleMustRevalidate, .storedInTheFuture,
      .storedUnconfirmed, .contentIncomplete:
      return true
    case .requestNoCache, .requestMaxAge, .requestMinFresh: return sharesReload
    default: return false
    }
  }
}

/// The fetches in whose transports the current task runs, by their numbers: a task that outlives a fetch must not retain
/// it.
///
/// A transport may send requests through the cache itself. Such a request must not wait for a fetch that waits for this
/// transport.
package struct EnclosingFetches: Sendable {
  @TaskLocal package static var current = EnclosingFetches()

  /// The number of the innermost fetch; 0 for none. Apart, because most requests need no array.
  private var innermost = 0
  private var others: [Int] = []

  func adding(_ number: Int) -> EnclosingFetches {
    var added = self
    if innermost != 0 { added.others.append(innermost) }
    added.innermost = number
    return added
  }

  func contains(_ number: Int) -> Bool { innermost == number || others.contains(number) }
}
