/// What to do with a cache directory that cannot be read: its file `format` is damaged or missing, or another version of the
/// format wrote it.
///
/// A directory that holds something else than a cache is refused in any case, and nothing of it is removed.
public enum UnreadableDirectory: String, Sendable, Hashable, CaseIterable {
  /// Leave it as it is, and fail. The error says what is wrong.
  case fail
  /// Discard what the cache stored there, and begin with nothing. Files that are not the cache's stay.
  case startEmpty
}
