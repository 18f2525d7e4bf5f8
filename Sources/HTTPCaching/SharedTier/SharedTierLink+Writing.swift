// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import Synchronization

/// The responses that wait to be stored in the tier, oldest first.
struct SharedWriteQueue: Sendable {
  struct Job: Sendable {
    /// The key of the response, for its scopes.
    var key: CacheKey
    /// The entry in the local store.
    var id: EntryID
    /// Where the log was before the request to the origin.
    var position: SharedLogPosition
    var bytes: Int
    /// Released when the response is stored, or is not going to be.
    var lease: LeaseHold?
  }

  private var jobs: [Job] = []
  /// Position of the next job: an array without its first elements would be moved each time.
  private var next = 0
  /// Bytes of the jobs that wait or are being stored.
  private(set) var bytes = 0

  var isEmpty: Bool { next == jobs.count }

  /// - Returns: whether there was room.
  mutating func add(_ job: Job, capacity: Int) -> Bool {
    guard bytes + job.bytes <= capacity else { return false }
    jobs.append(job)
    bytes += job.bytes
    return true
  }

  mutating func take() -> Job? {
    guard next < jobs.count else { return nil }
    defer {
      next += 1
      if next == jobs.count || next == 512 {
        jobs.removeFirst(next)
        next = 0
      }
    }
    return jobs[next]
  }

  mutating func finished(_ job: Job) { bytes -= job.bytes }

  /// Removes and returns the jobs that wait. Release them outside the link's lock: the leases they hold take it.
  mutating func removeAll() -> [Job] {
    let rest = Array(jobs[next...])
    (jobs, next) = ([], 0)
    for job in rest { finished(job) }
    return rest
  }
}

/// Storing responses in the tier, in the background.
extension SharedTierLink {
  /// Number of responses that are being stored at a time.
  private static let writerCount = 4

  /// Queues a stored response for the tier.
  ///
  /// - Parameters:
  ///   - id: the entry in the local store. It is read when its turn comes: if it has been replaced or evicted by then, the
  ///     tier does not get it.
  ///   - count: the number of bytes of its content.
  ///   - position: ``position``, from before the request to the origin.
  func offer(
    _ key: CacheKey, _ id: EntryID, count: Int, since position: SharedLogPosition?, _ lease: LeaseHold?
  ) {
    guard let position, sharesResponses, count <= options.maximumContent,
      StoredKey(StoreKey(key.bytes)).kind == .get
    else { return }
    // Each job takes memory, too.
    let job = SharedWriteQueue.Job(key: key, id: id, position: position, bytes: count + 1024, lease: lease)
    let isQueued = state.withLock { state in
      guard !state.isStopped, state.breaker.isClosed,
        state.writes.add(job, capacity: options.writeQueueCapacity)
      else {
        state.statistics.dropped += 1
        return false
      }
      return true
    }
    if isQueued { wake(.writes) }
  }

  /// Stores the queued responses.
  func drainWrites() async {
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<Self.writerCount {
        group.addTask { [self] in
          while let job = state.withLock({ $0.writes.take() }) {
            await write(job)
            state.withLock { $0.writes.finished(job) }
            job.lease?.release()
          }
        }
      }
    }
  }

  private func write(_ job: SharedWriteQueue.Job) async {
    guard state.withLock({ $0.breaker.isClosed }), !isStopped else {
      return state.withLock { $0.statistics.dropped += 1 }
    }
    guard let entry = await entry(of: job) else { return }
    // A removal that was read or queued since makes the write useless.
    let isRemoved = state.withLock { state in
      state.step.applied?.epoch != job.position.epoch
        || self.isCovered(job.key.bytes, entry.scopes, since: job.position.number, state)
    }
    if isRemoved { return state.withLock { $0.statistics.refused += 1 } }
    do {
      let result = try await tier.store(entry, within: .seconds(2))
      state.withLock { state in
        if result == .stored { state.statistics.stores += 1 } else { state.statistics.refused += 1 }
      }
    } catch {
      if !(error is CancellationError) { failed(error) }
      state.withLock { $0.statistics.dropped += 1 }
    }
  }

  /// Reads the response from the local store.
  private func entry(of job: SharedWriteQueue.Job) async -> SharedEntry? {
    let key = StoreKey(job.key.bytes)
    var found = store.peek(key).first { $0.id == job.id }
    if found == nil, store.hasDisk {
      found = await BlockingExecutor.run { [store] in store.lookup(key).first { $0.id == job.id } }
    }
    guard let found else { return nil }
    let stored = decoded(found)
    guard stored.count == 1, let stored = stored.first, let lifetime = lifetime(of: stored) else {
      return nil
    }
    let body = found.body
    let content =
      body.isResident
      ? try? body.readAll() : await BlockingExecutor.run { try? body.readAll() }
    guard let content else { return nil }
    let bytes = Array(content)
    return SharedEntry(
      key: job.key.bytes, variant: stored.variantKey,
      head: SharedEntryForm.head(
        stored, body: bytes, key: job.key.bytes, position: job.position, at: clock.now),
      body: bytes, scopes: stored.scopes(under: job.key), position: job.position, lifetime: lifetime)
  }

  private func decoded(_ entry: StoredEntry) -> [StoredResponse] {
    var responses: [StoredResponse] = []
    entry.withMetadata { responses = StoredResponse.all(decoding: $0) }
    return responses
  }

  /// How long the tier keeps a response; `nil` if another node could not use it.
  private func lifetime(of stored: StoredResponse) -> Duration? {
    let now = clock.now
    guard stored.isReusable(at: now) else { return nil }
    let stale = max(stored.facts.staleWhileRevalidate.seconds, stored.facts.staleIfError.seconds)
    let seconds = max(0, stored.facts.remainingSeconds(at: now)) + Int64(stale)
    return min(.seconds(max(1, seconds)), options.maximumLifetime)
  }
}
