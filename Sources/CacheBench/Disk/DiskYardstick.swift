import ArgumentParser

/// What `disk` measures our store beside.
enum DiskYardstick: String, CaseIterable, Codable, Sendable, ExpressibleByArgument {
  case raw
  case files
  case sqlite
}

extension DiskYardstick {
  /// Its name, and what makes an empty one in a directory; `nil` where the system does not have it.
  func make(_ data: DiskData) -> (CacheName, (_ directory: String) throws -> any BenchCache)? {
    switch self {
    case .raw: (.rawFile, { try RawFileCache(data, directory: $0) })
    case .files: (.files, { FilePerEntryCache(data, directory: $0) })
    case .sqlite:
      SQLiteLibrary.shared.map { library in (.sqlite, { try SQLiteCache(data, library, directory: $0) }) }
    }
  }
}
