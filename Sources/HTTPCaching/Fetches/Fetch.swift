// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheEngine
import HTTPCacheStore

/// What sends a request, and can stop.
package protocol Cancellable: Sendable {
  func cancel()
}

extension Task: Cancellable {}

/// A fetch is one request to the origin, and the client requests that share it.
///
/// The request runs in its own task, so cancelling one caller does not affect another. Each caller owns a ``Claim`` for as
/// long as it waits or reads. The task is cancelled when the last claim is released.
///
/// - The *leader* caused the request and gets its response, head first.
/// - *Followers* requested the same response while it was in flight (RFC 9111 §4, collapsed requests). A follower reads
///   the content while it arrives, or waits until the response is stored and looks up the store again. Otherwise it
///   learns that it cannot share the response.
///
/// **The end.** ``finish(_:)`` is the only end of the waiting: no further requests join, the followers learn the result,
/// and the lease of the shared tier ends unless the stored response has taken it. It is called at the latest when the task
/// ends, or when the leader's claim is released before the task begins. So no follower waits forever, and no lease is left.
/// (`deinit` would be too late: each follower has a claim.) The content may go on arriving for the leader.
///
/// **Ownership.** The task and the claims own the fetch. The transfer does not; a reader does, through its claim.
final class Fetch: Sendable {
  /// How a fetch ends for the requests that wait for it.
  enum Ending: Sendable {
    /// All changes to the store are done: look up the store again. The origin answered with this status code.
    case stored(status: Int, at: ExchangeTimes)
    /// Only the leader may use the response.
    case notShared
    /// There was no response, because only the leader could send the request, or no caller wanted the response any more.
    case abandoned
    /// The origin was unreachable, or the response ended early.
    case failed(any Error)
  }

  /// What a follower has waited for.
  enum Waited: Sendable {
    case ended(Ending)
    /// The response is being stored, and its content can be read meanwhile.
    case arriving(Arriving)
    /// The follower has waited for as long as it may.
    case overdue
    /// The follower itself was cancelled.
    case cancelled
  }

  /// A response whose content followers may read while it is being stored.
  typealias Arriving = (response: StoredResponse, transfer: Transfer, settlement: Settlement)

  private enum Work {
    /// The request is not sent yet.
    case none
    case running(any Cancellable)
    /// Cancelled, because no caller wants the response.
    case abandoned
  }

  private enum Phase {
    /// Nothing of the response has arrived.
    case silent
    /// The content arrives. Followers read it if they may, and otherwise wait until it is stored.
    case arriving(Transfer, readable: Arriving?)
    case ended(Ending)
  }

  private enum Leader {
    case expected
    case waiting(CheckedContinuation<CachedResponse, any Error>)
    case delivered(Result<CachedResponse, any Error>)
    /// The leader has its response, or was cancelled, or did not exist.
    case gone
  }

  private struct Follower {
    var continuation: CheckedContinuation<Waited, Never>
    var mayRead: Bool
    /// When it has waited for as long as it may.
    var end: Timestamp
  }

  private struct State {
    var claims = 1
    /// How many of the claims belong to followers.
    var followerClaims = 0
    var work = Work.none
    var phase = Phase.silent
    var leader: Leader
    var followers: [Int: Follower] = [:]
    var lastFollower = 0
    /// Ends the waiting of the followers.
    var timer: Task<Void, Never>?
    /// The lease of the shared tier under which the request is sent.
    var lease: LeaseHold?
    var span: (any Sendable)?

    /// The content that arrives for the followers.
    var transfer: Transfer? { if case .arriving(let transfer, _) = phase { transfer } else { nil } }

    mutating func takeFollowers() -> [Follower] {
      defer { followers = [:] }
      transfer?.changeWaiters(by: -followers.count)
      return Array(followers.values)
    }
  }

  /// A caller's claim to a fetch; the fetch continues while at least one exists.
  final class Claim: Sendable {
    let fetch: Fetch
    /// When a follower has waited for as long as it may; `nil` for the leader.
    private let end: Timestamp?

    /// The caller has already counted the claim.
    fileprivate init(counted fetch: Fetch, until end: Timestamp? = nil) {
      (self.fetch, self.end) = (fetch, end)
    }

    deinit {
      fetch.release(isLeader: end == nil)
    }

    /// Waits for the end, or for a response that can be read while it arrives. A leader does not wait.
    ///
    /// - Parameter mayRead: whether the caller can use the latter.
    func follow(mayRead: Bool = false) async -> Waited {
      guard let end else { return .overdue }
      return await fetch.follow(until: end, mayRead: mayRead)
    }
  }

  private let state: Mutex<State>
  private let number = Fetch.count.wrappingAdd(1, ordering: .relaxed).newValue
  private static let count = Atomic(0)
  /// What other requests must have to join it; `nil` if none can.
  let key: FetchKey?
  /// The moment when the fetch began, in the history of removals and invalidations; `nil` if other requests cannot join
  /// it.
  let start: RemovalToken?
  private let table: FetchTable
  private let live = LiveCount(.fetch)

  private init(key: FetchKey?, hasLeader: Bool, start: RemovalToken?, in table: FetchTable) {
    self.key = key
    self.start = start
    self.table = table
    state = Mutex(State(leader: hasLeader ? .expected : .gone))
  }

  /// Makes a fetch with its first claim: the leader's, or that of the task if no caller waits for it.
  static func make(
    for key: FetchKey? = nil, hasLeader: Bool = true, at start: RemovalToken? = nil, in table: FetchTable
  ) -> Claim {
    Claim(counted: Fetch(key: key, hasLeader: hasLeader, start: start, in: table))
  }

  // MARK: - Claims

  /// Returns a claim for another caller, or a further one for the leader; `nil` if the fetch was abandoned.
  func claim(isLeader: Bool = false) -> Claim? {
    let isClaimed = state.withLock { state in
      if case .abandoned = state.work { return false }
      state.claims += 1
      if !isLeader { state.followerClaims += 1 }
      return true
    }
    guard isClaimed else { return nil }
    return Claim(counted: self, until: isLeader ? nil : table.clock.now.advanced(by: table.patience))
  }

  private func release(isLeader: Bool) {
    let (isLast, isUnsent, transfer) = state.withLock { state in
      state.claims -= 1
      if !isLeader { state.followerClaims -= 1 }
      let isUnsent = if case .none = state.work { true } else { false }
      return (state.claims == 0, isUnsent, state.transfer)
    }
    // The leader found its answer elsewhere.
    if isLeader, isUnsent { finish(.notShared) }
    guard isLast else { return }
    if transfer?.isWorthFinishing ?? false {
      // The time that a live connection needs for the rest.
      Task { [self] in
        try? await table.clock.sleep(for: .seconds(1))
        abandon()
      }
    } else {
      abandon()
    }
  }

  /// Abandons the request unless a caller wants its response.
  private func abandon() {
    state.withLock { state in
      guard state.claims == 0 else { return nil as (any Cancellable)? }
      defer { state.work = .abandoned }
      return if case .running(let work) = state.work { work } else { nil }
    }?.cancel()
  }

  /// Whether the request was abandoned: the next one for the same key needs its own fetch.
  var isAbandoned: Bool { state.withLock { if case .abandoned = $0.work { true } else { false } } }

  /// The context of the span of the request to the origin, for links to it; `nil` without a tracer.
  var span: (any Sendable)? {
    get { state.withLock { $0.span } }
    set { state.withLock { $0.span = newValue } }
  }

  /// Whether the current task runs in the transport of this fetch, and must not wait for it.
  var isEnclosing: Bool { EnclosingFetches.current.contains(number) }

  /// How many callers want the response, not counting the leader.
  var followerCount: Int { state.withLock { $0.followerClaims } }

  // MARK: - The task

  /// Sends the request, in a task of its own.
  ///
  /// - Parameters:
  ///   - executor: runs the task; `nil` for Swift's own.
  ///   - lease: the lease of the shared tier under which the request is sent.
  func run(
    on executor: (any TaskExecutor)? = nil, under lease: LeaseHold? = nil,
    _ body: @escaping @Sendable (Fetch) async -> Void
  ) {
    self.lease = lease
    let task = Task(executorPreference: executor) { [self] in
      let enclosing = EnclosingFetches.current.adding(number)
      await EnclosingFetches.$current.withValue(enclosing) { await body(self) }
      finish(.abandoned)
      deliver(.failure(CancellationError()))
    }
    run(task)
  }

  /// Records what sends the request, to cancel it when no caller wants the response.
  func run(_ work: any Cancellable) {
    let isAbandoned = state.withLock { state in
      if case .abandoned = state.work { return true }
      state.work = .running(work)
      return false
    }
    if isAbandoned { work.cancel() }
  }

  /// Whether the leader still waits for its response.
  var hasLeader: Bool { state.withLock { if case .gone = $0.leader { false } else { true } } }

  /// Gives the response to the leader.
  func deliver(_ result: Result<CachedResponse, any Error>) {
    let waiting: CheckedContinuation<CachedResponse, any Error>? = state.withLock { state in
      switch state.leader {
      case .expected: state.leader = .delivered(result)
      case .waiting(let continuation):
        state.leader = .gone
        return continuation
      case .delivered, .gone: break
      }
      return nil
    }
    waiting?.resume(with: result)
  }

  /// Lets the followers read the content, or wait until it is stored.
  ///
  /// - Parameter readable: the response for followers to read; `nil` if they must wait.
  func begin(_ transfer: Transfer, readable: Arriving?) {
    let ready = state.withLock { state in
      guard case .silent = state.phase else { return [Follower]() }
      state.phase = .arriving(transfer, readable: readable)
      let ready = state.followers.filter { readable != nil && $0.value.mayRead }
      for number in ready.keys { state.followers[number] = nil }
      transfer.changeWaiters(by: state.followers.count)
      return Array(ready.values)
    }
    guard let readable else { return }
    for follower in ready { follower.continuation.resume(returning: .arriving(readable)) }
  }

  /// The lease of the shared tier under which the request is sent; `nil` without one, and after the end.
  var lease: LeaseHold? {
    get { state.withLock { $0.lease } }
    set { state.withLock { $0.lease = newValue } }
  }

  /// Ends the fetch for the requests that wait for it, and for those that come. Only the first call counts.
  func finish(_ ending: Ending) {
    typealias Waiting = (followers: [Follower], timer: Task<Void, Never>?, lease: LeaseHold?)
    let waiting = state.withLock { state -> Waiting? in
      if case .ended = state.phase { return nil }
      defer { state.phase = .ended(ending) }
      return (state.takeFollowers(), state.timer.take(), state.lease.take())
    }
    guard let waiting else { return }
    table.close(self)
    waiting.timer?.cancel()
    for follower in waiting.followers { follower.continuation.resume(returning: .ended(ending)) }
    // Here the lease ends, unless the task that stores the response in the tier has it, too.
  }

  // MARK: - The callers

  /// Waits for the leader's response.
  func response() async throws -> CachedResponse {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let result: Result<CachedResponse, any Error>? = state.withLock { state in
          switch state.leader {
          case .expected:
            state.leader = .waiting(continuation)
            return nil
          case .delivered(let result):
            state.leader = .gone
            return result
          case .waiting, .gone: return .failure(CancellationError())
          }
        }
        if let result { continuation.resume(with: result) }
      }
    } onCancel: {
      leaderLeft()
    }
  }

  /// Records that the leader wants no response.
  func leaderLeft() {
    // An unused response is released outside the lock: its reader has a claim.
    let leader = state.withLock { state in
      defer { state.leader = .gone }
      return state.leader
    }
    if case .waiting(let continuation) = leader { continuation.resume(throwing: CancellationError()) }
  }

  private func follow(until end: Timestamp, mayRead: Bool) async -> Waited {
    let number = state.withLock { state in
      state.lastFollower += 1
      return state.lastFollower
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let waited: Waited? = state.withLock { state in
          if Task.isCancelled { return .cancelled }
          switch state.phase {
          case .ended(let ending): return .ended(ending)
          case .arriving(_, let readable?) where mayRead: return .arriving(readable)
          case .silent, .arriving: break
          }
          state.followers[number] = Follower(continuation: continuation, mayRead: mayRead, end: end)
          state.transfer?.changeWaiters(by: 1)
          startTimer(&state)
          return nil
        }
        if let waited { continuation.resume(returning: waited) }
      }
    } onCancel: {
      state.withLock { state in
        guard let follower = state.followers.removeValue(forKey: number) else { return nil as Follower? }
        state.transfer?.changeWaiters(by: -1)
        return follower
      }?.continuation.resume(returning: .cancelled)
    }
  }

  /// Begins to measure how long the followers wait, if there are any: one timer is enough for all.
  private func startTimer(_ state: inout State) {
    guard state.timer == nil, let end = state.followers.values.map(\.end).min() else { return }
    let (clock, rest) = (table.clock, end.millisecondsSince(table.clock.now))
    state.timer = Task { [weak self] in
      guard (try? await clock.sleep(for: .milliseconds(Swift.max(0, rest)))) != nil else { return }
      self?.endWaiting()
    }
  }

  private func endWaiting() {
    let now = table.clock.now
    let (overdue, isSilent) = state.withLock { state in
      state.timer = nil
      let overdue = state.followers.filter { $0.value.end <= now }
      for number in overdue.keys { state.followers[number] = nil }
      state.transfer?.changeWaiters(by: -overdue.count)
      startTimer(&state)
      let isSilent = if case .silent = state.phase { true } else { false }
      return (overdue.values, isSilent)
    }
    // The next request begins a new fetch, instead of waiting for an origin that is silent.
    if isSilent, !overdue.isEmpty { table.close(self) }
    for follower in overdue { follower.continuation.resume(returning: .overdue) }
  }
}
