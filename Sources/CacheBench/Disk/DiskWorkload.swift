import ArgumentParser

/// What `disk` can measure.
enum DiskWorkload: String, CaseIterable, Codable, Sendable, ExpressibleByArgument {
  /// Puts of what is not there yet.
  case put
  /// Gets, page cache warm.
  case get
  /// Nine gets and a put in place of what is there.
  case mixed
  /// Puts at capacity.
  case churn
  /// Gets, page cache cold.
  case cold
  /// Opening a directory.
  case reopen
}
