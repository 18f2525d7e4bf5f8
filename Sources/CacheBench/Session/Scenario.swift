/// What requests of one kind cost, end to end.
struct Scenario: Codable, Sendable {
  var kind: Kind
  var requests: Int
  /// How many of them made a request to the origin.
  var originRequests: Int
  var latency: Percentiles

  var title: String { kind.title }

  enum Kind: String, CaseIterable, Codable, Sendable {
    case plain
    case miss
    case hit
    case validated
    case stale
    case directRespond
    case directStored

    var title: String {
      switch self {
      case .plain: "URLSession without a cache"
      case .miss: "adapter, miss: from the network, and stored"
      case .hit: "adapter, fresh hit"
      case .validated: "adapter, stale, validated by 304"
      case .stale: "adapter, stale, returnCacheDataElseLoad"
      case .directRespond: "HTTPCache.respond, fresh hit"
      case .directStored: "HTTPCache.storedResponse, fresh hit"
      }
    }

    /// How many requests are to reach the origin.
    func expectedOriginRequests(of requests: Int) -> Int {
      switch self {
      case .plain, .miss, .validated: requests
      case .hit, .stale, .directRespond, .directStored: 0
      }
    }
  }
}

extension Scenario {
  /// What the cache is to save, by the medians of one run.
  static func targets(of scenarios: [Scenario]) -> [TargetResult] {
    func p50(_ kind: Kind) -> Double? {
      scenarios.first { $0.kind == kind }.map { Double($0.latency.p50Nanoseconds) }
    }
    func times(_ what: String, _ slow: Kind, _ fast: Kind, _ limit: Double) -> TargetResult {
      var figure: Double?
      if let slow = p50(slow), let fast = p50(fast), fast > 0 { figure = slow / fast }
      return TargetResult(what: what, bound: .atLeast, limit: limit, unit: .times, figure: figure)
    }
    return [
      times("a fresh hit through URLSession, against a request to a loopback server", .plain, .hit, 2),
      times("HTTPCache.respond, against a request to a loopback server", .plain, .directRespond, 20),
      times("HTTPCache.storedResponse, against a request to a loopback server", .plain, .directStored, 20),
      times("HTTPCache.respond, against a fresh hit through URLSession", .hit, .directRespond, 20),
    ]
  }
}
