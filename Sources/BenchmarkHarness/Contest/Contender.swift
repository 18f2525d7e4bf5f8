// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// A contender, with its name in reports: the package and its yardsticks.
package enum Contender: String, CaseIterable, Codable, Sendable {
  case ours = "HTTPCacheEngine"
  case oursS3FIFO = "HTTPCacheEngine, S3-FIFO"
  case oursHyperbolic = "HTTPCacheEngine, hyperbolic"
  /// A table in C that supports only lookups, and the same with its entries apart from the table.
  case floor = "floor, in C"
  case floorApart = "floor, entries apart"
  case dictionary = "Dictionary, locked"
  case nodes = "LRU of nodes, locked"
  case nsCache = "NSCache"
  case urlCache = "URLCache"
  /// One file that is only appended to, and read by offset.
  case rawFile = "raw file"
  case files = "a file per entry"
  case sqlite = "SQLite"
  case lmdb = "LMDB"
  case rocksDB = "RocksDB"
  /// LRU over all entries of a trace, without shards and without approximation.
  case exactLRU = "exact LRU"
  /// Models of policies for the replay of a trace; the last knows the future.
  case exactS3FIFO = "exact S3-FIFO"
  case gdsf = "GDSF"
  case beladySize = "Belady-size"
  case urlSession = "URLSession"
  case asyncHTTPClient = "AsyncHTTPClient"
  /// A route of Hummingbird with a constant response, one that encodes JSON, and the latter behind the cache, which does not
  /// store it.
  case constantRoute = "Hummingbird, constant"
  case encodingRoute = "Hummingbird, JSON"
  case passedRoute = "HTTPCacheEngine, not stored"
  case swiftHash = "XXH3 in Swift"
  case libraryHash = "libxxhash"
  /// A blocking connection of hiredis alone, and this package's client of Redis without a cache.
  case hiredis
  case redisClient = "RedisClient"
  case nginx
  case varnish = "Varnish"
  case haproxy = "HAProxy"
  case trafficServer = "Traffic Server"
  /// A server on SwiftNIO alone, which answers with one constant response.
  case bareNIO = "bare SwiftNIO"
  /// The origin without a proxy.
  case directOrigin = "the origin alone"

  /// The eviction policy, for comparisons of policies.
  package var policy: String {
    switch self {
    case .ours: "LRU"
    case .oursS3FIFO: "S3-FIFO"
    case .oursHyperbolic: "hyperbolic"
    default: rawValue
    }
  }
  /// Whether it shows the minimum cost of a lookup, or is the model of a policy.
  package var isFloor: Bool {
    [.floor, .floorApart, .exactLRU, .exactS3FIFO, .gdsf, .beladySize].contains(self)
  }
  package var isOurs: Bool { [.ours, .oursS3FIFO, .oursHyperbolic, .swiftHash].contains(self) }
}
