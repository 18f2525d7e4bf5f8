// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCaching

/// Wakes tasks that wait for the release of a lease. A connection of its own reads the stream of released leases while
/// there is such a task.
final class ReleaseWatch: Sendable {
  private struct State {
    var waiters: [Int: (key: [UInt8], continuation: CheckedContinuation<Void, Never>?)] = [:]
    var lastWaiter = 0
    var last = "0-0"
    var isReading = false
    var isStopped = false
  }

  private let stream: [UInt8]
  private let client: RedisClient
  private let line: RedisLine
  private let state = Mutex(State())

  init(_ client: RedisClient, stream: [UInt8]) {
    self.client = client
    self.stream = stream
    line = RedisLine(client, key: stream)
  }

  /// Waits until a lease is released or ends.
  ///
  /// - Parameters:
  ///   - key: the lease.
  ///   - deadline: when to stop waiting.
  ///   - left: returns, within a time limit, how long the lease still lasts; `nil` if it has ended. Called after this task
  ///     is a waiter, so that no release is missed.
  func wait(
    for key: [UInt8], until deadline: CallDeadline,
    left: (_ limit: Duration) async throws -> Duration?
  ) async throws {
    // A server that does not answer is noticed before the end of a long wait.
    func limit() -> Duration { min(client.configuration.requestTimeout, deadline.rest) }
    let number = state.withLock { state in
      state.lastWaiter += 1
      state.waiters[state.lastWaiter] = (key, nil)
      return state.lastWaiter
    }
    defer { wake { $0 == number } }
    try await prepare(within: limit())
    guard let rest = try await left(limit()) else { return }
    let timer = Task { [weak self, clock = client.configuration.clock] in
      try? await clock.sleep(for: min(rest, deadline.rest))
      self?.wake { $0 == number }
    }
    defer { timer.cancel() }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isOver = state.withLock { state in
          guard state.waiters[number] != nil, !Task.isCancelled else { return true }
          state.waiters[number]?.continuation = continuation
          return false
        }
        if isOver { continuation.resume() }
      }
    } onCancel: {
      wake { $0 == number }
    }
  }

  /// Finds the present end of the stream, and begins to read from there.
  private func prepare(within limit: Duration) async throws {
    guard state.withLock({ !$0.isReading && !$0.isStopped }) else { return }
    let reply = try await client.send(
      ["XREVRANGE", "", "+", "-", "COUNT", "1"].enumerated().map { $0 == 1 ? stream : Array($1.utf8) },
      key: stream, timeout: limit)
    let last = reply.elements?.first?.elements?.first?.text ?? "0-0"
    let begins = state.withLock { state in
      guard !state.isReading, !state.isStopped else { return false }
      state.isReading = true
      state.last = last
      return true
    }
    guard begins else { return }
    Task { [weak self] in
      while let self, await readOnce() {}
    }
  }

  /// - Returns: whether to read on.
  private func readOnce() async -> Bool {
    let goesOn = state.withLock { state in
      if state.waiters.isEmpty || state.isStopped { state.isReading = false }
      return state.isReading
    }
    guard goesOn else { return false }
    let last = state.withLock { $0.last }
    do {
      let reply = try await line.send(
        ["XREAD", "COUNT", "256", "BLOCK", "500", "STREAMS"].map { Array($0.utf8) } + [
          stream, Array(last.utf8),
        ],
        timeout: .milliseconds(500) + client.configuration.requestTimeout)
      for entry in reply.elements?.first?.elements?.dropFirst().first?.elements ?? [] {
        guard let parts = entry.elements, parts.count == 2, let id = parts[0].text else { continue }
        state.withLock { $0.last = id }
        if let key = parts[1].elements?.dropFirst().first?.bytes { wake { self.isWaiting($0, for: key) } }
      }
      if case .error = reply { throw RedisError(.protocolViolation, "the stream of leases cannot be read") }
      return true
    } catch {
      // What is released from now on may be missed: let all look again.
      state.withLock { $0.isReading = false }
      wake { _ in true }
      return false
    }
  }

  private func isWaiting(_ number: Int, for key: [UInt8]) -> Bool {
    state.withLock { $0.waiters[number]?.key == key }
  }

  private func wake(_ isMeant: (Int) -> Bool) {
    for number in state.withLock({ Array($0.waiters.keys) }) where isMeant(number) {
      state.withLock { $0.waiters.removeValue(forKey: number) }?.continuation?.resume()
    }
  }

  func stop() {
    state.withLock { $0.isStopped = true }
    line.stop()
    wake { _ in true }
  }
}
