// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheEngine
import HTTPCaching

/// One node's connection to an ``InMemorySharedServer``, with faults that a test switches on and off.
package final class InMemorySharedTier: SharedTier {
  /// What happens to the calls of the node.
  package enum Fault: Hashable, Sendable, CaseIterable {
    case none
    /// Each call throws.
    case failing
    /// No call is answered: each ends at its time limit.
    case hanging
    /// Each call waits until the fault is neither this nor ``hanging``, and then takes effect.
    case holding
    /// Each call takes effect, and then throws: its answer is lost.
    case losingAnswers
    /// The records of the log say nothing: the node does not learn what others removed. Nothing can protect from that. It
    /// shows that a test notices.
    case emptyingRecords
    /// The records of a page have the number 0 after the first, which no log has.
    case misnumberingRecords
  }

  /// What the faults throw.
  package struct Unreachable: Error {
    package init() {}
  }

  package let server: InMemorySharedServer
  private let state = Mutex<Fault>(.none)
  /// The continuations of the calls that hang. They are kept, because a continuation must not be lost.
  private let hanging = Mutex<[CheckedContinuation<Void, Never>]>([])
  private let calls = Atomic<Int>(0)

  /// The payload of a record that removes nothing.
  private let emptyRecord: [UInt8]

  /// - Parameter emptyRecord: the payload that `emptyingRecords` puts in the place of each record's.
  package init(_ server: InMemorySharedServer, emptyRecord: [UInt8] = []) {
    self.server = server
    self.emptyRecord = emptyRecord
  }

  package var fault: Fault {
    get { state.withLock { $0 } }
    set {
      state.withLock { $0 = newValue }
      if newValue != .hanging, newValue != .holding { resumeAll() }
    }
  }

  deinit { resumeAll() }

  private func resumeAll() {
    let waiting = hanging.withLock { hanging in
      defer { hanging = [] }
      return hanging
    }
    for continuation in waiting { continuation.resume() }
  }

  private func wait(while current: Fault) async {
    await withCheckedContinuation { continuation in
      hanging.withLock { $0.append(continuation) }
      if fault != current { resumeAll() }
    }
  }

  /// The number of calls of the node, other than heartbeats and waiting.
  package var callCount: Int { calls.load(ordering: .relaxed) }

  private func call<Result: Sendable>(
    within limit: Duration, counts: Bool = true, _ body: @escaping @Sendable () -> Result
  ) async throws -> Result {
    if counts { calls.wrappingAdd(1, ordering: .relaxed) }
    try Task.checkCancellation()
    switch fault {
    case .none, .emptyingRecords, .misnumberingRecords: return body()
    case .failing: throw Unreachable()
    case .losingAnswers:
      _ = body()
      throw Unreachable()
    case .hanging:
      return try await withDeadline(limit, on: server.clock) { [self] in
        await wait(while: .hanging)
        throw Unreachable()
      }
    case .holding:
      return try await withDeadline(limit, on: server.clock) { [self] in
        await wait(while: .holding)
        return body()
      }
    }
  }

  package func find(_ key: [UInt8], within limit: Duration) async throws -> [FoundSharedEntry] {
    try await call(within: limit) { [server] in server.find(key) }
  }

  package func store(_ entry: SharedEntry, within limit: Duration) async throws -> SharedStoring {
    try await call(within: limit) { [server] in server.store(entry) }
  }

  package func refresh(
    _ entry: SharedEntry, within limit: Duration, where hasContent: @escaping @Sendable ([UInt8]) -> Bool
  ) async throws -> SharedStoring? {
    try await call(within: limit) { [server] in server.refresh(entry, where: hasContent) }
  }

  package func append(_ removal: SharedRemoval, within limit: Duration) async throws -> SharedLogPosition {
    try await call(within: limit) { [server] in server.append(removal) }
  }

  package func records(
    after position: SharedLogPosition, waiting wait: Duration
  ) async throws -> SharedLogPage {
    let limit = wait + .seconds(1)
    var page = try await call(within: limit, counts: false) { [server] in server.records(after: position) }
    if fault == .emptyingRecords {
      for index in page.records.indices { page.records[index].payload = emptyRecord }
    }
    if fault == .misnumberingRecords {
      for index in page.records.indices.dropFirst() { page.records[index].number = 0 }
    }
    guard page.records.isEmpty, page.epoch == position.epoch, wait > .zero else { return page }
    await server.wait(whileLast: position, atMost: wait)
    return try await call(within: limit, counts: false) { [server] in server.records(after: position) }
  }

  package func heartbeat(_ node: SharedNode, within limit: Duration) async throws -> SharedLogHead {
    try await call(within: limit, counts: false) { [server] in server.heartbeat(node) }
  }

  package func leave(_ node: SharedNode, within limit: Duration) async throws {
    try await call(within: limit, counts: false) { [server] in server.leave(node) }
  }

  package func acquire(_ lease: SharedLease, within limit: Duration) async throws -> Bool {
    try await call(within: limit) { [server] in server.acquire(lease) }
  }

  package func release(_ lease: SharedLease, within limit: Duration) async throws {
    try await call(within: limit) { [server] in server.release(lease) }
  }

  package func waitForRelease(of key: [UInt8], atMost wait: Duration) async throws {
    try await call(within: wait, counts: false) {}
    await server.wait(whileLeased: key, atMost: wait)
  }

  package func reclaim(where isRemoved: @escaping @Sendable ([UInt8]) -> Bool) async throws -> Int {
    try await call(within: .seconds(1), counts: false) { [server] in server.reclaim(where: isRemoved) }
  }

  package func close() async { fault = .failing }
}
