// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import Synchronization

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
    var breaker = TierBreaker()
    /// The removals that the tier has not been told yet, oldest first.
    var queue: [Removal] = []
    /// The position of this node's latest removal in the log.
    var lastRemoval: SharedLogPosition?
    /// Removals that were added to the log a short time ago, for a new log that may lack them.
    var recent: [(removal: Removal, until: Int64)] = []
    var writes = SharedWriteQueue()
    var statistics = HTTPCache.SharedTierStatistics()
    var isFailing = false
    /// Whether ``HTTPCache/SharedTierEvent/inStep`` was the last event of its kind.
    var wasInStep = false
    var isStopped = false
    var wakers: [Waker: CheckedContinuation<Void, Never>] = [:]
    var signals: Set<Waker> = []
    var tasks: [Task<Void, Never>] = []
    var leaving: Task<Void, Never>?
  }

  /// The tasks that wait for work.
  enum Waker: Hashable {
    case removals, writes
  }

  /// How long a removal may be added again to a new log.
  private static let recentMilliseconds: Int64 = 30_000
  private static let recentLimit = 1024
  /// Maximum queued removals; beyond it they become one of everything.
  private static let queueLimit = 4096

  let options: HTTPCache.SharedTierOptions
  let tier: any SharedTier
  let store: CacheStore
  let clock: any CacheClock
  let node = UInt64.random(in: 1 ... .max)
  /// Whether responses, and not only removals, are shared.
  let sharesResponses: Bool
  let state: Mutex<State>
  private let trustedUntil = Atomic<Int64>(.min)
  private let suspects = Atomic<UInt64>(0)
  private let suspectTime = Atomic<Int64>(.min)
  private let positionFile: SharedPositionFile?
  private let cache = Mutex<@Sendable () -> HTTPCache?>({ nil })

  init(
    _ options: HTTPCache.SharedTierOptions, store: CacheStore, clock: any CacheClock, sharesResponses: Bool
  ) {
    self.options = options
    tier = options.tier
    self.store = store
    self.clock = clock
    self.sharesResponses = sharesResponses
    positionFile = store.directory.map { SharedPositionFile(in: $0) }
    let kept = positionFile?.read()
    state = Mutex(State(step: StepState(keeping: kept?.position)))
    if let kept {
      suspects.store(kept.suspects, ordering: .relaxed)
      suspectTime.store(kept.suspectTime, ordering: .relaxed)
    } else if store.hasDisk {
      suspectEverything()
    }
  }

  /// - Parameter cache: returns the cache while it exists.
  func start(_ cache: @escaping @Sendable () -> HTTPCache?) {
    self.cache.withLock { $0 = cache }
    guard options.isDriven else { return }
    let loops: [@Sendable (SharedTierLink) async -> Void] = [
      { await $0.beat() }, { await $0.followOnce() }, { await $0.deliver() }, { await $0.write() },
    ]
    let tasks = loops.map { step in
      Task(executorPreference: store.hasDisk ? BlockingExecutor.shared : nil) { [weak self] in
        while !Task.isCancelled, let link = self, !link.isStopped { await step(link) }
      }
    }
    state.withLock { $0.tasks = tasks }
  }

  /// Ends following the log; the tier forgets this node.
  func stop() {
    let tasks: [Task<Void, Never>]? = state.withLock { state in
      guard !state.isStopped else { return nil }
      state.isStopped = true
      state.step.lost()
      trustedUntil.store(.min, ordering: .sequentiallyConsistent)
      defer { state.tasks = [] }
      return state.tasks
    }
    guard let tasks else { return }
    for task in tasks { task.cancel() }
    wake(.removals)
    wake(.writes)
    state.withLock { [self] state in
      let (tier, node) = (tier, SharedNode(id: node, applied: nil, lifetime: options.trust))
      state.leaving = Task {
        try? await withDeadline(.seconds(1)) { try await tier.leave(node) }
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
    store.sweep(.keys { _ in true }, in: []) { _ in .keep }
    suspectTime.store(clock.now.milliseconds, ordering: .sequentiallyConsistent)
    suspects.store(store.upcomingNumber, ordering: .sequentiallyConsistent)
  }

  /// Publishes the trust of the state, and makes the events for its changes. Call it after each change of the state.
  func publishTrust() {
    let now = clock.now.milliseconds
    let event: HTTPCache.SharedTierEvent? = state.withLock { state in
      if state.isStopped { return nil }
      trustedUntil.store(state.step.trustedUntil, ordering: .sequentiallyConsistent)
      let isInStep = now < state.step.trustedUntil
      guard isInStep != state.wasInStep else { return nil }
      state.wasInStep = isInStep
      return isInStep ? .inStep : .outOfStep("no answer from the tier for \(options.trust)")
    }
    if let event { options.observer?(event) }
  }

  // MARK: - Calls and failures

  /// Calls the tier for a request, which waits for a bounded time.
  ///
  /// - Returns: `nil` if the tier fails, or does not answer in time.
  func ask<Result: Sendable>(
    atMost limit: Duration? = nil, _ body: @escaping @Sendable (any SharedTier) async throws -> Result
  ) async -> Result? {
    let tier = tier
    do {
      let result = try await withDeadline(limit ?? options.wait) { try await body(tier) }
      state.withLock { $0.breaker.succeeded() }
      return result
    } catch {
      if !(error is CancellationError) { failed(error) }
      return nil
    }
  }

  func failed(_ error: any Error) {
    let event: HTTPCache.SharedTierEvent? = state.withLock { state in
      state.statistics.errors += 1
      guard state.breaker.failed(), !state.isFailing else { return nil }
      state.isFailing = true
      return .unavailable("\(error)")
    }
    if let event { options.observer?(event) }
  }

  /// Whether requests use the tier now.
  func mayFind(at now: Timestamp) -> Bool {
    sharesResponses && isInStep(at: now) && state.withLock { $0.breaker.isClosed }
  }

  // MARK: - The loops

  /// Sends heartbeats, a quarter of the trust apart.
  private func beat() async {
    await heartbeat()
    try? await Task.sleep(for: min(.milliseconds(500), options.trust / 4))
  }

  private func followOnce() async {
    if await !follow(waiting: .milliseconds(500)) { try? await Task.sleep(for: .milliseconds(20)) }
  }

  private func deliver() async {
    if await !deliverRemovals() { try? await Task.sleep(for: .milliseconds(50)) }
    await waitFor(.removals)
  }

  private func write() async {
    await drainWrites()
    await waitFor(.writes)
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
        let hasWork = waker == .removals ? !state.queue.isEmpty : !state.writes.isEmpty
        if state.signals.remove(waker) != nil || hasWork || state.isStopped { return true }
        state.wakers[waker] = continuation
        return false
      }
      if goesOn { continuation.resume() }
    }
  }

  // MARK: - In step

  /// Registers this node, and compares its position with the log.
  func heartbeat() async {
    let sent = clock.now
    let began = ContinuousClock.now
    let me = SharedNode(
      id: node, applied: state.withLock { $0.step.applied }, lifetime: options.trust + options.trust / 2)
    do {
      let tier = tier
      let head = try await withDeadline(max(options.trust / 2, options.wait)) { try await tier.heartbeat(me) }
      heard(head, sent: sent, isInTime: ContinuousClock.now - began <= options.wait)
    } catch {
      if !(error is CancellationError) { failed(error) }
      publishTrust()
    }
  }

  private func heard(_ head: SharedLogHead, sent: Timestamp, isInTime: Bool) {
    let until = sent.advanced(by: options.trust).milliseconds
    let (action, isBack) = state.withLock { state -> (StepState.Action, Bool) in
      if state.isStopped { return (.nothing, false) }
      // Nothing of the old log is trusted from here on, before the new position is used.
      let action = state.step.heard(head, trustUntil: until)
      switch action {
      case .nothing: break
      case .resume(let number), .restart(let number, _):
        trustedUntil.store(.min, ordering: .sequentiallyConsistent)
        state.index = RemovalIndex(first: head.first)
        state.appliesAfter = number
      }
      let isBack = isInTime && state.breaker.heard()
      if isBack { state.isFailing = false }
      return (action, isBack)
    }
    if case .restart(_, let cause) = action {
      suspectEverything()
      positionFile?.remove()
      addRecentAgain()
      state.withLock { state in
        state.statistics.restarts += 1
        state.wasInStep = false
      }
      options.observer?(.outOfStep(cause))
    }
    if isBack { options.observer?(.available) }
    publishTrust()
    keepPosition()
    wake(.removals)
    wake(.writes)
  }

  /// Queues the removals of the last seconds again: a new log may lack them.
  private func addRecentAgain() {
    let now = clock.now.milliseconds
    state.withLock { state in
      state.queue.insert(contentsOf: state.recent.filter { $0.until > now }.map(\.removal), at: 0)
      state.recent = []
      state.lastRemoval = nil
    }
  }

  /// Reads the next records of the log, and applies them.
  ///
  /// - Parameter wait: maximum time to wait for the first of them.
  /// - Returns: whether the tier answered.
  @discardableResult
  func follow(waiting wait: Duration) async -> Bool {
    guard let position = state.withLock({ $0.step.applied }) else { return false }
    do {
      let tier = tier
      let page = try await withDeadline(wait + .seconds(1)) {
        try await tier.records(after: position, waiting: wait)
      }
      return await apply(page, after: position)
    } catch {
      if !(error is CancellationError) { failed(error) }
      return false
    }
  }

  private func apply(_ page: SharedLogPage, after position: SharedLogPosition) async -> Bool {
    guard !page.records.isEmpty else { return true }
    // Another log, or a gap: the next heartbeat finds out what is known of it.
    guard page.epoch == position.epoch, page.records.first?.number == position.number + 1 else {
      return false
    }
    for record in page.records {
      let (sender, removal) = Removal.read(record.payload)
      let isNew = state.withLock { state in
        // A heartbeat may have begun with another log meanwhile.
        guard state.step.applied == SharedLogPosition(epoch: position.epoch, number: record.number - 1) else {
          return nil as Bool?
        }
        state.index.add(removal, record.number)
        return record.number > state.appliesAfter && sender != node
      }
      guard let isNew else { return true }
      if isNew, let cache = cache.withLock({ $0 })() {
        if store.hasDisk {
          await BlockingExecutor.run { cache.apply(removal) }
        } else {
          cache.apply(removal)
        }
      }
      state.withLock { state in
        if isNew { state.statistics.applied += 1 }
        // The epoch may have changed while the removal was applied.
        if state.step.applied == SharedLogPosition(epoch: position.epoch, number: record.number - 1) {
          state.step.didApply(record.number)
        }
      }
    }
    publishTrust()
    keepPosition()
    if options.isDriven { await acknowledge() }
    return true
  }

  /// Tells the tier at once how far this node is, for a removal that waits for all nodes.
  private func acknowledge() async {
    await heartbeat()
  }

  private func keepPosition() {
    guard let positionFile else { return }
    let position = state.withLock { state -> SharedLogPosition? in
      guard let applied = state.step.applied, applied.number >= state.appliesAfter else { return nil }
      return applied
    }
    guard let position else { return }
    positionFile.write(
      .init(
        position: position, suspects: suspects.load(ordering: .relaxed),
        suspectTime: suspectTime.load(ordering: .relaxed)))
  }

  // MARK: - Removals of this node

  /// Queues a removal for the log. Call it before the local removal begins.
  func add(_ removal: Removal) {
    state.withLock { state in
      if state.queue.count >= Self.queueLimit {
        state.queue = [.everything(softly: false)]
      } else {
        state.queue.append(removal)
      }
    }
    wake(.removals)
  }

  /// Adds the queued removals to the log, oldest first.
  ///
  /// - Returns: whether the tier took all of them.
  @discardableResult
  func deliverRemovals() async -> Bool {
    while let removal = state.withLock({ $0.queue.first }), !isStopped {
      let record = SharedRemoval(
        payload: removal.payload(node: node), keys: removal.keys, scopes: removal.scopes,
        isBroad: removal.isBroad)
      do {
        let tier = tier
        let position = try await withDeadline(.seconds(1)) { try await tier.append(record) }
        let until = clock.now.milliseconds + Self.recentMilliseconds
        state.withLock { state in
          // The queue may have become one removal of everything meanwhile.
          if state.queue.first == removal { state.queue.removeFirst() }
          if state.step.applied?.epoch == position.epoch { state.index.add(removal, position.number) }
          state.lastRemoval = position
          if state.recent.count == Self.recentLimit { state.recent.removeFirst(Self.recentLimit / 2) }
          state.recent.append((removal, until))
        }
      } catch {
        if !(error is CancellationError) { failed(error) }
        return false
      }
    }
    return true
  }

  /// Waits until the removals made so far have been applied everywhere, or for a time.
  func reach(within limit: Duration) async -> HTTPCache.RemovalReach {
    let end = ContinuousClock.now + limit
    while true {
      if options.isDriven { wake(.removals) } else { await deliverRemovals() }
      let (isQueued, last, applied) = state.withLock {
        (!$0.queue.isEmpty, $0.lastRemoval, $0.step.applied)
      }
      if !isQueued, last == nil { return .everywhere }
      if let last, !isQueued {
        let me = SharedNode(id: node, applied: applied, lifetime: options.trust + options.trust / 2)
        let tier = tier
        if let head = try? await withDeadline(.seconds(1), { try await tier.heartbeat(me) }),
          head.last.epoch == last.epoch, head.appliedByAll >= last.number
        {
          return .everywhere
        }
      }
      guard ContinuousClock.now < end, !Task.isCancelled, !isStopped else {
        return isQueued ? .here : .logged
      }
      try? await Task.sleep(for: .milliseconds(2))
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
