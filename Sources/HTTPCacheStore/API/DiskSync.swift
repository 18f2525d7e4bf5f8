/// When what is written is brought to the disk itself (`fdatasync`), so that it survives a loss of power.
///
/// Whatever is chosen, no byte is ever served that was not stored, nothing that was removed comes back after the *process* ends, and ``CacheStore/flush()`` syncs.
public enum DiskSync: String, Sendable, Hashable, CaseIterable {
  /// Never, but for ``CacheStore/flush()`` and ``CacheStore/close()``. After a loss of power, what was removed in the last
  /// seconds may be back.
  case never
  /// Before a removal returns. Stores and updates may be lost, removals are not.
  case removals
  /// Before a store, an update or a removal returns.
  case everyStore
}
