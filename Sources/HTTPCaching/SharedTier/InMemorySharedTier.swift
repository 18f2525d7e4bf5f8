// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import Synchronization

/// One node's connection to an ``InMemorySharedServer``, with faults that a test switches on and off.
package final class InMemorySharedTier: SharedTier {
  /// What happens to the calls of the node.
  package enum Fault: Hashable, Sendable, CaseIterable {
    case none
    /// Each call throws.
    case failing
    /// No call is answered, and none ends when its task is cancelled.
    case hanging
    /// Each call takes effect, and then throws: its answer is lost.
    case losingAnswers
    /// The records of the log say nothing: the node does not learn what others removed. Nothing can protect from that. It
    /// shows that a test notices.
    case emptyingRecords
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

  package init(_ server: InMemorySharedServer) {
    self.server = server
  }

  package var fault: Fault {
    get { state.withLock { $0 } }
    set {
      state.withLock { $0 = newValue }
      if newValue != .hanging { resumeAll() }
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

  /// The number of calls of the node, other than heartbeats and waiting.
  package var callCount: Int { calls.load(ordering: .relaxed) }

  private func call<Result>(counts: Bool = true, _ body: () -> Result) async throws -> Result {
    if counts { calls.wrappingAdd(1, ordering: .relaxed) }
    switch fault {
    case .none, .emptyingRecords: return body()
    case .failing: throw Unreachable()
    case .losingAnswers:
      _ = body()
      throw Unreachable()
    case .hanging:
      await withCheckedContinuation { continuation in
        hanging.withLock { $0.append(continuation) }
        if fault != .hanging { resumeAll() }
      }
      throw Unreachable()
    }
  }

  package func find(_ key: [UInt8], within limit: Duration) async throws -> [FoundSharedEntry] {
    try await withDeadline(limit) { [self] in try await call { server.find(key) } }
  }

  package func store(_ entry: SharedEntry) async throws -> SharedStoring {
    try await call { server.store(entry) }
  }

  package func append(_ removal: SharedRemoval) async throws -> SharedLogPosition {
    try await call { server.append(removal) }
  }

  package func records(after position: SharedLogPosition, waiting wait: Duration) async throws
    -> SharedLogPage
  {
    var page = try await call(counts: false) { server.records(after: position) }
    if fault == .emptyingRecords {
      let nothing = Removal.scopes([]).payload(node: 0)
      for index in page.records.indices { page.records[index].payload = nothing }
    }
    guard page.records.isEmpty, page.epoch == position.epoch, wait > .zero else { return page }
    await server.wait(atMost: wait) { [server] in server.last != position }
    return try await call(counts: false) { server.records(after: position) }
  }

  package func heartbeat(_ node: SharedNode) async throws -> SharedLogHead {
    try await call(counts: false) { server.heartbeat(node) }
  }

  package func leave(_ node: SharedNode) async throws { try await call(counts: false) { server.leave(node) } }

  package func acquire(_ lease: SharedLease, within limit: Duration) async throws -> Bool {
    try await withDeadline(limit) { [self] in try await call { server.acquire(lease) } }
  }

  package func release(_ lease: SharedLease) async throws { try await call { server.release(lease) } }

  package func waitForRelease(of key: [UInt8], atMost wait: Duration) async throws {
    try await call(counts: false) {}
    await server.wait(atMost: wait) { [server] in !server.hasLease(key) }
  }

  package func close() async { fault = .failing }
}
