// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// An entry to store in a shared tier.
public struct SharedEntry: Sendable {
  /// The whole key.
  public var key: [UInt8]
  /// Distinguishes the variants of the key.
  public var variant: [UInt8]
  /// The head of the response, with checksums of itself and of the body; the tier does not interpret it.
  public var head: [UInt8]
  /// The content of the response.
  public var body: [UInt8]
  /// The scopes of the entry; see ``SharedRemoval/scopes``.
  public var scopes: [[UInt8]]
  /// Where the log was before the response was requested from the origin.
  public var position: SharedLogPosition
  /// How long to keep the entry.
  public var lifetime: Duration

  /// Makes an entry. Each parameter is documented at the property of its name.
  public init(
    key: [UInt8], variant: [UInt8], head: [UInt8], body: [UInt8], scopes: [[UInt8]],
    position: SharedLogPosition, lifetime: Duration
  ) {
    self.key = key
    self.variant = variant
    self.head = head
    self.body = body
    self.scopes = scopes
    self.position = position
    self.lifetime = lifetime
  }
}

/// An entry that a shared tier returned. The cache checks all of it before it uses any.
public struct FoundSharedEntry: Sendable {
  /// ``SharedEntry/head``.
  public var head: [UInt8]
  /// ``SharedEntry/body``; `nil` if a part of it is lost.
  public var body: [UInt8]?
  /// How long ago the entry was stored, by the tier's own clock: the clocks of the nodes need not agree.
  public var elapsed: Duration

  /// Makes a result. Each parameter is documented at the property of its name.
  public init(head: [UInt8], body: [UInt8]?, elapsed: Duration) {
    (self.head, self.body, self.elapsed) = (head, body, elapsed)
  }
}

/// What a shared tier did with an entry.
public enum SharedStoring: Hashable, Sendable {
  /// It is stored.
  case stored
  /// It is not stored: a removal that concerns it may be in the log after its position.
  case removedSince
  /// It is not stored: the key has many variants already. The cache then stores the entry under a key of its own, and
  /// notes that in an entry without a body. A tier has room for some of those beyond the number of variants.
  case full
}

/// The right of one node to request a key from the origin for all.
public struct SharedLease: Hashable, Sendable {
  /// The whole key.
  public var key: [UInt8]
  /// Identifies the holder: a random number for each request.
  public var owner: UInt64
  /// When the lease ends by itself, counted from the call that takes it.
  public var lifetime: Duration

  /// Makes a lease. Each parameter is documented at the property of its name.
  public init(key: [UInt8], owner: UInt64, lifetime: Duration) {
    (self.key, self.owner, self.lifetime) = (key, owner, lifetime)
  }
}
