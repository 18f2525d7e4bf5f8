/// What is put into a store: a head, a body, and where to keep them.
public struct NewEntry: Sendable {
  /// The resource.
  public var key: StoreKey
  /// Which variant of the resource this is.
  public var variant: VariantID
  /// The caller's opaque bytes, served only together with this body.
  public var metadata: [UInt8]
  /// The whole body.
  public var body: [UInt8]
  /// When the entry was stored, in milliseconds since 1970. The store has no clock of its own.
  public var storedAt: Int64
  /// Where to keep the entry.
  public var tiers: StoreTiers
  /// What the entry belongs to. They are not kept: they only tell, with a ``RemovalToken``, whether the entry was marked
  /// as outdated while it was on its way.
  public var scopes: [StoreScope]

  public init(
    key: StoreKey, variant: VariantID, metadata: [UInt8], body: [UInt8], storedAt: Int64,
    tiers: StoreTiers = .all, scopes: [StoreScope] = []
  ) {
    self.key = key
    self.variant = variant
    self.metadata = metadata
    self.body = body
    self.storedAt = storedAt
    self.tiers = tiers
    self.scopes = scopes
  }
}

/// What became of an insert.
public enum InsertOutcome: Sendable, Hashable {
  /// The entry is visible in at least one of the tiers asked for.
  case stored(EntryID)
  /// Nothing was stored, and what was there of the same key and variant is gone unless the reason says otherwise.
  case refused(RefusalReason)

  /// The id of the entry, when it was stored.
  public var id: EntryID? {
    guard case .stored(let id) = self else { return nil }
    return id
  }
}

/// Why a store did not keep an entry.
public enum RefusalReason: Sendable, Hashable {
  /// The entry is larger than the maximum or than the capacity of every tier asked for.
  case tooLarge
  /// The key was removed, or a scope of the entry marked, after the removal token was taken. The store is as that left
  /// it.
  case removedSince
  /// A newer entry of the same key and variant came first. That one stays.
  case superseded
  /// A more recent entry is in its place, as the caller says of it; see ``CacheStore/insert(_:unlessRemovedSince:unless:)``.
  /// The store is as it was.
  case overtaken
  /// No room could be made: what fills the tier is being written at this moment.
  case noRoom
  /// None of the tiers asked for exists or has a capacity.
  case noTier
  /// The disk failed; ``CacheStore/statistics`` counts it.
  case inputOutput
  /// The body's length is not the one announced. The store is as it was.
  case lengthMismatch
  /// The writer was cancelled. The store is as it was.
  case cancelled
  /// The store is closed.
  case closed
}

/// A moment in the history of a key's removals and of all marks, to be taken before an entry is fetched.
///
/// An insert that is given the token is refused when the key was removed, or a scope of the entry marked, in between. Unrelated removals may cause a
/// refusal now and then; a removal is never missed.
public struct RemovalToken: Sendable, Hashable {
  let moment: StripedCounters.Moment
  /// The number that a mark has at least that is made from now on.
  let sequence: UInt64
}
