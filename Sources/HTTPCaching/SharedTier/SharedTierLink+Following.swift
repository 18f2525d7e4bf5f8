// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheEngine
import HTTPCacheStore

/// Following the log: heartbeats, records, and the position that is kept beside the disk.
extension SharedTierLink {
  /// Registers this node, and compares its position with the log.
  func heartbeat() async {
    let sent = clock.now
    let me = SharedNode(
      id: node, applied: state.withLock { $0.step.applied }, lifetime: options.trust + options.trust / 2)
    do {
      let head = try await tier.heartbeat(me, within: max(options.trust / 2, options.wait))
      heard(head, since: me.applied, sent: sent, isInTime: clock.now <= sent.advanced(by: options.wait))
    } catch {
      if !(error is CancellationError) { failed(error, isHeartbeat: true) }
      publishTrust()
    }
  }

  private func heard(
    _ head: SharedLogHead, since position: SharedLogPosition?, sent: Timestamp, isInTime: Bool
  ) {
    let until = sent.advanced(by: options.trust).milliseconds
    let (action, isBack) = state.withLock { state -> (StepState.Action, Bool) in
      if state.isStopped { return (.nothing, false) }
      // Nothing of the old log is trusted from here on, before the new position is used.
      let action = state.step.heard(head, since: position, trustUntil: until)
      switch action {
      case .nothing: break
      case .resume(let number), .restart(let number, _):
        trustedUntil.store(.min, ordering: .sequentiallyConsistent)
        state.index = RemovalIndex(first: head.first)
        state.appliesAfter = number
      }
      let isBack = isInTime && state.breaker.close()
      if isBack { state.reportedFailure = nil }
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
      hub.note(.outOfStep, OutOfStep(cause))
    }
    if isBack { hub.note(.sharedTierAvailable) }
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
      let page = try await tier.records(after: position, waiting: wait)
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
      // A tier that numbers its records otherwise than 1, 2, 3, … is not followed.
      let previous = SharedLogPosition(epoch: position.epoch, number: record.number &- 1)
      let (sender, removal) = Removal.read(record.payload)
      let isNew = state.withLock { state in
        // A heartbeat may have begun with another log meanwhile.
        guard state.step.applied == previous else { return nil as Bool? }
        state.index.add(removal.selection, record.number)
        return record.number > state.appliesAfter && sender != node
      }
      guard let isNew else { return true }
      if isNew, let cache = cache.withLock({ $0 })() {
        if store.hasDisk {
          await BlockingExecutor.run { _ = cache.apply(removal) }
        } else {
          cache.apply(removal)
        }
      }
      state.withLock { state in
        if isNew { state.statistics.applied += 1 }
        // The epoch may have changed while the removal was applied.
        if state.step.applied == previous { state.step.didApply(record.number) }
      }
    }
    publishTrust()
    keepPosition()
    return true
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
}
