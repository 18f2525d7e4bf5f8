/// What is measured with: ours and the yardsticks.
enum CacheName: String, CaseIterable, Codable, Sendable {
  case ours
  /// The same with S3-FIFO in place of LRU.
  case oursS3FIFO
  /// A table in C that only finds.
  case floor
  /// The same with its entries apart from it.
  case floorApart
  case dictionary
  /// LRU of class nodes.
  case nodes
  case nsCache
  case urlCache
  /// One file that is only appended to, and read by offset.
  case rawFile
  case files
  case sqlite
  case lmdb
  case rocksDB

  var title: String {
    switch self {
    case .ours: "HTTPCacheEngine"
    case .oursS3FIFO: "HTTPCacheEngine, S3-FIFO"
    case .floor: "floor, in C"
    case .floorApart: "floor, entries apart"
    case .dictionary: "Dictionary, locked"
    case .nodes: "LRU of nodes, locked"
    case .nsCache: "NSCache"
    case .urlCache: "URLCache"
    case .rawFile: "raw file"
    case .files: "a file per entry"
    case .sqlite: "SQLite"
    case .lmdb: "LMDB"
    case .rocksDB: "RocksDB"
    }
  }

  /// Whether it only finds, to show what that costs at the least.
  var isFloor: Bool { self == .floor || self == .floorApart }

  var isOurs: Bool { self == .ours || self == .oursS3FIFO }
}
