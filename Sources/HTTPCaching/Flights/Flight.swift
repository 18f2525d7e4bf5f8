// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheStore
import Synchronization

/// One request to the origin, and the callers that want its response.
///
/// The request runs in a task of its own, so that no caller's cancellation reaches another. Each caller holds a ``Claim``
/// for as long as it waits or reads. The task is cancelled when the last claim goes.
///
/// - The *leader* caused the request and gets its response, head first.
/// - *Followers* asked for the same while it was in flight (RFC 9111 §4, collapsed requests). They read the content while
///   it arrives, or wait until the response is stored and look up the store again, or learn that they cannot share it.
///
/// The flight holds the transfer, and neither the transfer nor the leader's response holds the flight: the readers do.
final class Flight: Sendable {
  /// What followers learn.
  enum Landing: Sendable {
    /// What could be stored or updated has been: look up the store again. The origin answered with this status code.
    case stored(status: Int)
    /// The response is being stored, and its content can be read meanwhile.
    case shared(SharedResponse)
    /// The response is the leader's alone.
    case notShared
    /// The origin could not be reached, or the response broke off.
    case failed(any Error)
    /// The follower itself was cancelled.
    case cancelled
  }

  /// What the leader gets.
  struct Delivery: Sendable {
    var response: CachedResponse
    /// Where the leader reads the content, if that arrives after the head.
    var reading: (transfer: Transfer, reader: Transfer.ReaderID)?
  }

  private enum Leader {
    case expected
    case waiting(CheckedContinuation<Delivery, any Error>)
    case delivered(Result<Delivery, any Error>)
    /// It has its response, or was cancelled, or there never was one.
    case gone
  }

  private struct Follower {
    var continuation: CheckedContinuation<Landing, Never>
    var mayShare: Bool
  }

  private struct State {
    var claims = 0
    var task: Task<Void, Never>?
    /// Whether the task was cancelled because nobody wanted its result.
    var isAbandoned = false
    var leader: Leader
    var followers: [Int: Follower] = [:]
    var lastFollower = 0
    var transfer: Transfer?
    var shared: SharedResponse?
    var landing: Landing?
  }

  /// A caller's share in a flight.
  final class Claim: Sendable {
    let flight: Flight

    /// The caller has counted it already.
    fileprivate init(counted flight: Flight) {
      self.flight = flight
    }

    deinit {
      flight.release()
    }
  }

  private let state: Mutex<State>
  /// The moment at which it began, in the history of what is removed and marked; `nil` if no other request joins it.
  let start: RemovalToken?
  private let live = LiveCount(.flight)

  private init(hasLeader: Bool, start: RemovalToken?) {
    self.start = start
    state = Mutex(State(claims: 1, leader: hasLeader ? .expected : .gone))
  }

  /// A new flight with its first claim: the leader's, or that of the task where no caller waits for it.
  static func make(hasLeader: Bool = true, at start: RemovalToken? = nil) -> Claim {
    Claim(counted: Flight(hasLeader: hasLeader, start: start))
  }

  // MARK: - Claims

  /// Another caller's share; `nil` if the flight was given up.
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
      // As long as a connection that is alive needs for the rest.
      Task { [self] in
        try? await Task.sleep(for: .seconds(1))
        abandon()
      }
    } else {
      abandon()
    }
  }

  /// Gives the request up unless somebody wants its response.
  private func abandon() {
    state.withLock { state in
      guard state.claims == 0 else { return nil as Task<Void, Never>? }
      state.isAbandoned = true
      return state.task
    }?.cancel()
  }

  /// Whether the request was given up: the next one for the same key needs a flight of its own.
  var isAbandoned: Bool { state.withLock { $0.isAbandoned } }

  /// How many callers want the response, besides the first.
  var followerCount: Int { state.withLock { Swift.max(0, $0.claims - 1) } }

  // MARK: - The task

  func run(_ body: @escaping @Sendable (Flight) async -> Void) {
    let task = Task(executorPreference: BlockingExecutor.shared) { await body(self) }
    state.withLock { state in
      state.task = task
      return state.isAbandoned
    } ? task.cancel() : ()
  }

  /// Whether the leader still waits for its response.
  var hasLeader: Bool { state.withLock { if case .gone = $0.leader { false } else { true } } }

  /// Gives the leader its response.
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

  /// Takes the place of a leader that is gone.
  private static func discard(_ result: Result<Delivery, any Error>) {
    if case .success(let delivery) = result, let (transfer, reader) = delivery.reading {
      transfer.remove(reader)
    }
  }

  /// Has the transfer go on for the followers, present and future.
  ///
  /// - Parameter shared: the response as followers may read it; `nil` if they have to wait until it is stored.
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

  /// Tells all followers, present and future, how it ended. Only the first call counts.
  func land(_ landing: Landing) {
    let followers = state.withLock { state in
      guard state.landing == nil else { return [CheckedContinuation<Landing, Never>]() }
      state.landing = landing
      state.transfer?.changeWaiters(by: -state.followers.count)
      (state.transfer, state.shared) = (nil, nil)
      defer { state.followers = [:] }
      return state.followers.values.map(\.continuation)
    }
    for follower in followers { follower.resume(returning: landing) }
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

  /// Waits for the landing, or for a response that can be read.
  ///
  /// - Parameter mayShare: whether the latter is of use.
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
