// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness

extension Contender {
  /// The colour's name in the style of the page. Contenders that share one never share a plot.
  var color: String {
    switch self {
    case .ours, .swiftHash: "ours"
    case .oursS3FIFO, .lmdb: "s3fifo"
    case .floor, .floorApart, .rawFile, .exactLRU, .urlSession, .asyncHTTPClient, .libraryHash,
      .bareNIO, .constantRoute, .directOrigin, .hiredis:
      "floor"
    case .dictionary, .sqlite, .exactS3FIFO, .nginx, .encodingRoute, .redisClient: "dictionary"
    case .nodes, .files, .oursHyperbolic, .varnish, .passedRoute: "nodes"
    case .nsCache, .rocksDB, .gdsf, .haproxy: "nscache"
    case .urlCache, .beladySize, .trafficServer: "urlcache"
    }
  }
}

extension Measurement {
  /// The colour's name; another build has another colour.
  var color: String { label == nil ? contender.color : Contender.oursS3FIFO.color }
}
