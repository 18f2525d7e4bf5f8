/// A target, and what was measured.
struct TargetResult: Codable, Hashable, Sendable {
  enum Bound: String, Codable, Sendable {
    case atMost
    case atLeast
  }

  enum Unit: String, Codable, Sendable {
    case times
    case nanoseconds
    case bytes
    /// A share of 1.
    case share
    /// Hundredths, as the difference of two shares.
    case points

    func text(_ value: Double) -> String {
      switch self {
      case .times: Format.times(value)
      case .nanoseconds: Format.duration(value)
      case .bytes: Format.bytes(value)
      case .share: Format.percent(value)
      case .points: Format.points(value)
      }
    }
  }

  var what: String
  var bound: Bound
  var limit: Double
  var unit: Unit
  /// `nil` if it was not measured.
  var figure: Double?
  var note: String?

  var isMet: Bool? {
    figure.map { bound == .atMost ? $0 <= limit : $0 >= limit }
  }

  var verdict: String { isMet.map { $0 ? "met" : "NOT MET" } ?? "not measured" }
  var targetText: String { (bound == .atMost ? "at most " : "at least ") + unit.text(limit) }
  var figureText: String { figure.map(unit.text) ?? "" }
}
