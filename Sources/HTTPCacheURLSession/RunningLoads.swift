// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Foundation
import HTTPCaching

/// The loads of a session that run, so that they can be cancelled together.
final class RunningLoads: Sendable {
  private struct State {
    var number = 0
    /// What cancels each load, and each content that is still read.
    var cancellations: [Int: @Sendable () -> Void] = [:]

    mutating func add(_ cancel: @escaping @Sendable () -> Void) -> Int {
      number += 1
      cancellations[number] = cancel
      return number
    }
  }

  private let state = Mutex(State())

  /// The number of loads, and of contents that are still read.
  var count: Int { state.withLock { $0.cancellations.count } }

  /// Runs a load in a task, which ends with the caller's task or by ``cancelAll()``.
  func run<Result: Sendable>(_ load: @escaping @Sendable () async throws -> Result) async throws -> Result {
    // Added in the same step, so that no load runs that is not in the table.
    let (task, number) = state.withLock { state in
      let task = Task { try await load() }
      return (task, state.add { task.cancel() })
    }
    defer { remove(number) }
    return try await withTaskCancellationHandler {
      try await task.value
    } onCancel: {
      task.cancel()
    }
  }

  /// Returns content whose reading ends by ``cancelAll()``, too.
  ///
  /// - Parameter url: the URL of errors.
  func content(_ body: MessageBody, of url: URL?) -> MessageBody {
    body.isInMemory ? body : MessageBody(LoadedContent(body, of: url, self), length: body.length)
  }

  fileprivate func add(_ content: LoadedContent) -> Int {
    state.withLock { $0.add { [weak content] in content?.cancel() } }
  }

  fileprivate func remove(_ number: Int) {
    // Released outside the lock.
    _ = state.withLock { $0.cancellations.removeValue(forKey: number) }
  }

  /// Cancels all loads that run, the oldest first: prefetching before its loads, so that it begins no other.
  func cancelAll() {
    for (_, cancel) in state.withLock({ $0.cancellations.sorted { $0.key < $1.key } }) { cancel() }
  }
}

/// The content of a load, while it is read.
private final class LoadedContent: AsyncSequence, Sendable {
  typealias Element = ArraySlice<UInt8>
  typealias Failure = any Error

  private let body: MessageBody
  private let url: URL?
  private let loads: RunningLoads
  private let number = Mutex(0)
  private let isCancelled = Atomic(false)

  init(_ body: MessageBody, of url: URL?, _ loads: RunningLoads) {
    (self.body, self.url, self.loads) = (body, url, loads)
    let own = loads.add(self)
    number.withLock { $0 = own }
  }

  deinit { loads.remove(number.withLock { $0 }) }

  func cancel() {
    isCancelled.store(true, ordering: .releasing)
    body.cancel()
  }

  func makeAsyncIterator() -> Iterator { Iterator(content: self, chunks: body.makeAsyncIterator()) }

  struct Iterator: AsyncIteratorProtocol {
    fileprivate let content: LoadedContent
    fileprivate var chunks: MessageBody.Iterator

    mutating func next() async throws -> ArraySlice<UInt8>? { try await next(isolation: nil) }

    mutating func next(isolation actor: isolated (any Actor)?) async throws -> ArraySlice<UInt8>? {
      do {
        if content.isCancelled.load(ordering: .acquiring) { throw CancellationError() }
        return try await chunks.next(isolation: actor)
      } catch {
        // A cancelled content may fail with any error.
        let isCancelled = content.isCancelled.load(ordering: .acquiring)
        throw URLError.describing(isCancelled ? CancellationError() : error, of: content.url)
      }
    }
  }
}
