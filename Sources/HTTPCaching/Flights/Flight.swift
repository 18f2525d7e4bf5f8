import HTTPCacheStore
import Synchronization

/// One request on its way to the origin, and all who wait for it.
///
/// The request runs in a task of its own, so that no waiter's cancellation reaches another: the task is cancelled only
/// when nobody is left who wants its result.
///
/// - The *leader* caused the request and gets its response, head first.
/// - *Followers* asked for the same while it was under way. They read what comes while it comes, where it is for them, or
///   wait until the response is stored and then ask the store; or they are told that there is nothing to share.
final class Flight: Sendable {
  /// What followers are told.
  enum Landing: Sendable {
    /// What could be stored or updated has been: ask the store again. The origin answered with this status code.
    case stored(status: Int)
    /// The response is on its way into the store, and can be read meanwhile. Who is told so is counted among those who
    /// want it, until ``Flight/leave()``.
    case shared(SharedTransfer)
    /// The response is the leader's alone.
    case notShared
    /// The origin could not be reached, or the response broke off.
    case failed(any Error)
    /// The follower itself was cancelled.
    case cancelled
  }

  private struct Follower {
    var continuation: CheckedContinuation<Landing, Never>
    var mayShare: Bool
  }

  private struct State {
    var landing: Landing?
    var followers: [Int: Follower] = [:]
    var nextFollower = 0
    var leader: CheckedContinuation<CachedResponse, any Error>?
    var response: Result<CachedResponse, any Error>?
    var leaderIsGone = false
    var task: Task<Void, Never>?
    var channel: BodyChannel?
    var transfer: SharedTransfer?
    /// How many read the transfer, or are about to.
    var readers = 0
    /// A request made for the store's sake is seen through though nobody waits.
    var isPinned: Bool

    /// Whether the task was cancelled because nobody waited: there is nothing to follow any more.
    var isAbandoned = false

    var isAwaited: Bool { !followers.isEmpty || readers > 0 }
    var isWanted: Bool { isPinned || !leaderIsGone || isAwaited }

    /// The task, if it is to be cancelled because nobody is left.
    mutating func taskToCancel() -> Task<Void, Never>? {
      guard !isWanted else { return nil }
      isAbandoned = true
      return task
    }
  }

  private let state: Mutex<State>
  /// The moment at which it began, in the history of what is removed and marked; `nil` of one that nobody else joins.
  let start: RemovalToken?

  /// - Parameter isPinned: whether the request is seen through though nobody waits for it.
  init(isPinned: Bool = false, at start: RemovalToken? = nil) {
    self.start = start
    state = Mutex(State(leaderIsGone: isPinned, isPinned: isPinned))
  }

  // MARK: - The task

  func run(_ body: @escaping @Sendable (Flight) async -> Void) {
    let task = Task(executorPreference: BlockingExecutor.shared) { await body(self) }
    state.withLock { state in
      state.task = task
      return state.taskToCancel()
    }?.cancel()
  }

  /// Makes the channel for the leader's body; `nil` if there is no leader to read it.
  ///
  /// - Parameter rest: brings the content from the store, from a byte on, when it is there.
  func openChannel(
    keeps: Int = BodyChannel.limit, rest: (@Sendable (Int) async throws -> MessageBody)? = nil
  ) -> BodyChannel? {
    let channel = BodyChannel(keeps: keeps, rest: rest) { [weak self] in self?.leaderLeft() }
    return state.withLock { state in
      guard !state.leaderIsGone else { return nil }
      if state.isAwaited { channel.stopWaiting() }
      state.channel = channel
      return channel
    }
  }

  /// Lets the followers, present and future, read what comes.
  func share(_ transfer: SharedTransfer) {
    let followers = state.withLock { state in
      guard state.landing == nil else { return [CheckedContinuation<Landing, Never>]() }
      state.transfer = transfer
      let waiting = state.followers.filter { $0.value.mayShare }
      for number in waiting.keys { state.followers[number] = nil }
      state.readers += waiting.count
      return waiting.values.map(\.continuation)
    }
    for follower in followers { follower.resume(returning: .shared(transfer)) }
  }

  /// Says that one who was told of the transfer does not read it, or not any more.
  func leave() {
    state.withLock { state in
      state.readers -= 1
      if !state.isAwaited { state.channel?.waitAgain() }
      return state.taskToCancel()
    }?.cancel()
  }

  /// Gives the leader its response.
  func deliver(_ response: Result<CachedResponse, any Error>) {
    state.withLock { state in
      if state.leader == nil, !state.leaderIsGone { state.response = response }
      defer { state.leader = nil }
      return state.leader
    }?.resume(with: response)
  }

  /// Tells all followers, present and future, how it ended; only the first call counts.
  func land(_ landing: Landing) {
    let followers = state.withLock { state in
      guard state.landing == nil else { return [CheckedContinuation<Landing, Never>]() }
      state.landing = landing
      defer { state.followers = [:] }
      return state.followers.values.map(\.continuation)
    }
    for follower in followers { follower.resume(returning: landing) }
  }

  // MARK: - Those who wait

  /// The leader's response. Cancelling the caller leaves the flight to its followers.
  func response() async throws -> CachedResponse {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let response: Result<CachedResponse, any Error>? = state.withLock { state in
          if state.leaderIsGone { return .failure(CancellationError()) }
          if let response = state.response {
            state.response = nil
            return response
          }
          state.leader = continuation
          return nil
        }
        if let response { continuation.resume(with: response) }
      }
    } onCancel: {
      leaderLeft()
    }
  }

  /// Waits for the landing, or for a transfer that can be read.
  ///
  /// - Parameter mayShare: whether the latter is of use.
  func follow(mayShare: Bool = false) async -> Landing {
    let number = state.withLock { state in
      state.nextFollower += 1
      return state.nextFollower
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let landing: Landing? = state.withLock { state in
          if Task.isCancelled { return .cancelled }
          // Before the landing, which tells of a cancellation that was not this follower's.
          if state.isAbandoned { return .notShared }
          if let landing = state.landing { return landing }
          if mayShare, let transfer = state.transfer {
            state.readers += 1
            state.channel?.stopWaiting()
            return .shared(transfer)
          }
          state.followers[number] = Follower(continuation: continuation, mayShare: mayShare)
          // Somebody else depends on the body now: the leader's pace must not hold it up.
          state.channel?.stopWaiting()
          return nil
        }
        if let landing { continuation.resume(returning: landing) }
      }
    } onCancel: {
      let (follower, task) = state.withLock { state in
        let follower = state.followers.removeValue(forKey: number)
        if !state.isAwaited { state.channel?.waitAgain() }
        return (follower, state.taskToCancel())
      }
      follower?.continuation.resume(returning: .cancelled)
      task?.cancel()
    }
  }

  private func leaderLeft() {
    let (leader, response, task) = state.withLock { state in
      state.leaderIsGone = true
      defer {
        state.leader = nil
        state.response = nil
      }
      return (state.leader, state.response, state.taskToCancel())
    }
    // A response that was not taken goes outside the lock: with its body it calls here again.
    withExtendedLifetime(response) {}
    leader?.resume(throwing: CancellationError())
    task?.cancel()
  }

  /// Whether the request was given up because nobody waited: those who come now need another.
  var isAbandoned: Bool { state.withLock { $0.isAbandoned } }

  /// How many wait for the landing.
  var followerCount: Int { state.withLock { $0.followers.count + $0.readers } }
}
