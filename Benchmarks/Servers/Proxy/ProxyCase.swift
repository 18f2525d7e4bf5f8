// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import BenchmarkHarness

/// The cases of `proxy`.
enum ProxyCase: String, CaseIterable, Sendable, ExpressibleByArgument {
  /// One URL of 1 KiB, stored before.
  case hit
  /// The same with 64 KiB.
  case hitLarge = "hit-large"
  /// A new connection for each request.
  case connections
  /// 1,000 connections.
  case many
  /// Every URL is new: it is fetched and stored.
  case miss
  /// Many URLs by a zipf distribution, all stored before.
  case zipf

  static let zipfKeys = 10_000
  static let manyConnections = 1_000

  var action: Action {
    switch self {
    case .hit: .proxyHit
    case .hitLarge: .proxyHitLarge
    case .connections: .proxyConnections
    case .many: .proxyMany
    case .miss: .proxyMiss
    case .zipf: .proxyZipf
    }
  }

  var bodyBytes: Int { self == .hitLarge ? 64 << 10 : 1 << 10 }
  /// Whether each request has a new connection.
  var closes: Bool { self == .connections }

  /// The maximum processor time of a request, as a multiple of nginx's in the same run.
  var limitAgainstNginx: Double? {
    switch self {
    case .hit: 0.92
    case .hitLarge: 0.87
    case .many: 0.95
    case .connections, .miss: 1
    case .zipf: nil
    }
  }
}
