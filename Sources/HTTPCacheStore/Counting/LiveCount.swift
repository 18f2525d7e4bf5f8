// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Synchronization

/// Counts the objects of one kind that exist in this process: an object counts as long as its owner lives.
///
/// A class whose objects must not outlive their use has one as a stored property. The soak test and `/metrics` read the
/// counts, so that a leak shows as a growing number. The count costs two atomic additions for each object.
package struct LiveCount: ~Copyable, Sendable {
  /// The kind of object. The raw value is the label in `/metrics`.
  package enum Kind: String, CaseIterable, Sendable {
    /// Requests to the origin that callers may wait for.
    case fetch
    /// Response contents between the origin, the store and their readers.
    case transfer
    /// Callers that read a transfer.
    case reader
    /// Entries of the store that are being written.
    case writer
    /// The proxy's connections from clients.
    case clientConnection = "client_connection"
    /// The streams of those, in HTTP/2.
    case clientStream = "client_stream"
    /// The proxy's connections to the origin.
    case originConnection = "origin_connection"
    /// The streams of those, in HTTP/2.
    case originStream = "origin_stream"
    /// Pairs of the proxy's connections that carry a protocol other than HTTP.
    case tunnel

    /// The number of objects of this kind in this process.
    package var count: Int { counter.value.load(ordering: .relaxed) }

    fileprivate var counter: Counter {
      switch self {
      case .fetch: Self.fetches
      case .transfer: Self.transfers
      case .reader: Self.readers
      case .writer: Self.writers
      case .clientConnection: Self.clientConnections
      case .clientStream: Self.clientStreams
      case .originConnection: Self.originConnections
      case .originStream: Self.originStreams
      case .tunnel: Self.tunnels
      }
    }

    private static let fetches = Counter()
    private static let transfers = Counter()
    private static let readers = Counter()
    private static let writers = Counter()
    private static let clientConnections = Counter()
    private static let clientStreams = Counter()
    private static let originConnections = Counter()
    private static let originStreams = Counter()
    private static let tunnels = Counter()
  }

  private let kind: Kind

  package init(_ kind: Kind) {
    self.kind = kind
    kind.counter.value.wrappingAdd(1, ordering: .relaxed)
  }

  deinit {
    kind.counter.value.wrappingSubtract(1, ordering: .relaxed)
  }
}

private final class Counter: Sendable {
  let value = Atomic<Int>(0)
}
