/// One entry of a shard: its bytes, and its places in three structures.
struct MemorySlot {
  static let none: Int32 = -1

  // What finding and promoting touch comes first, within 64 bytes.
  var hash: UInt64 = 0
  var entry = PackedEntry.empty
  /// The neighbour used more recently.
  var newer = MemorySlot.none
  /// The neighbour used less recently; of a free slot, the next free one.
  var older = MemorySlot.none
  /// The next variant of the same key, with a lower id.
  var nextVariant = MemorySlot.none
  /// Of a key's first slot: memory holds every variant that the store has.
  var isComplete = false

  var variant = VariantID(rawValue: 0)
  /// 0 of a free slot.
  var id: UInt64 = 0
  /// The sequence number of the insert or update that the metadata came with: late updates do not undo newer ones.
  var revision: UInt64 = 0
  var storedAt: Int64 = 0
  var cost = 0

  var storedEntry: StoredEntry {
    StoredEntry(id: EntryID(rawValue: id), variant: variant, storedAt: storedAt, packed: entry, tier: .memory)
  }
}
