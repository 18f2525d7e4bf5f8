// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The loads of one protocol object, which runs one at a time.
///
/// Foundation on Linux stops the load of a task that is suspended, and starts another with the same object when the task
/// is resumed. So each load has a number, and only the current one may call the client.
package struct LoadState: Sendable {
  private var task: Task<Void, Never>?
  private var number = 0
  private var isRunning = false
  private var stream: StreamedContent?
  /// Whether the client knows how the task ended.
  package private(set) var isAnswered = false

  package init() {}

  /// Begins a load, and returns its number; `nil` if the task has its answer, and must not be sent again.
  package mutating func start() -> Int? {
    guard !isAnswered else { return nil }
    number += 1
    isRunning = true
    return number
  }

  /// Whether a load runs, and may call the client.
  package func isCurrent(_ number: Int) -> Bool { isRunning && number == self.number }

  /// Notes the task of a load. Returns `false` if the load was stopped meanwhile, and the task must be cancelled.
  package mutating func note(_ task: Task<Void, Never>, of number: Int) -> Bool {
    guard isCurrent(number) else { return false }
    self.task = task
    return true
  }

  /// Stops the load that runs, and returns its task, to be cancelled.
  package mutating func stop() -> Task<Void, Never>? {
    isRunning = false
    return task.take()
  }

  /// Notes that the client is told how the task ended.
  package mutating func answer() { isAnswered = true }

  /// Returns the content of a request's stream, which can be read once: the same for all loads.
  package mutating func stream(of request: URLRequest) -> StreamedContent? {
    if stream == nil { stream = StreamedContent(request) }
    return stream
  }
}
