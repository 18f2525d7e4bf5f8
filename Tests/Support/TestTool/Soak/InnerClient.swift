// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import NIOCore

/// Counts the requests for content of 5 MB: a client collects each content whole, and that memory is not the cache's.
final class LargeCount: Sendable {
  private let count = Mutex(0)

  func enter() -> Bool {
    count.withLock { count in
      if count >= EntryPointSizes.largeAtOnce { return false }
      count += 1
      return true
    }
  }
  func leave() { count.withLock { $0 -= 1 } }
}

/// A client in the process of its entry point.
struct InnerClient: Sendable {
  /// Loads the whole response to an exchange from a port.
  typealias Load = @Sendable (Exchange, _ origin: Int) async throws -> Loaded

  struct Loaded: Sendable {
    var status: Int
    var field: @Sendable (String) -> String?
    var content: ArraySlice<UInt8>
  }

  let load: Load
  let origin: Int
  let draws: Draws
  let tally: Tally
  let large: LargeCount

  func run() async {
    while !tally.isStopped {
      let exchange = draws.next()
      let isLarge = exchange.cell.size == Cell.large
      if isLarge, !large.enter() { continue }
      do {
        try await perform(exchange)
      } catch let failure as Exchange.Failure {
        tally.fail(failure.description)
      } catch {
        if !exchange.cell.mayFail, exchange.client != .leaves {
          tally.fail("\(exchange.failure("\(error)"))")
        }
      }
      if isLarge { large.leave() }
      tally.count()
    }
  }

  private func perform(_ exchange: Exchange) async throws {
    let task = Task { try await load(exchange, origin) }
    if exchange.client == .leaves {
      // Within 18 ms, and more often soon: an answer from the store does not take long.
      let step = Int(exchange.detail % 20)
      try? await Task.sleep(for: .microseconds(step * step * 50))
      task.cancel()
    }
    let loaded = try await task.value
    let (status, data) = (loaded.status, loaded.content)
    let expected = try exchange.expected(status: status, followsRedirects: true, loaded.field)
    guard let content = expected.content else { return }
    guard data.count == expected.range.count else {
      throw exchange.failure("status \(status): expected \(expected.range.count) bytes, found \(data.count)")
    }
    // Piece by piece: what is compared with is not to count as memory that grows.
    for start in stride(from: 0, to: data.count, by: 64 << 10) {
      let piece = ByteBuffer(bytes: data.dropFirst(start).prefix(64 << 10))
      guard content.matches(piece, at: expected.range.lowerBound + start) else {
        throw exchange.failure("status \(status): unexpected content within 64 KiB from \(start)")
      }
    }
  }
}
