/// A change in what the disk does for a store.
public enum DiskEvent: Sendable, Hashable {
  /// The disk refused to write or to sync. What it holds is read as before; what is stored is kept in memory only, until
  /// an attempt succeeds. Attempts are made as more is stored: at once for the first times, then ever less often.
  ///
  /// A directory that was removed, or moved away, is one that refuses, from when that is noticed: what it held is lost, and an
  /// attempt makes it anew.
  case failing(StoreError)
  /// The disk takes what is stored again.
  case recovered
}
