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
