import ArgumentParser

/// What `disk` measures our store beside.
enum DiskYardstick: String, CaseIterable, Codable, Sendable, ExpressibleByArgument {
  case raw
  case files
  case sqlite
  case lmdb
  case rocksdb

  /// What is measured unless something else is asked for.
  static let usual: [DiskYardstick] = [.raw, .files, .sqlite]
}

extension DiskYardstick {
  /// Whether the system has what it takes.
  var isThere: Bool {
    switch self {
    case .raw, .files: true
    case .sqlite: SQLiteLibrary.shared != nil
    case .lmdb: LMDBLibrary.shared != nil
    case .rocksdb: RocksDBLibrary.shared != nil
    }
  }

  /// Its name, and what makes an empty one in a directory; `nil` where the system does not have it.
  func make(_ data: DiskData, capacity: Int) -> (CacheName, (_ directory: String) throws -> any BenchCache)? {
    switch self {
    case .raw: (.rawFile, { try RawFileCache(data, directory: $0) })
    case .files: (.files, { FilePerEntryCache(data, directory: $0) })
    case .sqlite:
      SQLiteLibrary.shared.map { library in (.sqlite, { try SQLiteCache(data, library, directory: $0) }) }
    case .lmdb:
      LMDBLibrary.shared.map { library in
        (.lmdb, { try LMDBCache(data, library, directory: $0, capacity: capacity) })
      }
    case .rocksdb:
      RocksDBLibrary.shared.map { library in (.rocksDB, { try RocksDBCache(data, library, directory: $0) }) }
    }
  }
}
