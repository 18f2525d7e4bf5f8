// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheEngine
import HTTPCacheStore

/// A cache's relation to its shared tier: finding, storing in the background, removals to and from the log, and whether
/// the cache is in step.
///
/// **What is trusted.** ``mayTrust(revision:at:)`` decides for each stored response, with two loads and two comparisons.
/// Before the time in `trustedUntil` the node knows all removals, see ``StepState``. An entry whose revision is less than
/// `suspects` was stored, or last validated, before the node lost track of the log; it must be validated once.
///
/// **Removals of this node** are queued before the local removal begins, so that nothing they concern is taken from the
/// tier from then on. A task adds them to the log in order, and tries again until it succeeds.
///
/// **Ownership.** The cache owns the link. The tasks of the link own it only during one step, and the link knows the cache
/// through a weak reference.
final class SharedTierLink: Sendable {
  struct State {
    var step: StepState
    var index = RemovalIndex(first: 1)
    /// Records up to this number are in the store already, or concern nothing that is trusted.
    var appliesAfter: UInt64 = 0
    /// Open before the first heartbeat: the node does not know the log either.
    var breaker = CircuitBreaker(
      .init(failures: SharedTierLink.failureLimit, interval: .seconds(1)), isClosed: false)
    /// The removals that the tier has not been told yet, oldest first.
    var queue: [Removal] = []
    /// How many of them, the latest, are not in the file of removals.
    var unkept = 0
    /// The position of this node's latest removal in the log.
    var lastRemoval: SharedLogPosition?
    /// Removals that were added to the log a short time ago, for a new log that may lack them.
    var recent: [(removal: Removal, until: Int64)] = []
    var writes = SharedWriteQueue()
    var statistics = HTTPCache.SharedTierStatistics()
    /// When the failure of the tier was last reported, in milliseconds; `nil` while it works.
    var reportedFailure: Int64?
    /// Whether ``CacheEvent/Action/inStep`` was the last event of its kind.
    var wasInStep = false
    var isStopped = false
    var wakers: [Waker: CheckedContinuation<Void, Never>] = [:]
    var signals: Set<Waker> = []
    var tasks: [Task<Void, Never>] = []
    /// Requests that wait for another node's request to the origin.
    var followers: [UInt64: Task<Void, any Error>] = [:]
    /// The leases that this node has or may have, by owner, until the tier has answered that they are released.
    var leases: [UInt64: SharedLease] = [:]
    var leaving: Task<Void, Never>?
  }

  /// The tasks that wait for work.
  enum Waker: Hashable {
    case removals, writes, reclaiming
  }

  /// Failures at which requests stop using the tier, unless more calls were answered. Heartbeats are its probes.
  static let failureLimit = 5

  let options: HTTPCache.SharedTierOptions
  let tier: any SharedTier
  let store: CacheStore
  let clock: any CacheClock
  let hub: EventHub
  let node = UInt64.random(in: 1 ... .max)
  /// Whether responses, and not only removals, are shared.
  let sharesResponses: Bool
  let state: Mutex<State>
  let trustedUntil = Atomic<Int64>(.min)
  let suspects = Atomic<UInt64>(0)
  let suspectTime = Atomic<Int64>(.min)
  let positionFile: SharedPositionFile?
  let removalsFile: SharedRemovalsFile?
  let cache = Mutex<@Sendable () -> HTTPCache?>({ nil })

  init(
    _ options: HTTPCache.SharedTierOptions, store: CacheStore, clock: any CacheClock, hub: EventHub,
    sharesResponses: Bool
  ) {
    self.options = options
    tier = options.tier
    self.store = store
    self.clock = clock
    self.hub = hub
    self.sharesResponses = sharesResponses
    let file = store.directory.map { SharedPositionFile(in: $0) }
    if !store.syncsRemovals { file?.remove() }
    // If a loss of power can undo a removal, the position would be too far ahead afterwards.
    positionFile = store.syncsRemovals ? file : nil
    let kept = positionFile?.read()
    removalsFile = store.directory.map { SharedRemovalsFile(in: $0) }
    state = Mutex(State(step: StepState(keeping: kept?.position), queue: removalsFile?.read() ?? []))
    if let kept {
      suspects.store(kept.suspects, ordering: .relaxed)
      suspectTime.store(kept.suspectTime, ordering: .relaxed)
    } else if store.hasDisk {
      suspectEverything()
    }
  }

  /// Begins to follow the log, and to deliver removals and responses. Tests take these steps by hand.
  func start() {
    let loops: [@Sendable (SharedTierLink) async -> Void] = [
      { await $0.beat() }, { await $0.followOnce() }, { await $0.deliver() }, { await $0.write() },
      { await $0.reclaimAfterRemoval() },
    ]
    let tasks = loops.map { step in
      Task(executorPreference: store.hasDisk ? BlockingExecutor.shared : nil) { [weak self] in
        while !Task.isCancelled, let link = self, !link.isStopped { await step(link) }
      }
    }
    state.withLock { $0.tasks = tasks }
  }

  /// Ends following the log. The tier forgets this node and its leases, which the other nodes would wait for.
  func stop() {
    typealias Stopped = (tasks: [Task<Void, Never>], leases: [SharedLease], dropped: [SharedWriteQueue.Job])
    let stopped: Stopped? = state.withLock { state in
      guard !state.isStopped else { return nil }
      state.isStopped = true
      state.step.lost()
      trustedUntil.store(.min, ordering: .sequentiallyConsistent)
      let dropped = state.writes.removeAll()
      state.statistics.dropped += dropped.count
      defer { (state.tasks, state.leases) = ([], [:]) }
      return (state.tasks, Array(state.leases.values), dropped)
    }
    guard let stopped else { return }
    keepRemovals()
    for task in stopped.tasks { task.cancel() }
    wake(.removals)
    wake(.writes)
    wake(.reclaiming)
    state.withLock { [self] state in
      let (tier, node) = (tier, SharedNode(id: node, applied: nil, lifetime: options.trust))
      let leases = stopped.leases
      state.leaving = Task {
        do {
          for lease in leases { try await tier.release(lease, within: .seconds(1)) }
          try await tier.leave(node, within: .seconds(1))
        } catch {
          // Their time ends the leases and the registration.
        }
        await tier.close()
      }
    }
  }

  /// Waits until the tier has forgotten this node.
  func stopped() async { await state.withLock { $0.leaving }?.value }

  var isStopped: Bool { state.withLock { $0.isStopped } }

  // MARK: - Trust

  /// Whether a stored entry may be served without validation.
  @inline(__always)
  func mayTrust(revision: UInt64, at now: Timestamp) -> Bool {
    now.milliseconds < trustedUntil.load(ordering: .relaxed) && revision >= suspects.load(ordering: .relaxed)
  }

  /// Whether a stored response may be served without validation. Several responses may share the revision of an entry.
  func mayTrust(_ entry: StoredEntry, _ response: StoredResponse, at now: Timestamp) -> Bool {
    mayTrust(revision: entry.revision, at: now)
      && response.facts.responseTime.milliseconds >= suspectTime.load(ordering: .relaxed)
  }

  /// Whether the node knows all removals.
  func isInStep(at now: Timestamp) -> Bool { now.milliseconds < trustedUntil.load(ordering: .relaxed) }

  /// Makes everything that is stored, or in flight, need validation before its next use.
  func suspectEverything() {
    // Responses in flight are not stored: a fence for everything, and no entry to visit.
    store.sweep({ key, _ in key != nil }, in: []) { _ in .keep }
    suspectTime.store(clock.now.milliseconds, ordering: .sequentiallyConsistent)
    suspects.store(store.upcomingNumber, ordering: .sequentiallyConsistent)
  }

  /// Publishes the trust of the state, and makes the events for its changes. Call it after each change of the state.
  func publishTrust() {
    let now = clock.now.milliseconds
    let change: Bool? = state.withLock { state in
      if state.isStopped { return nil }
      trustedUntil.store(state.step.trustedUntil, ordering: .sequentiallyConsistent)
      let isInStep = now < state.step.trustedUntil
      guard isInStep != state.wasInStep else { return nil }
      state.wasInStep = isInStep
      return isInStep
    }
    switch change {
    case true?: hub.note(.inStep)
    case false?: hub.note(.outOfStep, OutOfStep("no answer from the tier for \(options.trust)"))
    case nil: break
    }
  }

  // MARK: - Calls and failures

  /// How often a failure that lasts is reported, in milliseconds: once an hour.
  private static let reportInterval: Int64 = 3_600_000

  /// Calls the tier for a request, which waits no longer than ``HTTPCache/SharedTierOptions/wait``.
  ///
  /// - Parameter body: calls the tier with this time limit.
  /// - Returns: `nil` if the tier fails, or does not answer in time.
  func ask<Result>(_ body: (any SharedTier, Duration) async throws -> Result) async -> Result? {
    do {
      let result = try await body(tier, options.wait)
      let now = clock.now.milliseconds * 1_000_000
      state.withLock { $0.breaker.succeeded(at: now) }
      return result
    } catch {
      if !(error is CancellationError) { failed(error) }
      return nil
    }
  }

  /// Takes note of a call that failed or took too long.
  ///
  /// - Parameter isHeartbeat: whether it was a heartbeat, which waits for longer than a request does: one that fails is
  ///   enough to stop using the tier.
  func failed(_ error: any Error, isHeartbeat: Bool = false) {
    let now = clock.now.milliseconds
    let (isReported, followers) = state.withLock { state -> (Bool, [Task<Void, any Error>]) in
      state.statistics.errors += 1
      let time = now * 1_000_000
      let isOpened = isHeartbeat ? state.breaker.open(at: time) : state.breaker.failed(at: time)
      // Before its first heartbeat was answered, the tier is not used: that must not be silent.
      guard isOpened || isHeartbeat else { return (false, []) }
      var followers: [Task<Void, any Error>] = []
      if isOpened {
        // Nothing would wake them before their time ends.
        followers = Array(state.followers.values)
        state.followers = [:]
      }
      if let reported = state.reportedFailure, now - reported < Self.reportInterval {
        return (false, followers)
      }
      state.reportedFailure = now
      return (true, followers)
    }
    for follower in followers { follower.cancel() }
    if isReported { hub.note(.sharedTierUnavailable, error) }
  }

  /// Whether requests use the tier now.
  func mayFind(at now: Timestamp) -> Bool {
    sharesResponses && isInStep(at: now) && state.withLock { $0.breaker.isClosed }
  }

  // MARK: - The loops

  /// Sends heartbeats, a quarter of the trust apart.
  private func beat() async {
    await heartbeat()
    try? await clock.sleep(for: min(.milliseconds(500), options.trust / 4))
  }

  private func followOnce() async {
    let before = state.withLock { $0.step.applied }
    if await !follow(waiting: .milliseconds(500)) { try? await clock.sleep(for: .milliseconds(20)) }
    // Tells the tier at once how far this node is, for a removal that waits for all nodes.
    if let before, state.withLock({ $0.step.applied }) != before { await heartbeat() }
  }

  private func deliver() async {
    if await !deliverRemovals() { try? await clock.sleep(for: .milliseconds(50)) }
    await waitFor(.removals)
  }

  private func write() async {
    await drainWrites()
    await waitFor(.writes)
  }

  private func reclaimAfterRemoval() async {
    await waitFor(.reclaiming)
    await reclaim()
    // A pass reads the heads of all entries: many removals in a row share one.
    try? await clock.sleep(for: .seconds(1))
  }

  func wake(_ waker: Waker) {
    state.withLock { state in
      let waiting = state.wakers.removeValue(forKey: waker)
      if waiting == nil { state.signals.insert(waker) }
      return waiting
    }?.resume()
  }

  /// Waits until there is work, or the link is stopped.
  private func waitFor(_ waker: Waker) async {
    await withCheckedContinuation { continuation in
      let goesOn = state.withLock { state in
        let hasWork =
          switch waker {
          case .removals: !state.queue.isEmpty
          case .writes: !state.writes.isEmpty
          case .reclaiming: false
          }
        if state.signals.remove(waker) != nil || hasWork || state.isStopped { return true }
        state.wakers[waker] = continuation
        return false
      }
      if goesOn { continuation.resume() }
    }
  }

  /// The state for the operator.
  var statistics: HTTPCache.SharedTierStatistics {
    let now = clock.now
    return state.withLock { state in
      var result = state.statistics
      result.isAvailable = state.breaker.isClosed
      result.isInStep = now.milliseconds < state.step.trustedUntil
      result.position = state.step.applied?.number
      result.last = state.step.last?.number
      result.queuedRemovals = state.queue.count
      result.queuedBytes = state.writes.bytes
      return result
    }
  }
}

/// Why a node does not know all removals.
struct OutOfStep: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
