// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import NIOCore
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Counts the requests for content of 5 MB: a session collects each content whole, and that memory is not the cache's.
final class LargeCount: Sendable {
  private let count = Mutex(0)

  func enter() -> Bool {
    count.withLock { count in
      if count >= DoorSizes.largeAtOnce { return false }
      count += 1
      return true
    }
  }
  func leave() { count.withLock { $0 -= 1 } }
}

/// A client of the session door. It runs in the door's process.
struct SessionClient: Sendable {
  let session: URLSession
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
    guard let url = URL(string: "http://127.0.0.1:\(origin)\(exchange.cell.path)") else { return }
    var request = URLRequest(url: url)
    request.httpMethod = exchange.method
    for (name, value) in exchange.fields { request.setValue(value, forHTTPHeaderField: name) }
    if let content = exchange.requestContent {
      request.httpBody = Data(content.bytes(0..<content.size).readableBytesView)
    }
    let task = Task { [request] in try await session.data(for: request) }
    if exchange.client == .leaves {
      // Within 18 ms, and more often soon: an answer from the store does not take long.
      let step = Int(exchange.detail % 20)
      try? await Task.sleep(for: .microseconds(step * step * 50))
      task.cancel()
    }
    let (data, response) = try await task.value
    guard let response = response as? HTTPURLResponse else { throw exchange.failure("no HTTP response") }

    let status = response.statusCode
    let expected = try exchange.expected(status: status, followsRedirects: true) {
      response.value(forHTTPHeaderField: $0)
    }
    guard let content = expected.content else { return }
    guard data.count == expected.range.count else {
      throw exchange.failure("status \(status): expected \(expected.range.count) bytes, found \(data.count)")
    }
    // Piece by piece: what is compared with is not to count as memory that grows.
    for start in stride(from: 0, to: data.count, by: 64 << 10) {
      let piece = ByteBuffer(bytes: data[start..<Swift.min(start + 64 << 10, data.count)])
      guard content.matches(piece, at: expected.range.lowerBound + start) else {
        throw exchange.failure("status \(status): unexpected content within 64 KiB from \(start)")
      }
    }
  }
}
