// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import BenchmarkHarness

/// The cases of `proxy`.
enum ProxyCase: String, CaseIterable, Sendable, ExpressibleByArgument {
  /// One URL of 1 KiB, stored before.
  case hit
  /// The same with 64 KiB, and with 1 MiB.
  case hitLarge = "hit-large"
  case hitMegabyte = "hit-megabyte"
  /// A new connection for each request.
  case connections
  /// 1,000 connections.
  case many
  /// A 304 to a client that has the stored response.
  case notModified = "not-modified"
  /// 64 KiB out of a stored response of 10 MiB.
  case range
  /// A response that must not be stored.
  case pass
  /// Stored responses, each of which the origin confirms by a 304.
  case revalidate
  /// Every URL is new: it is fetched and stored.
  case miss
  /// URLs of 16 KiB that are stored in files, and not in the memory of the process.
  case disk
  /// Many URLs by a zipf distribution, all stored before.
  case zipf

  static let manyConnections = 1_000

  var action: Action {
    switch self {
    case .hit: .proxyHit
    case .hitLarge: .proxyHitLarge
    case .hitMegabyte: .proxyHitMegabyte
    case .connections: .proxyConnections
    case .many: .proxyMany
    case .notModified: .proxyNotModified
    case .range: .proxyRange
    case .pass: .proxyPass
    case .revalidate: .proxyRevalidate
    case .miss: .proxyMiss
    case .disk: .proxyDisk
    case .zipf: .proxyZipf
    }
  }

  /// The size of the origin's response.
  var bodyBytes: Int {
    switch self {
    case .hitLarge: 64 << 10
    case .hitMegabyte: 1 << 20
    case .range: 10 << 20
    case .disk: 16 << 10
    default: 1 << 10
    }
  }

  /// The answer that the client expects.
  var answer: (status: Int, bodyBytes: Int) {
    switch self {
    case .notModified: (304, 0)
    case .range: (206, 64 << 10)
    default: (200, bodyBytes)
    }
  }

  /// Lines of the head of each request.
  var fields: [String] {
    switch self {
    case .notModified: ["If-None-Match: \"\(bodyBytes)\""]
    case .range: ["Range: bytes=\(1 << 20)-\((1 << 20) + (64 << 10) - 1)"]
    default: []
    }
  }

  /// The path of the requests, or its beginning: the origin reads from it the size, and what may be stored.
  var path: String {
    switch self {
    case .pass: "/\(bodyBytes)/\(ChildServer.Freshness.unstored.rawValue)"
    case .revalidate: "/\(bodyBytes)/\(ChildServer.Freshness.stale.rawValue)/"
    case .miss: "/\(bodyBytes)/fresh/m"
    case .disk, .zipf: "/\(bodyBytes)/fresh/z"
    default: "/\(bodyBytes)/fresh"
    }
  }

  /// The number of URLs that the requests repeat: with many, requests for one URL at the same time are rare, and do not
  /// share a revalidation.
  var keys: Int {
    switch self {
    case .zipf: 10_000
    case .disk, .revalidate: 2_048
    default: 1
    }
  }

  /// Whether each request has a new connection.
  var closes: Bool { self == .connections }
  /// Whether each request reaches the origin; otherwise none does.
  var reachesOrigin: Bool { [.pass, .revalidate, .miss].contains(self) }
  /// The source of the measured responses, if the server says it.
  var source: ProxyServer.Source { reachesOrigin ? .origin : .cache }

  /// The maximum processor time of a request, as a multiple of that of another server in the same run.
  var limit: (contender: Contender, times: Double)? {
    switch self {
    case .hit: (.bareNIO, 1.6)
    case .connections: (.bareNIO, 1.3)
    case .hitLarge, .miss: (.nginx, 1)
    case .hitMegabyte: (.nginx, 0.9)
    case .notModified: (.nginx, 1.2)
    case .range, .many: (.nginx, 1.3)
    case .pass, .revalidate: (.nginx, 1.5)
    case .disk: (.nginx, 1.1)
    case .zipf: nil
    }
  }
}
