// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore
import NIOPosix

/// Accepts the connections of a port: only while there is room, and not at once after the process had no descriptor.
///
/// Only an accepted connection shows that there is a client, for which another connection must make room. It waits here
/// for its place; more clients wait in the kernel's queue.
final class AcceptGate: ChannelDuplexHandler {
  typealias InboundIn = any Channel
  typealias InboundOut = any Channel
  typealias OutboundIn = any Channel

  /// The time until the next attempt after a failure.
  static let pause = TimeAmount.milliseconds(250)

  private let connections: ConnectionTable
  private var context: ChannelHandlerContext?
  /// Accepted connections without a place.
  private var waiting: [any Channel] = []
  private var isReadWanted = false
  private var timer: Scheduled<Void>?

  init(_ connections: ConnectionTable) {
    self.connections = connections
  }

  func handlerAdded(context: ChannelHandlerContext) {
    self.context = context
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    self.context = nil
    timer?.cancel()
    for channel in waiting { channel.close(promise: nil) }
    waiting = []
  }

  func read(context: ChannelHandlerContext) {
    isReadWanted = true
    readOn(context)
  }

  /// Lets in the connections that wait: the socket is closed here, and another process accepts from now on.
  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    guard event is PassedOn else { return context.fireUserInboundEventTriggered(event) }
    for channel in waiting {
      connections.admitLast(channel)
      context.fireChannelRead(wrapInboundOut(channel))
    }
    waiting = []
  }

  struct PassedOn: Sendable {}

  private func readOn(_ context: ChannelHandlerContext) {
    guard isReadWanted, waiting.isEmpty else { return }
    isReadWanted = false
    context.read()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    waiting.append(unwrapInboundIn(data))
    admit(context)
  }

  private func admit(_ context: ChannelHandlerContext) {
    let gate = NIOLoopBound(self, eventLoop: context.eventLoop)
    let loop = context.eventLoop
    while let channel = waiting.first {
      let isAdmitted = connections.admit(channel, of: ObjectIdentifier(self), waiting: waiting.count) {
        loop.execute {
          if let context = gate.value.context { gate.value.admit(context) }
        }
      }
      guard isAdmitted else { return }
      waiting.removeFirst()
      context.fireChannelRead(wrapInboundOut(channel))
    }
    readOn(context)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    guard let error = error as? IOError, DescriptorLimit.isShortage(error) else {
      return context.fireErrorCaught(error)
    }
    connections.acceptFailed(error)
    // The socket stays readable, and the channel waits for that although nothing asks it to read: it would try at once.
    // Only this option stops it.
    try? context.channel.syncOptions?.setOption(.autoRead, value: false)
    let gate = NIOLoopBound(self, eventLoop: context.eventLoop)
    timer?.cancel()
    timer = context.eventLoop.scheduleTask(in: Self.pause) {
      try? gate.value.context?.channel.syncOptions?.setOption(.autoRead, value: true)
    }
  }
}

extension ServerBootstrap {
  /// Accepts connections as a table allows.
  func accepting(in connections: ConnectionTable) -> ServerBootstrap {
    serverChannelInitializer { channel in
      channel.eventLoop.makeCompletedFuture {
        try channel.pipeline.syncOperations.addHandler(AcceptGate(connections))
      }
    }
  }
}
