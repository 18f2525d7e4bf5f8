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

/// A moment in the history of a key's removals and of all marks, to be taken before an entry is fetched.
///
/// An insert that is given the token is refused when the key was removed, or a scope of the entry marked, in between. Unrelated removals may cause a
/// refusal now and then; a removal is never missed.
public struct RemovalToken: Sendable, Hashable {
  let moment: StripedCounters.Moment
  /// The number that a mark has at least that is made from now on.
  let sequence: UInt64
}
