/// How many times as fast as a yardstick of the same run.
struct Ratio: Codable, Hashable, Sendable {
  var action: Action
  var measuring: Measuring
  var entries: Int
  var yardstick: CacheName
  /// What of the yardstick: the same action, or the nearest that it has.
  var yardstickAction: Action
  var timesAsFast: Double
  /// What is asked for at least, where something is.
  var target: Double?

  var isMet: Bool? { target.map { timesAsFast >= $0 } }

  /// All that can be told from some measurements.
  static func all(of measurements: [Measurement]) -> [Ratio] {
    let ours = Action.allCases.flatMap { action in
      measurements.filter { $0.cache == .ours && $0.action == action }
    }
    return ours.flatMap { own in
      own.action.yardsticks.compactMap { yardstick in
        let action = own.action.counterpart
        guard
          let other = measurements.first(where: {
            $0.cache == yardstick && $0.action == action && $0.entries == own.entries
              && $0.measuring == own.measuring
          }), own.nanoseconds > 0
        else { return nil }
        return Ratio(
          action: own.action, measuring: own.measuring, entries: own.entries, yardstick: yardstick,
          yardstickAction: action, timesAsFast: other.nanoseconds / own.nanoseconds,
          target: yardstick == .urlCache && own.measuring == .throughput ? own.action.target : nil)
      }
    }
  }
}

extension Action {
  /// What it is compared with. The floor only finds.
  var yardsticks: [CacheName] { onlyStores ? [.urlCache, .dictionary] : [.urlCache, .dictionary, .floor] }

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
