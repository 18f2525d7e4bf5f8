// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// An entry to be stored: a key, a variant, metadata, a body, and where to keep them.
public struct NewEntry: Sendable {
  /// The resource.
  package var key: StoreKey
  /// Which variant of the resource this is.
  package var variant: VariantID
  /// Opaque bytes of your own, served only together with this body. With the key, 16 MiB at most.
  package var metadata: [UInt8]
  /// The whole body.
  package var body: [UInt8]
  /// The time of storing, in milliseconds since 1970. The store has no clock of its own.
  package var storedAt: Int64
  /// Where to keep the entry; an empty set refuses it.
  package var tiers: StoreTiers
  /// What the entry belongs to. Scopes are not kept: they only tell, with a ``RemovalToken``, whether the entry was marked
  /// as outdated while it was on its way.
  package var scopes: [StoreScope] = []

  /// Creates an entry with a whole body.
  ///
  /// - Parameters:
  ///   - key: the resource.
  ///   - variant: the variant of the resource.
  ///   - metadata: opaque bytes of your own.
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

/// A moment in the history of a key's removals, to be taken before an entry is fetched.
///
/// An insert with the token is refused if the key was removed in between. Now and then an unrelated removal causes a refusal
/// too; a removal is never missed. See ``CacheStore/removalToken(for:)``.
public struct RemovalToken: Sendable, Hashable {
  let moment: StripedCounters.Moment
  /// The number that a mark has at least that is made from now on.
  let sequence: UInt64
}
