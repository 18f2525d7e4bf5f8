// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import NIOCore

/// The open channels of one kind. The proxy closes them when it ends, because its event loops may outlive it.
final class OpenChannels: Sendable {
  private struct State {
    var channels: [ObjectIdentifier: any Channel] = [:]
    var isClosed = false
  }

  private let state = Mutex(State())

  /// Adds a channel until it is closed.
  ///
  /// - Returns: `false` if the proxy is already closing them.
  func add(_ channel: any Channel) -> Bool {
    let isAdded = state.withLock { state in
      if state.isClosed { return false }
      state.channels[ObjectIdentifier(channel)] = channel
      return true
    }
    guard isAdded else { return false }
    channel.closeFuture.whenComplete { [self] _ in
      state.withLock { $0.channels[ObjectIdentifier(channel)] = nil }
    }
    return true
  }

  /// Closes all channels, waits until they are closed, and accepts no more.
  func close() async {
    let channels = state.withLock { state in
      state.isClosed = true
      return Array(state.channels.values)
    }
    for channel in channels { channel.close(promise: nil) }
    for channel in channels { try? await channel.closeFuture.get() }
  }
}
