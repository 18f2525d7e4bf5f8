// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheEngine
import HTTPCacheStore

/// Removals of this node, on their way to the log.
extension SharedTierLink {
  /// How long a removal may be added again to a new log.
  private static let recentMilliseconds: Int64 = 30_000
  private static let recentLimit = 1024
  /// Maximum queued removals; beyond it they become one of everything.
  private static let queueLimit = 4096

  /// Queues a removal for the log. Call it before the local removal begins. May block on the disk while the tier cannot be
  /// reached.
  func add(_ removal: Removal) {
    let isReachable = state.withLock { state in
      if state.queue.count >= Self.queueLimit {
        state.queue = [.everything]
        state.unkept = 1
      } else {
        state.queue.append(removal)
        state.unkept += 1
      }
      return state.breaker.isClosed
    }
    if !isReachable { keepRemovals() }
    wake(.removals)
  }

  /// Writes the queued removals to the file, so that they are delivered even if the process ends before the tier can be
  /// reached. Removes the file if no removal is queued.
  func keepRemovals() {
    guard let removalsFile else { return }
    let missing = removalsFile.update(node: node) {
      state.withLock { state in
        defer { state.unkept = 0 }
        return (state.queue.count, state.queue.suffix(state.unkept))
      }
    }
    guard missing > 0 else { return }
    // The next attempt to deliver them tries again.
    state.withLock { $0.unkept = min($0.queue.count, $0.unkept + missing) }
  }

  /// Adds the queued removals to the log, oldest first.
  ///
  /// - Returns: whether the tier took all of them.
  @discardableResult
  func deliverRemovals() async -> Bool {
    while let removal = state.withLock({ $0.queue.first }), !isStopped {
      let selection = removal.selection
      let record = SharedRemoval(
        payload: removal.payload(node: node), keys: selection.keys, scopes: selection.tierScopes,
        isBroad: selection.isBroad && selection.tierScopes.isEmpty)
      do {
        let position = try await tier.append(record, within: .seconds(1))
        let until = clock.now.milliseconds + Self.recentMilliseconds
        state.withLock { state in
          // The queue may have become one removal of everything meanwhile.
          if state.queue.first == removal { state.queue.removeFirst() }
          state.unkept = min(state.unkept, state.queue.count)
          if state.step.applied?.epoch == position.epoch {
            state.index.add(removal.selection, position.number)
          }
          state.lastRemoval = position
          if state.recent.count == Self.recentLimit { state.recent.removeFirst(Self.recentLimit / 2) }
          state.recent.append((removal, until))
        }
        // The tier removes the entries of keys with the record.
        if record.isBroad || !record.scopes.isEmpty { wake(.reclaiming) }
      } catch {
        if !(error is CancellationError) { failed(error) }
        keepRemovals()
        return false
      }
    }
    if removalsFile?.mayExist == true { keepRemovals() }
    return true
  }

  /// Deletes the entries of the tier that removals have made useless: they would take memory until they expire. One node does it,
  /// the one that removed.
  func reclaim() async {
    guard !isStopped else { return }
    do {
      let count = try await tier.reclaim { [weak self] in self?.isRemoved(head: $0) ?? false }
      state.withLock { $0.statistics.reclaimed += count }
    } catch {
      // Requests do not need it: what is left expires. A user without the right to search must not make the tier unavailable.
      if !(error is CancellationError) { state.withLock { $0.statistics.errors += 1 } }
    }
  }

  /// Whether no node will use the entry with this head, because of a removal.
  private func isRemoved(head: [UInt8]) -> Bool {
    guard let (key, scopes, position) = SharedEntryForm.subject(ofHead: head) else { return false }
    return state.withLock { state in
      // Of another log, nothing is known.
      state.step.applied?.epoch == position.epoch && isCovered(key, scopes, since: position.number, state)
    }
  }

  /// Waits until the removals made so far have been applied everywhere, or for a time.
  func reach(within limit: Duration) async -> HTTPCache.RemovalReach {
    let end = clock.now.advanced(by: limit)
    while true {
      if state.withLock({ $0.tasks.isEmpty }) { await deliverRemovals() } else { wake(.removals) }
      let (isQueued, last, applied) = state.withLock {
        (!$0.queue.isEmpty, $0.lastRemoval, $0.step.applied)
      }
      if !isQueued, last == nil { return .everywhere }
      if let last, !isQueued {
        let me = SharedNode(id: node, applied: applied, lifetime: options.trust + options.trust / 2)
        if let head = try? await tier.heartbeat(me, within: .seconds(1)),
          head.last.epoch == last.epoch, head.appliedByAll >= last.number
        {
          return .everywhere
        }
      }
      guard clock.now < end, !Task.isCancelled, !isStopped else {
        return isQueued ? .here : .logged
      }
      try? await clock.sleep(for: .milliseconds(2))
    }
  }
}
