// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import NIOCore

/// One connection to one server.
///
/// Requests may be sent before the connection is made: they wait for it within their time limits. After the connection
/// ended, every request fails at once.
package final class RedisConnection: Sendable {
  private let eventLoop: any EventLoop
  private let inbox: RequestInbox
  private let core: NIOLoopBoundBox<ConnectionCore>
  private let counters: RedisCounters
  private let closed: EventLoopFuture<Void>

  init(
    on eventLoop: any EventLoop, _ settings: ConnectionSettings,
    report: @escaping @Sendable (ConnectionCore.Event) -> Void = { _ in }
  ) {
    self.eventLoop = eventLoop
    counters = settings.counters
    inbox = RequestInbox(
      maximumCommands: settings.maximumWaitingCommands, maximumBytes: settings.maximumWaitingBytes)
    let core = ConnectionCore(on: eventLoop, settings, inbox: inbox, report: report)
    closed = core.closeFuture
    self.core = NIOLoopBoundBox.makeBoxSendingValue(core, eventLoop: eventLoop)
  }

  deinit { end(.clientClosed) }

  /// Connects to the server that `locate` finds.
  func open(_ locate: @escaping @Sendable () async throws(RedisError) -> RedisAddress) {
    let (eventLoop, core) = (eventLoop, core)
    Task {
      do throws(RedisError) {
        let server = try await locate()
        eventLoop.execute { core.value.connect(to: server) }
      } catch {
        eventLoop.execute { core.value.end(error) }
      }
    }
  }

  /// The number of commands without a reply.
  var load: Int { inbox.commands }

  /// Sends a command and waits for its reply.
  ///
  /// - Parameters:
  ///   - arguments: the command and its arguments.
  ///   - timeout: how long to wait for the reply. For a command that blocks, more than it blocks.
  /// - Returns: the reply, which may be an error.
  /// - Throws: ``RedisError``, or `CancellationError` if the task is cancelled; then the reply is ignored.
  package func send(_ arguments: [[UInt8]], timeout: Duration) async throws -> RedisValue {
    try await pipeline([arguments], timeout: timeout)[0]
  }

  /// Sends commands in one write and waits for all replies.
  ///
  /// - Parameters:
  ///   - commands: the commands with their arguments.
  ///   - timeout: how long to wait for the replies.
  /// - Returns: one reply for each command.
  /// - Throws: ``RedisError``, or `CancellationError` if the task is cancelled; then the replies are ignored.
  package func pipeline(_ commands: [[[UInt8]]], timeout: Duration) async throws -> [RedisValue] {
    guard !commands.isEmpty else { return [] }
    guard commands.allSatisfy({ !$0.isEmpty }) else {
      throw RedisError(.invalidCommand, "a command needs at least its name")
    }
    let bytes = CommandWriter.write(commands, with: ByteBufferAllocator())
    let request = Request(bytes, commands: commands.count, deadline: eventLoop.now + TimeAmount(timeout))
    counters.waiting.wrappingAdd(1, ordering: .relaxed)
    defer { counters.waiting.wrappingSubtract(1, ordering: .relaxed) }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        request.whenFinished { continuation.resume(with: $0) }
        submit(request)
      }
    } onCancel: {
      request.finish(.failure(CancellationError()))
    }
  }

  private func submit(_ request: Request) {
    do throws(RedisError) {
      guard try inbox.add(request) else { return }
      let core = core
      eventLoop.execute { core.value.drain() }
    } catch {
      request.finish(.failure(error))
    }
  }

  /// Closes the connection and waits until its socket is closed. Requests without a reply fail with
  /// ``RedisError/Code/closed``.
  package func close() async {
    end(.clientClosed)
    // It never fails.
    try? await closed.get()
  }

  /// Closes the connection soon. Requests without a reply fail with the error.
  func end(_ error: RedisError) {
    let core = core
    eventLoop.execute { core.value.end(error) }
  }
}

extension RedisError {
  static var clientClosed: RedisError {
    RedisError(.closed, "the connection to the server was closed by its client")
  }
}
