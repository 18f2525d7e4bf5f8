// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import CacheMutex
import Foundation
import HTTPCacheURLSession
import HTTPCaching

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Content of many megabytes from a server on loopback: through a `URLSession` with a delegate, and through the cache, in
/// turns.
///
/// The content may not be stored. The processor time is that of the process without the server's.
struct TransferBench {
  var transfers: Int
  /// Bytes of the content.
  var size: Int
  var progress: ProgressLine

  func run() async throws -> [Measurement] {
    let head = "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: \(size)\r\n\r\n"
    let response = Array(head.utf8) + [UInt8](repeating: UInt8(ascii: "x"), count: size)
    let origin = try ThreadedOrigin { _ in response }
    let cache = try HTTPCache()
    let configuration = URLSessionConfiguration.ephemeral
    // The machine may have other work.
    configuration.timeoutIntervalForRequest = 600
    let counter = ByteCounter()
    let plain = URLSession(configuration: configuration, delegate: counter, delegateQueue: nil)
    let session = HTTPCacheSession(cache: cache, configuration: configuration)
    let result: Result<[Measurement], any Error>
    do {
      guard let url = URL(string: origin.url("/")) else { throw URLError(.badURL) }
      let lanes = [
        RequestLane(.plainTransfer, .urlSession, source: nil) { _ in
          let count = try await counter.count(of: plain.dataTask(with: url))
          return { (count, nil) }
        },
        RequestLane(.cachedTransfer, source: .network) { _ in
          let (bytes, answer) = try await session.bytes(from: url)
          var count = 0
          for try await chunk in bytes.chunks { count += chunk.count }
          return { [count] in (count, answer.source) }
        },
      ]
      result = .success(
        try await RequestLane.measure(
          lanes, .session, requests: transfers, valueSize: size, originRequests: { origin.requestCount },
          originBusy: { origin.sendingNanoseconds }, progress))
    } catch {
      result = .failure(error)
    }
    plain.finishTasksAndInvalidate()
    await origin.stop()
    return try result.get()
  }
}

/// Counts the bytes of one task at a time.
private final class ByteCounter: NSObject, URLSessionDataDelegate, Sendable {
  private struct State {
    var count = 0
    var caller: CheckedContinuation<Int, any Error>?
  }

  private let state = Mutex(State())

  func count(of task: URLSessionDataTask) async throws -> Int {
    try await withCheckedThrowingContinuation { caller in
      state.withLock { $0 = State(caller: caller) }
      task.resume()
    }
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    state.withLock { $0.count += data.count }
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    let ended = state.withLock { state in
      defer { state = State() }
      return state
    }
    ended.caller?.resume(with: error.map { .failure($0) } ?? .success(ended.count))
  }
}
