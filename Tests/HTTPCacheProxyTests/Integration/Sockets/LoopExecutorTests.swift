// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import HTTPCacheProxy

@Suite("Tasks on event loops", .timeLimit(.minutes(10)))
struct LoopExecutorTests {
  @Test("Tasks run on the event loop until it is closed to them, and on other threads after")
  func place() async throws {
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 2)
    let executors = LoopExecutors(group)
    for loop in group.makeIterator() {
      #expect(await Task(executorPreference: executors[loop]) { loop.inEventLoop }.value)
    }
    executors.close()
    let loops = Array(group.makeIterator())
    for loop in loops { #expect(await !Task(executorPreference: executors[loop]) { loop.inEventLoop }.value) }
    try await group.shutdownGracefully()
    for loop in loops { #expect(await !Task(executorPreference: executors[loop]) { loop.inEventLoop }.value) }
  }

  @Test("A task that waits while its event loop shuts down continues on another thread")
  func outliving() async throws {
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let loop = group.next()
    let executors = LoopExecutors(group)
    let gate = Gate()
    let task = Task(executorPreference: executors[loop]) {
      let began = loop.inEventLoop
      await gate.wait()
      return (began, loop.inEventLoop)
    }
    await gate.arrived(1)
    executors.close()
    try await group.shutdownGracefully()
    gate.open()
    #expect(await task.value == (true, false))
  }
}
