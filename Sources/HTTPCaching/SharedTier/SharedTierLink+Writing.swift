// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheEngine
import HTTPCacheStore

/// The responses that wait to be stored in the tier, oldest first.
struct SharedWriteQueue: Sendable {
  struct Job: Sendable {
    /// The key of the response, for its scopes.
    var key: CacheKey
    /// The entry in the local store, and its key there.
    var id: EntryID
    var place: StoreKey
    /// Where the log was before the request to the origin.
    var position: SharedLogPosition
    var bytes: Int
    /// Whether the response was validated, so that the tier may have its content.
    var isRefresh: Bool
    /// Released when the response is stored, or is not going to be.
    var lease: LeaseHold?
    /// The request that the response answers; `nil` without a tracer.
    var traced: QueuedStep?
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
  ///   - place: the key of the entry in the local store.
  ///   - id: the entry. It is read when its turn comes: if it has been replaced or evicted by then, the
  ///     tier does not get it.
  ///   - count: the number of bytes of its content.
  ///   - isRefresh: whether the response was validated, so that the tier may have its content.
  ///   - position: ``position``, from before the request to the origin.
  ///   - traced: the request that the response answers.
  func offer(
    _ key: CacheKey, _ id: EntryID, at place: StoreKey, count: Int, isRefresh: Bool = false,
    since position: SharedLogPosition?, _ lease: LeaseHold?, _ traced: QueuedStep?
  ) {
    guard let position, sharesResponses, count <= options.maximumContent,
      StoredKey(StoreKey(key.bytes)).kind == .get
    else { return }
    // Each job takes memory, too.
    let job = SharedWriteQueue.Job(
      key: key, id: id, place: place, position: position, bytes: count + 1024, isRefresh: isRefresh,
      lease: lease, traced: traced)
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
            if let traced = job.traced {
              await traced.take(.tierStore) { await write(job) }
            } else {
              await write(job)
            }
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
        || self.isCovered(job.key.bytes, entry.shared.scopes, since: job.position.number, state)
    }
    if isRemoved { return state.withLock { $0.statistics.refused += 1 } }
    do {
      let result = try await store(entry, of: job)
      state.withLock { state in
        if result == .stored { state.statistics.stores += 1 } else { state.statistics.refused += 1 }
      }
    } catch {
      if !(error is CancellationError) { failed(error) }
      state.withLock { $0.statistics.dropped += 1 }
    }
  }

  private func store(_ entry: Entry, of job: SharedWriteQueue.Job) async throws -> SharedStoring {
    if job.isRefresh {
      if let result = try await refresh(entry.shared) { return result }
      // It may be one of many variants.
      if let apart = apart(entry, of: job), let result = try await refresh(apart) { return result }
    }
    let result = try await tier.store(entry.shared, within: .seconds(2))
    return result == .full ? try await storeApart(entry, of: job) : result
  }

  /// Stores the head of an entry, if the tier has its content.
  private func refresh(_ entry: SharedEntry) async throws -> SharedStoring? {
    try await tier.refresh(entry, within: .seconds(2)) { [head = entry.head] in
      SharedEntryForm.haveSameContent(head, $0)
    }
  }

  /// Returns the entry under a key of its own; `nil` if nothing selects it.
  private func apart(_ entry: Entry, of job: SharedWriteQueue.Job) -> SharedEntry? {
    guard entry.stored.selectingNames?.isEmpty == false else { return nil }
    var own = entry.shared
    own.key = SharedEntryForm.key(of: own.variant, under: job.key)
    own.head = head(of: entry.stored, own.body, own.key, job)
    return own
  }

  /// Stores one of many variants under a key of its own, and notes under the key of all how it is found.
  private func storeApart(_ entry: Entry, of job: SharedWriteQueue.Job) async throws -> SharedStoring {
    guard let names = entry.stored.selectingNames, let own = apart(entry, of: job) else { return .full }
    let result = try await tier.store(own, within: .seconds(2))
    guard result == .stored else { return result }
    var note = entry.shared
    note.variant = [RecordMark.variantIndex.rawValue] + names.joined(separator: ",").utf8
    (note.head, note.body) = (SharedEntryForm.head(ofNames: names), [])
    return try await tier.store(note, within: .seconds(2))
  }

  private func head(
    of stored: StoredResponse, _ body: [UInt8], _ key: [UInt8], _ job: SharedWriteQueue.Job
  ) -> [UInt8] {
    SharedEntryForm.head(stored, body: body, key: key, position: job.position, at: clock.now)
  }

  private struct Entry {
    var shared: SharedEntry
    var stored: StoredResponse
  }

  /// Reads the response from the local store.
  private func entry(of job: SharedWriteQueue.Job) async -> Entry? {
    let key = job.place
    var found = store.peek(key).first { $0.id == job.id }
    if found == nil, store.hasDisk {
      found = await BlockingExecutor.run { [store] in store.lookup(key).first { $0.id == job.id } }
    }
    guard let found else { return nil }
    var decoded: StoredResponse?
    found.withMetadata { decoded = StoredResponse(decoding: $0) }
    guard let stored = decoded, let lifetime = lifetime(of: stored) else { return nil }
    let body = found.body
    let content =
      body.isResident
      ? try? body.readAll() : await BlockingExecutor.run { try? body.readAll() }
    guard let content else { return nil }
    let bytes = Array(content)
    let entry = SharedEntry(
      key: job.key.bytes, variant: stored.variantKey, head: head(of: stored, bytes, job.key.bytes, job),
      body: bytes, scopes: SharedEntryForm.scopes(of: stored, under: job.key), position: job.position,
      lifetime: lifetime)
    return Entry(shared: entry, stored: stored)
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
