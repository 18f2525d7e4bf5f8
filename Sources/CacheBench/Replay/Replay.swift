import ArgumentParser

/// What counts against the capacity of a replay.
enum ReplaySizes: String, CaseIterable, Codable, Sendable, ExpressibleByArgument {
  /// Every entry counts the same: the capacity is a share of the distinct keys.
  case unit
  /// An entry counts its bytes: the capacity is a share of the bytes of all distinct keys.
  case real
}

/// Which entry goes first in a replay.
enum ReplayPolicy: String, CaseIterable, Codable, Sendable, ExpressibleByArgument {
  case lru
  case s3fifo
  /// LRU over all entries, without shards and without approximation, as a yardstick.
  case exactLRU = "exact-lru"

  var title: String {
    switch self {
    case .lru: "LRU"
    case .s3fifo: "S3-FIFO"
    case .exactLRU: "exact LRU"
    }
  }
}

/// What came of a replayed trace.
struct Replay: Codable, Hashable, Sendable {
  var trace: String
  var policy: ReplayPolicy
  var sizes: ReplaySizes
  /// `nil` where the store chose, and for a yardstick that has none.
  var shards: Int?
  var requests: Int
  var distinctKeys: Int
  /// The capacity as a share of the distinct keys, or of their bytes.
  var capacityShare: Double
  /// The same in entries, or bytes.
  var capacity: Int
  var hits: Int
  var hitRatio: Double
  /// The share of the bytes asked for that were found.
  var byteHitRatio: Double
  var seconds: Double
}
