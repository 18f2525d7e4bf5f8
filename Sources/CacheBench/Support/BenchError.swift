/// What keeps a measurement from meaning anything.
enum BenchError: Error, CustomStringConvertible {
  /// An operation that must always succeed did not.
  case failed(action: Action, cache: CacheName, failures: Int, operations: Int)
  /// A response came from elsewhere than the measurement is of.
  case unexpected(scenario: String, what: String)
  /// Something could not be prepared.
  case unprepared(String)

  var description: String {
    switch self {
    case .failed(let action, let cache, let failures, let operations):
      "\(failures) of \(operations) times '\(action.title)' failed on \(cache.title): the figures would mean nothing"
    case .unexpected(let scenario, let what): "'\(scenario)' went otherwise than it should: \(what)"
    case .unprepared(let what): "cannot prepare the measurement: \(what)"
    }
  }
}
