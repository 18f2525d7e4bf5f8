// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import Synchronization

/// A flight is one request to the origin, and the client requests that share it. Comments also call it a fetch.
///
/// A flight *lands* when its result is known to the followers.
///
/// The request runs in its own task, so cancelling one caller does not affect another. Each caller owns a
/// ``Claim`` for as long as it waits or reads. The task is cancelled when the last claim is released.
///
/// - The *leader* caused the request and gets its response, head first.
/// - *Followers* requested the same response while it was in flight (RFC 9111 §4, collapsed requests). A follower reads
///   the content while it arrives, or waits until the response is stored and looks up the store again. Otherwise it
///   learns that it cannot share the response.
///
/// The flight owns the transfer. Only the readers own the flight: neither the transfer nor the leader's response does.
final class Flight: Sendable {
  /// The result for the followers.
  enum Landing: Sendable {
    /// All changes to the store are done: look up the store again. The origin answered with this status code.
    case stored(status: Int, at: ExchangeTimes)
    /// The response is being stored, and its content can be read meanwhile.
    case shared(SharedResponse)
    /// Only the leader may use the response.
    case notShared
    /// The leader was cancelled before it had a response, and only it could send the request.
    case abandoned
    /// The origin was unreachable, or the response ended early.
    case failed(any Error)
    /// The follower has waited for as long as it may.
    case overdue
    /// The follower itself was cancelled.
    case cancelled
  }

  /// The result for the leader.
  struct Delivery: Sendable {
    var response: CachedResponse
    /// The leader's reader of the content, if the content arrives after the head.
    var reading: (transfer: Transfer, reader: Transfer.ReaderID)?
  }

  private enum Leader {
    case expected
    case waiting(CheckedContinuation<Delivery, any Error>)
    case delivered(Result<Delivery, any Error>)
    /// The leader has its response, or was cancelled, or did not exist.
    case gone
  }

  private struct Follower {
    var continuation: CheckedContinuation<Landing, Never>
    var mayShare: Bool
  }

  private struct State {
    var claims = 0
    var task: Task<Void, Never>?
    /// Whether the task was cancelled because no caller wanted its result.
    var isAbandoned = false
    var leader: Leader
    var followers: [Int: Follower] = [:]
    /// Ends the waiting of the followers.
    var timer: Task<Void, Never>?
    var lastFollower = 0
    var transfer: Transfer?
    var shared: SharedResponse?
    var landing: Landing?
    var span: (any Sendable)?
  }

  /// A caller's claim to a flight; the flight continues while at least one exists.
  final class Claim: Sendable {
    let flight: Flight

    /// The caller has already counted the claim.
    fileprivate init(counted flight: Flight) {
      self.flight = flight
    }

    deinit {
      flight.release()
    }
  }

  private let state: Mutex<State>
  /// What other requests must have to join it; `nil` if none can.
  let key: FetchKey?
  /// The moment when the fetch began, in the history of removals and invalidations; `nil` if other requests cannot join
  /// it.
  let start: RemovalToken?
  private let clock: any CacheClock
  /// Maximum time that a follower waits.
  private let patience: Duration
  private let live = LiveCount(.flight)

  private init(
    key: FetchKey?, hasLeader: Bool, start: RemovalToken?, clock: any CacheClock, patience: Duration
  ) {
    self.key = key
    self.start = start
    self.clock = clock
    self.patience = patience
    state = Mutex(State(claims: 1, leader: hasLeader ? .expected : .gone))
  }

  /// Makes a flight with its first claim: the leader's, or that of the task if no caller waits for it.
  static func make(
    for key: FetchKey? = nil, hasLeader: Bool = true, at start: RemovalToken? = nil, on clock: any CacheClock,
    patience: Duration = .seconds(5)
  ) -> Claim {
    Claim(
      counted: Flight(key: key, hasLeader: hasLeader, start: start, clock: clock, patience: patience))
  }

  // MARK: - Claims

  /// Returns a claim for another caller, or `nil` if the fetch was abandoned.
  func claim() -> Claim? {
    let isClaimed = state.withLock { state in
      if !state.isAbandoned { state.claims += 1 }
      return !state.isAbandoned
    }
    return isClaimed ? Claim(counted: self) : nil
  }

  private func release() {
    let isLast = state.withLock { state in
      state.claims -= 1
      return state.claims == 0
    }
    guard isLast else { return }
    if state.withLock({ $0.transfer })?.isWorthFinishing ?? false {
      // The time that a live connection needs for the rest.
      Task { [self] in
        try? await clock.sleep(for: .seconds(1))
        abandon()
      }
    } else {
      abandon()
    }
  }

  /// Abandons the request unless a caller wants its response.
  private func abandon() {
    state.withLock { state in
      guard state.claims == 0 else { return nil as Task<Void, Never>? }
      state.isAbandoned = true
      return state.task
    }?.cancel()
  }

  /// Whether the request was abandoned: the next one for the same key needs its own fetch.
  var isAbandoned: Bool { state.withLock { $0.isAbandoned } }

  /// Whether nothing of the response has arrived.
  var isSilent: Bool { state.withLock { $0.transfer == nil && $0.landing == nil } }

  /// The context of the span of the request to the origin, for links to it; `nil` without a tracer.
  var span: (any Sendable)? {
    get { state.withLock { $0.span } }
    set { state.withLock { $0.span = newValue } }
  }

  /// How many callers want the response, not counting the first.
  var followerCount: Int { state.withLock { Swift.max(0, $0.claims - 1) } }

  // MARK: - The task

  func run(on executor: (any TaskExecutor)? = nil, _ body: @escaping @Sendable (Flight) async -> Void) {
    let task = Task(executorPreference: executor) { await body(self) }
    state.withLock { state in
      state.task = task
      return state.isAbandoned
    } ? task.cancel() : ()
  }

  /// Whether the leader still waits for its response.
  var hasLeader: Bool { state.withLock { if case .gone = $0.leader { false } else { true } } }

  /// Gives the response to the leader.
  func deliver(_ result: Result<Delivery, any Error>) {
    let leader = state.withLock { state in
      let leader = state.leader
      switch leader {
      case .expected: state.leader = .delivered(result)
      case .waiting: state.leader = .gone
      case .delivered, .gone: break
      }
      return leader
    }
    switch leader {
    case .waiting(let continuation): continuation.resume(with: result)
    case .gone: Self.discard(result)
    case .expected, .delivered: break
    }
  }

  /// Releases the result in place of a leader that no longer exists.
  private static func discard(_ result: Result<Delivery, any Error>) {
    if case .success(let delivery) = result, let (transfer, reader) = delivery.reading {
      transfer.remove(reader)
    }
  }

  /// Continues the transfer for the followers, present and future.
  ///
  /// - Parameter shared: the response for followers to read; `nil` if they must wait until it is stored.
  func begin(_ transfer: Transfer, shared: SharedResponse?) {
    let followers = state.withLock { state in
      guard state.landing == nil else { return [CheckedContinuation<Landing, Never>]() }
      state.transfer = transfer
      state.shared = shared
      let ready = state.followers.filter { shared != nil && $0.value.mayShare }
      for number in ready.keys { state.followers[number] = nil }
      transfer.changeWaiters(by: state.followers.count)
      return ready.values.map(\.continuation)
    }
    guard let shared else { return }
    for follower in followers { follower.resume(returning: .shared(shared)) }
  }

  /// Gives the result to all followers, present and future. Only the first call counts.
  func land(_ landing: Landing) {
    let followers = state.withLock { state in
      guard state.landing == nil else { return [CheckedContinuation<Landing, Never>]() }
      state.landing = landing
      state.timer?.cancel()
      state.timer = nil
      defer { (state.transfer, state.shared) = (nil, nil) }
      return takeFollowers(&state)
    }
    for follower in followers { follower.resume(returning: landing) }
  }

  private func takeFollowers(_ state: inout State) -> [CheckedContinuation<Landing, Never>] {
    defer { state.followers = [:] }
    state.transfer?.changeWaiters(by: -state.followers.count)
    return state.followers.values.map(\.continuation)
  }

  /// Begins to measure how long the followers wait. The first of them waits longest, so one timer is enough.
  private func startTimer(_ state: inout State) {
    guard state.timer == nil else { return }
    let (clock, patience) = (clock, patience)
    state.timer = Task { [weak self] in
      guard (try? await clock.sleep(for: patience)) != nil else { return }
      self?.endWaiting()
    }
  }

  private func endWaiting() {
    let followers = state.withLock { state in
      state.timer = nil
      return takeFollowers(&state)
    }
    for follower in followers { follower.resume(returning: .overdue) }
  }

  // MARK: - The callers

  /// Waits for the leader's response.
  func response() async throws -> Delivery {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let result: Result<Delivery, any Error>? = state.withLock { state in
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
      let leader = state.withLock { state in
        defer { state.leader = .gone }
        return state.leader
      }
      switch leader {
      case .waiting(let continuation): continuation.resume(throwing: CancellationError())
      case .delivered(let result): Self.discard(result)
      case .expected, .gone: break
      }
    }
  }

  /// Waits for the result, or for a response that can be read while it arrives.
  ///
  /// - Parameter mayShare: whether the caller can use the latter.
  func follow(mayShare: Bool = false) async -> Landing {
    let number = state.withLock { state in
      state.lastFollower += 1
      return state.lastFollower
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let landing: Landing? = state.withLock { state in
          if Task.isCancelled { return .cancelled }
          if let landing = state.landing { return landing }
          if mayShare, let shared = state.shared { return .shared(shared) }
          state.followers[number] = Follower(continuation: continuation, mayShare: mayShare)
          state.transfer?.changeWaiters(by: 1)
          startTimer(&state)
          return nil
        }
        if let landing { continuation.resume(returning: landing) }
      }
    } onCancel: {
      state.withLock { state in
        guard let follower = state.followers.removeValue(forKey: number) else { return nil as Follower? }
        state.transfer?.changeWaiters(by: -1)
        return follower
      }?.continuation.resume(returning: .cancelled)
    }
  }
}
