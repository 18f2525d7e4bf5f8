/// How far the opening of a directory has come.
public struct OpeningProgress: Sendable, Hashable {
  /// Files of the log that have been read.
  public let segmentsRead: Int
  /// Files of the log there are.
  public let segments: Int
}
