// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheRedis
import HTTPCaching
import HTTPTypes
import SystemPackage
import TestSupport
import Testing

/// Caches with a shared tier on servers of Redis.
struct RedisFleet {
  let caches: [HTTPCache]

  /// - Parameters:
  ///   - endpoint: the servers.
  ///   - directories: the directory of each cache; `nil` for a cache in memory.
  ///   - wait: how long a request waits for the tier.
  ///   - trust: how long a cache stays in step after a heartbeat. The first removal is confirmed after one and a half times
  ///     as much: until then, the log may have nodes that have not registered yet.
  ///   - configure: changes the tier of each cache.
  init(
    _ endpoint: RedisEndpoint, directories: [FilePath?] = [nil, nil], wait: Duration = .seconds(20),
    trust: Duration = .seconds(2),
    configure: (inout RedisSharedTier.Configuration) -> Void = { _ in }
  ) throws {
    caches = try directories.map { directory in
      var tier = RedisSharedTier.Configuration(endpoint)
      tier.client.minimumPause = .milliseconds(5)
      tier.client.maximumPause = .milliseconds(20)
      configure(&tier)
      var configuration = HTTPCache.Configuration(kind: .shared, directory: directory)
      var options = HTTPCache.SharedTierOptions(try RedisSharedTier(tier))
      options.wait = wait
      options.trust = trust
      configuration.sharedTier = options
      return try HTTPCache(configuration)
    }
  }

  func get(
    _ path: String = "/", at node: Int, from origin: VersionedOrigin, fields: HTTPFields = [:]
  ) async throws -> (source: CachedResponse.Source, text: String, head: HTTPResponse) {
    var request = Self.request(path)
    request.headerFields = fields
    let response = try await caches[node].respond(to: request, transport: origin.transport)
    let content = try await response.body.collect(upTo: .max)
    return (response.source, origin.shape.read(response.head, content, for: request), response.head)
  }

  static func request(_ path: String) -> HTTPRequest {
    HTTPRequest(method: .get, scheme: "https", authority: "a.example", path: path)
  }

  func statistics(_ node: Int) -> HTTPCache.SharedTierStatistics {
    caches[node].sharedTierStatistics ?? HTTPCache.SharedTierStatistics()
  }

  /// Waits until each cache is in step and uses the tier.
  func reachable() async throws {
    try await eventually {
      caches.indices.allSatisfy { statistics($0).isInStep && statistics($0).isAvailable }
    }
  }

  /// Waits until a cache has stored a number of responses in the tier.
  func stored(_ count: Int, by node: Int) async throws {
    try await eventually { statistics(node).stores >= count }
  }

  /// Closes the caches, and waits until they have left the tier.
  func close() async {
    for cache in caches {
      cache.close()
      await cache.closeSharedTier()
    }
  }
}
