/// Which entry of memory goes first when room is needed.
public enum EvictionPolicy: String, Sendable, Hashable, CaseIterable {
  /// The one used least recently.
  ///
  /// Kept per shard. Exact in a shard of less than a hundred entries; in a larger one, what goes is one of the oldest
  /// few of a hundred, and not always the oldest.
  case lru
  /// The one added first, unless it was used since (S3-FIFO: Yang et al., "FIFO queues are all you need for cache
  /// eviction", SOSP 2023).
  ///
  /// New entries are on probation in a tenth of the memory, and leave it soon when they are not used. On traces of the
  /// web it has some points more hits than ``lru``; what is in use moves nothing.
  case s3fifo
}
