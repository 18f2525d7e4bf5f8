import ArgumentParser

/// What is asked of a cache in memory.
enum Workload: String, CaseIterable, Codable, Sendable, ExpressibleByArgument {
  /// Lookups, all of which find something.
  case get
  /// Nine lookups, each of which stores what it does not find, and a store; the cache is too small for all keys.
  case mixed
  /// Stores of what is not there; the cache is full.
  case churn
  /// A lookup of a fresh response and the decision to serve it, against the lookup alone.
  case decide

  /// Of so many operations of `mixed`, the last one is a store.
  static let mixedPeriod = 10
}
