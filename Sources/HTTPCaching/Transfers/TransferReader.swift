// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheStore

/// A caller's reader of a transfer. It can be read once. When it is released, or its task is cancelled, the transfer
/// has one reader less.
final class TransferReader: AsyncSequence, CancellableStream, Sendable {
  typealias Element = ArraySlice<UInt8>
  typealias Failure = any Error

  private let transfer: Transfer
  private let reader: Transfer.ReaderID
  /// Keeps the fetch alive for this reader.
  private let claim: Mutex<Fetch.Claim?>
  private let isBeingRead = Atomic(false)
  private let live = LiveCount(.reader)

  init(_ transfer: Transfer, _ reader: Transfer.ReaderID, _ claim: Fetch.Claim) {
    self.transfer = transfer
    self.reader = reader
    self.claim = Mutex(claim)
  }

  deinit {
    cancel()
  }

  /// The objects that it keeps alive; tests check that they are released.
  var parts: [AnyObject] {
    let fetch = claim.withLock { $0?.fetch }
    return [transfer] + [transfer.writer].compactMap { $0 } + [fetch].compactMap { $0 }
  }

  func cancel() {
    transfer.remove(reader)
    // Released outside the lock, because the last claim cancels a task.
    let claim = claim.withLock { claim in
      defer { claim = nil }
      return claim
    }
    withExtendedLifetime(claim) {}
  }

  func makeAsyncIterator() -> Iterator {
    Iterator(reader: self, isOnly: !isBeingRead.exchange(true, ordering: .relaxed))
  }

  struct Iterator: AsyncIteratorProtocol {
    let reader: TransferReader
    let isOnly: Bool

    mutating func next() async throws -> ArraySlice<UInt8>? {
      try await next(isolation: nil)
    }

    mutating func next(isolation actor: isolated (any Actor)?) async throws -> ArraySlice<UInt8>? {
      guard isOnly else { throw HTTPCacheError.bodyAlreadyRead }
      do {
        return try await reader.transfer.next(reader.reader)
      } catch {
        reader.cancel()
        throw error
      }
    }
  }
}
