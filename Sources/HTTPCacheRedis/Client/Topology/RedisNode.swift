// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore
import Synchronization

/// A server, and the connections to it.
final class RedisNode: Sendable {
  private let links: [RedisLink]
  private let next = Atomic(0)

  init(
    _ configuration: RedisSharedTier.Configuration, _ settings: ConnectionSettings,
    locate: @escaping RedisLink.Locator
  ) {
    links = (0..<max(configuration.connections, 1)).map { _ in
      RedisLink(on: configuration.eventLoopGroup.next(), settings, configuration.backoff, locate: locate)
    }
  }

  func pipeline(_ commands: [[[UInt8]]], timeout: Duration) async throws -> [RedisValue] {
    let link = pick()
    let replies = try await link.connection().pipeline(commands, timeout: timeout)
    // After a failover, the old primary refuses to write, and the link must find the new one.
    if replies.contains(where: { $0.errorCode == "READONLY" }) { link.renew() }
    return replies
  }

  /// The link with the least work that is not cut off; of several, each in turn.
  private func pick() -> RedisLink {
    let start = next.wrappingAdd(1, ordering: .relaxed).oldValue
    var best = links[Int(UInt(bitPattern: start) % UInt(links.count))]
    var least = best.load ?? .max
    guard links.count > 1, least > 0 else { return best }
    for link in links {
      guard let load = link.load, load < least else { continue }
      (best, least) = (link, load)
    }
    return best
  }

  /// Ends the connections, and returns them.
  @discardableResult
  func end() -> [RedisConnection] { links.compactMap { $0.end() } }
}
