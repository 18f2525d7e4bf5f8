// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheEngine
import HTTPCacheStore

/// Finding responses in the tier, and the leases of requests to the origin.
extension SharedTierLink {
  /// Returns the checked entries of a key that no removal concerns.
  ///
  /// - Parameter variantKeys: returns the variant key of the request for each list of names.
  func find(
    _ key: CacheKey, variantKeys: ([[String]]) -> [[UInt8]]
  ) async -> [SharedEntryForm.Found] {
    guard mayFind(at: clock.now), let all = await ask({ try await $0.find(key.bytes, within: $1) }) else {
      return []
    }
    var lists: [[String]] = []
    var read: [SharedEntryForm.Found?] = []
    for entry in all {
      if let names = SharedEntryForm.names(entry) {
        lists.append(names)
      } else {
        read.append(SharedEntryForm.read(entry, key: key, place: key.bytes, at: clock.now))
      }
    }
    for variantKey in variantKeys(Array(lists.prefix(VariantIndex.mostLists))) {
      let place = SharedEntryForm.key(of: variantKey, under: key)
      let apart = await ask { try await $0.find(place, within: $1) } ?? []
      read += apart.map { SharedEntryForm.read($0, key: key, place: place, at: clock.now) }
    }
    return state.withLock { state in
      let found = read.compactMap { entry -> SharedEntryForm.Found? in
        guard let entry else {
          state.statistics.damaged += 1
          return nil
        }
        guard entry.position.epoch == state.step.applied?.epoch,
          !isCovered(key.bytes, entry.scopes, since: entry.position.number, state)
        else {
          state.statistics.removed += 1
          return nil
        }
        return entry
      }
      if found.isEmpty { state.statistics.misses += 1 } else { state.statistics.hits += 1 }
      return found
    }
  }

  /// Whether a removal after a position concerns an entry: one of the log, or one of this node that the tier has not been
  /// told yet.
  func isCovered(_ key: [UInt8], _ scopes: [[UInt8]], since number: UInt64, _ state: State) -> Bool {
    state.index.covers(key, scopes: scopes, since: number)
      || key.withUnsafeBytes { key in
        state.queue.contains { $0.selection.coverage(key, scopes.map { StoreScope($0) }) }
      }
  }

  /// Where the log is now, for a response that is about to be requested; `nil` if it will not be shared.
  var position: SharedLogPosition? {
    guard sharesResponses, isInStep(at: clock.now) else { return nil }
    return state.withLock { state in
      // A removal of this node that has no number yet would refuse the response.
      state.queue.isEmpty && state.breaker.isClosed ? state.step.applied : nil
    }
  }

  // MARK: - Leases

  /// What a node does that found nothing in the tier.
  enum Leasing: Sendable {
    /// It sends the request for all nodes.
    case leads(LeaseHold)
    /// Another node does: it waited for that.
    case waited
    /// It sends its own request.
    case alone
  }

  /// Takes the lease of a key, or waits until another node has released it.
  ///
  /// - Parameter mayWait: whether the caller can wait for the other node.
  func lease(_ key: [UInt8], mayWait: Bool = true) async -> Leasing {
    guard let lifetime = options.lease, mayFind(at: clock.now) else { return .alone }
    let lease = SharedLease(key: key, owner: .random(in: 1 ... .max), lifetime: lifetime)
    state.withLock { $0.leases[lease.owner] = lease }
    guard let isOurs = await ask({ try await $0.acquire(lease, within: $1) }) else {
      // The answer may be lost, and the lease be ours.
      release(lease)
      return .alone
    }
    if isOurs {
      state.withLock { $0.statistics.leases += 1 }
      return .leads(LeaseHold(lease, self))
    }
    state.withLock { $0.leases[lease.owner] = nil }
    guard mayWait else { return .waited }
    return await follow(lease, lifetime)
  }

  /// Waits until another node has released a lease. Ends at once if the tier fails meanwhile.
  private func follow(_ lease: SharedLease, _ lifetime: Duration) async -> Leasing {
    let task = Task { [tier] in try await tier.waitForRelease(of: lease.key, atMost: lifetime) }
    let isWaiting = state.withLock { state in
      guard state.breaker.isClosed else { return false }
      state.statistics.followers += 1
      state.followers[lease.owner] = task
      return true
    }
    if !isWaiting { task.cancel() }
    defer { state.withLock { $0.followers[lease.owner] = nil } }
    do {
      try await withTaskCancellationHandler {
        try await task.value
      } onCancel: {
        task.cancel()
      }
      return .waited
    } catch {
      if !(error is CancellationError) { failed(error) }
      return .alone
    }
  }

  /// Releases a lease in the background. ``stop()`` releases it again if it ends before that.
  func release(_ lease: SharedLease) {
    let mayRelease = state.withLock { state in
      // Without the tier, its time ends the lease.
      if !state.breaker.isClosed { state.leases[lease.owner] = nil }
      return state.leases[lease.owner] != nil
    }
    guard mayRelease else { return }
    Task { [tier] in
      try? await tier.release(lease, within: .seconds(1))
      state.withLock { $0.leases[lease.owner] = nil }
    }
  }
}

/// A lease that this node has. It is released once: by hand, by the task that stores the response, or with this object.
final class LeaseHold: Sendable {
  private let lease: Mutex<SharedLease?>
  private let link: SharedTierLink

  init(_ lease: SharedLease, _ link: SharedTierLink) {
    self.lease = Mutex(lease)
    self.link = link
  }

  deinit { release() }

  /// Lets the other nodes go on.
  func release() {
    if let lease = lease.withLock({ $0.take() }) { link.release(lease) }
  }
}
