/// When what is written is brought to the disk itself (`fdatasync`), so that it survives a loss of power.
///
/// Whatever is chosen, no byte is served that was not stored, and nothing that was removed comes back because the *process*
/// ended. What was stored is written in the background within a moment, so that a killed process loses the last moment of it.
public enum DiskSync: String, Sendable, Hashable, CaseIterable {
  /// Never, but for ``CacheStore/flush()`` and ``CacheStore/close()``. After a loss of power, what was removed in the last
  /// seconds may be back.
  case never
  /// Before a removal returns. Stores and updates of the last seconds may be lost with the power, removals are not.
  case removals
  /// Before a store, an update or a removal returns.
  case everyStore
}
