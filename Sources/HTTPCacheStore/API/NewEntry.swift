// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// An entry to store: a key, a variant, metadata, a body, and the tiers to keep them in.
public struct NewEntry: Sendable {
  /// The resource.
  package var key: StoreKey
  /// Which variant of the resource this is.
  package var variant: VariantID
  /// Your own opaque bytes, served only together with this body. Metadata and key together have at most 16 MiB.
  package var metadata: [UInt8]
  /// The whole body.
  package var body: [UInt8]
  /// The time of storing, in milliseconds since 1970. The store has no clock.
  package var storedAt: Int64
  /// Where to keep the entry; the store refuses an empty set.
  package var tiers: StoreTiers
  /// The scopes that the entry belongs to. The store does not keep them: together with a ``RemovalToken``, they only
  /// find out whether the entry was marked as outdated while it was in flight.
  package var scopes: [StoreScope] = []

  /// Creates an entry with a whole body.
  ///
  /// - Parameters:
  ///   - key: the resource.
  ///   - variant: the variant of the resource.
  ///   - metadata: your own opaque bytes.
  ///   - body: the whole body.
  ///   - storedAt: the time of storing, in milliseconds since 1970.
  ///   - tiers: where to keep the entry (default: in memory and on disk).
  public init(
    key: StoreKey, variant: VariantID, metadata: [UInt8], body: [UInt8], storedAt: Int64,
    tiers: StoreTiers = .all
  ) {
    self.key = key
    self.variant = variant
    self.metadata = metadata
    self.body = body
    self.storedAt = storedAt
    self.tiers = tiers
  }

  package init(
    key: StoreKey, variant: VariantID, metadata: [UInt8], body: [UInt8], storedAt: Int64,
    tiers: StoreTiers = .all, scopes: [StoreScope]
  ) {
    self.init(
      key: key, variant: variant, metadata: metadata, body: body, storedAt: storedAt, tiers: tiers)
    self.scopes = scopes
  }
}

/// A moment in the history of a key's removals. Take it before you fetch an entry.
///
/// The store refuses an insert with the token if the key was removed in between. Sometimes an unrelated removal causes
/// a refusal too, but the store never misses a removal. See ``CacheStore/removalToken(for:)``.
public struct RemovalToken: Sendable, Hashable {
  let moment: StripedCounters.Moment
  /// The lowest number that a mark made from now on can have.
  let sequence: UInt64
  /// Keeps the marks and fences that an insert with this token needs.
  let epoch: Invalidations.Epoch
}
