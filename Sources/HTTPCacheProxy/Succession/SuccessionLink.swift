// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CPlatform
import CacheMutex
import HTTPCaching
import NIOCore
import NIOPosix

/// The connection between a process and the one that takes its place.
final class SuccessionLink: Sendable {
  /// Maximum time to wait until the other process has applied a removal.
  static let patience = TimeAmount.seconds(10)

  /// Maximum removals that are kept until they are applied; beyond it they become one of everything.
  static let mostUnapplied = 4096

  private struct State {
    var lastNumber: UInt64 = 0
    /// Removals that the other process has not applied yet.
    var unapplied: [(number: UInt64, payload: [UInt8])] = []
    var waiters: [Int: (number: UInt64, continuation: CheckedContinuation<Bool, Never>)] = [:]
    var lastWaiter = 0
    var isOver = false
    var question: CheckedContinuation<Bool, Never>?
  }

  let channel: any Channel
  /// The other process's messages that are not answers, until the connection ends.
  let messages: AsyncStream<SuccessionMessage>
  private let received: AsyncStream<SuccessionMessage>.Continuation
  private let state = Mutex(State())
  /// Locked while removals are applied in the place of the other process.
  private let resting = Mutex<Void>(())

  /// Adds a link to a connection, on its event loop.
  init(_ channel: any Channel) throws {
    self.channel = channel
    (messages, received) = AsyncStream.makeStream()
    try channel.pipeline.syncOperations.addHandler(Handler(self))
  }

  func send(_ message: SuccessionMessage) {
    channel.writeAndFlush(ByteBuffer(bytes: message.bytes), promise: nil)
  }

  /// Sends a message with a descriptor, which stays open here.
  ///
  /// - Precondition: nothing that was sent before still waits for the other process to read.
  func send(_ message: SuccessionMessage, with descriptor: CInt) async throws {
    let channel = channel
    try await channel.eventLoop.submit {
      try channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) {
        let bytes = message.bytes
        guard local_send($0, bytes, bytes.count, descriptor) == bytes.count else {
          throw IOError(errnoCode: errno, reason: "sendmsg")
        }
      }
    }.get()
  }

  /// Sends a message, and waits for the answer: ``SuccessionMessage/released`` or ``SuccessionMessage/paused``.
  ///
  /// - Returns: `false` if the other process is gone, or does not answer in time.
  func ask(_ message: SuccessionMessage, within time: TimeAmount) async -> Bool {
    let timer = channel.eventLoop.scheduleTask(in: time) { [self] in answer(false) }
    defer { timer.cancel() }
    return await withCheckedContinuation { continuation in
      let isOver = state.withLock { state in
        if !state.isOver { state.question = continuation }
        return state.isOver
      }
      if isOver { continuation.resume(returning: false) } else { send(message) }
    }
  }

  private func answer(_ result: Bool) {
    let question = state.withLock { state in
      defer { state.question = nil }
      return state.question
    }
    question?.resume(returning: result)
  }

  /// Refuses the other process, and ends the connection.
  func refuse(_ reason: String) {
    channel.writeAndFlush(ByteBuffer(bytes: SuccessionMessage.refused(reason).bytes))
      .whenComplete { [channel] _ in channel.close(promise: nil) }
  }

  func close() { channel.close(promise: nil) }

  // MARK: - Removals

  /// Tells the other process a removal, as long as it is there. ``applyRest(_:)`` gets what it has not applied.
  func tell(_ payload: [UInt8]) {
    state.withLock { state in
      state.lastNumber += 1
      if state.unapplied.count == Self.mostUnapplied {
        state.unapplied = [(state.lastNumber, HTTPCache.removalOfEverything)]
      } else {
        state.unapplied.append((state.lastNumber, payload))
      }
      // Under the lock, and so in the order of the numbers; written later, as a failure takes the lock.
      if !state.isOver {
        let message = SuccessionMessage.removal(state.lastNumber, payload)
        channel.eventLoop.execute { [self] in send(message) }
      }
    }
  }

  /// Waits until the other process has applied all that it was told, or is gone.
  ///
  /// - Returns: `false` if that takes too long.
  func hasApplied() async -> Bool {
    let id = state.withLock { state in
      state.lastWaiter += 1
      return state.lastWaiter
    }
    let timer = channel.eventLoop.scheduleTask(in: Self.patience) { [self] in
      end(false) { waiter, _ in waiter == id }
    }
    defer { timer.cancel() }
    return await withCheckedContinuation { continuation in
      let isApplied = state.withLock { state in
        guard !state.isOver, let last = state.unapplied.last else { return true }
        state.waiters[id] = (last.number, continuation)
        return false
      }
      if isApplied { continuation.resume(returning: true) }
    }
  }

  /// Ends some of the waits for removals.
  private func end(_ result: Bool, _ isMeant: (_ waiter: Int, _ number: UInt64) -> Bool) {
    let waiters = state.withLock { state in
      let waiters = state.waiters.filter { isMeant($0.key, $0.value.number) }
      for id in waiters.keys { state.waiters[id] = nil }
      return waiters.values.map(\.continuation)
    }
    for waiter in waiters { waiter.resume(returning: result) }
  }

  /// Applies the removals that the other process has not applied, if it is gone.
  ///
  /// - Parameter apply: applies them, one call at a time, and returns whether that succeeded.
  /// - Returns: whether all are applied.
  func applyRest(_ apply: ([[UInt8]]) -> Bool) -> Bool {
    resting.withLock { _ in
      let rest = state.withLock { $0.isOver ? $0.unapplied : [] }
      guard let last = rest.last else { return true }
      guard apply(rest.map(\.payload)) else { return false }
      applied(upTo: last.number)
      return true
    }
  }

  /// Returns the removals that the other process, which is gone, has not applied: they are another one's.
  func takeRest() -> [[UInt8]] {
    resting.withLock { _ in
      state.withLock { state in
        guard state.isOver else { return [] }
        defer { state.unapplied = [] }
        return state.unapplied.map(\.payload)
      }
    }
  }

  private func applied(upTo number: UInt64) {
    state.withLock { state in state.unapplied.removeAll { $0.number <= number } }
    end(true) { $1 <= number }
  }

  private func ended() {
    state.withLock { $0.isOver = true }
    end(true) { _, _ in true }
    answer(false)
    received.finish()
  }

  // MARK: - Channel

  private final class Handler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let link: SuccessionLink
    private var buffer = ByteBuffer()

    init(_ link: SuccessionLink) { self.link = link }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      var bytes = unwrapInboundIn(data)
      buffer.writeBuffer(&bytes)
      while let bytes = buffer.getBytes(at: buffer.readerIndex, length: SuccessionMessage.headCount) {
        guard let (kind, count) = SuccessionMessage.head(bytes) else { return context.close(promise: nil) }
        guard buffer.readableBytes >= SuccessionMessage.headCount + count else { break }
        buffer.moveReaderIndex(forwardBy: SuccessionMessage.headCount)
        let content = buffer.readBytes(length: count) ?? []
        // A kind that only a later version has means nothing to this one.
        guard let message = SuccessionMessage(kind: kind, content) else { continue }
        switch message {
        // At once: who applies removals may be waiting for the disk.
        case .applied(let number): link.applied(upTo: number)
        case .released, .paused: link.answer(true)
        default: link.received.yield(message)
        }
      }
      buffer.discardReadBytes()
    }

    func channelInactive(context: ChannelHandlerContext) { link.ended() }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
  }
}
