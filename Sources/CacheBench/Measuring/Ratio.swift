/// How many times as fast as a yardstick of the same run.
struct Ratio: Codable, Hashable, Sendable {
  var action: Action
  /// Which of ours.
  var cache: CacheName
  var measuring: Measuring
  var basis: Basis
  var entries: Int
  var threads: Int
  var yardstick: CacheName
  /// What of the yardstick: the same action, or the nearest that it has.
  var yardstickAction: Action
  var timesAsFast: Double
  /// Of each body, where it is of what is on disk.
  var valueBytes: Int?
  /// What is asked for at least, where something is.
  var target: Double?

  var isMet: Bool? { target.map { timesAsFast >= $0 } }

  /// What is compared.
  enum Basis: String, Codable, Sendable {
    /// The time that the processor spent, with one thread.
    case processorTime
    /// The wall clock by operations.
    case throughput
    /// The median of the latencies.
    case p50

    var title: String {
      switch self {
      case .processorTime: "processor time"
      case .throughput: "throughput"
      case .p50: "p50"
      }
    }
  }

  /// All that can be told from some measurements.
  static func all(of measurements: [Measurement]) -> [Ratio] {
    let ours = Action.allCases.flatMap { action in
      measurements.filter { $0.cache.isOurs && $0.action == action }
    }
    return ours.flatMap { own in
      own.action.yardsticks(of: own.cache).compactMap { yardstick in
        let action = own.cache == .oursS3FIFO ? own.action : own.action.counterpart
        return measurements.first {
          $0.cache == yardstick && $0.action == action && $0.entries == own.entries
            && $0.measuring == own.measuring && $0.threads == own.threads && $0.valueBytes == own.valueBytes
        }.flatMap { Ratio(of: own, to: $0) }
      }
    }
  }

  /// - Returns: `nil` if one of them has no figures.
  init?(of own: Measurement, to other: Measurement, target: Double? = nil) {
    let (ownCost, otherCost): (Double, Double)
    // Of several threads, the wall clock: those that wait take no time of the processor.
    if own.measuring == .throughput, own.threads == 1, let mine = own.processorNanoseconds,
      let theirs = other.processorNanoseconds
    {
      (ownCost, otherCost, basis) = (mine, theirs, .processorTime)
    } else {
      (ownCost, otherCost) = (own.nanoseconds, other.nanoseconds)
      basis = own.measuring == .throughput ? .throughput : .p50
    }
    guard ownCost > 0, otherCost > 0 else { return nil }
    action = own.action
    cache = own.cache
    measuring = own.measuring
    entries = own.entries
    threads = own.threads
    yardstick = other.cache
    yardstickAction = other.action
    timesAsFast = otherCost / ownCost
    valueBytes = own.action.isOnDisk ? own.valueBytes : nil
    self.target =
      target ?? (yardstick == .urlCache && own.measuring == .throughput ? own.action.target : nil)
  }
}

extension Action {
  /// What one of ours is compared with. The floor only finds.
  func yardsticks(of cache: CacheName) -> [CacheName] {
    guard cache == .ours else { return [.ours] }
    return [.urlCache, .dictionary, .nodes, .nsCache, .rawFile, .files, .sqlite, .lmdb, .rocksDB]
      + (onlyStores ? [] : [.floor, .floorApart])
  }

  /// What a yardstick does instead.
  var counterpart: Action {
    switch self {
    case .decide: .get
    case .judgeAndStore: .store
    default: self
    }
  }

  /// How many times as fast as URLCache it is to be, with 10,000 entries of 1 KiB in memory, and 100 on disk.
  var target: Double? {
    switch self {
    case .get: 5
    case .storeAgain: 10  // URLCache gets slower with every entry: the target is for a cache that holds all.
    case .diskGet: 100
    case .diskStore: 300
    default: nil
    }
  }
}
