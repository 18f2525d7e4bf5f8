// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import Foundation
import HTTPCacheProxy
import HTTPCacheRedis
import HTTPCaching
import Logging

/// A proxy of the fleet, in its own process.
struct NodeRole: AsyncParsableCommand {
  static let configuration = CommandConfiguration(commandName: "node", shouldDisplay: false)

  @Option(help: "Port of the origin.") var origin: Int
  @Option(help: "Port of Redis, or of what is between.") var redis: Int
  @Option(help: "Directory of the disk store (default: none, memory only).") var directory: String?
  @Flag(help: "Do not apply what the other nodes remove.") var deaf = false

  func run() async throws {
    var configuration = HTTPCache.Configuration(
      kind: .shared, memoryCapacity: 64 << 20, diskCapacity: 64 << 20,
      directory: directory.map { FilePath($0) })
    var tier = try RedisSharedTier.Configuration("redis://127.0.0.1:\(redis)")
    tier.maximumPause = .milliseconds(200)
    let shared = try RedisSharedTier(tier)
    configuration.sharedTier = HTTPCache.SharedTierOptions(deaf ? DeafTier(shared) : shared)
    let cache = try HTTPCache(configuration)
    let address = ProxyConfiguration.Address(host: "127.0.0.1", port: 0)
    var proxyConfiguration = ProxyConfiguration(
      listen: address, origin: .init(host: "127.0.0.1", port: origin))
    proxyConfiguration.admin = .address(address)
    let proxy = CachingProxy(
      proxyConfiguration, cache: cache, logger: Logger(label: "node") { _ in SwiftLogNoOpLogHandler() })
    let running = Task { try await proxy.run() }
    let ports = await proxy.endpoints()?.map { "\($0.port ?? 0)" } ?? []
    print(ports.joined(separator: " "))
    fflush(nil)
    try await running.value
  }
}

/// A tier whose records say nothing: the node behaves as if nothing was ever removed elsewhere.
struct DeafTier: SharedTier {
  private let tier: any SharedTier

  init(_ tier: any SharedTier) {
    self.tier = tier
  }

  /// A removal of no scope: version, node, and kind.
  private static let nothing: [UInt8] = [1, 0, 0, 0, 0, 0, 0, 0, 0, 4]

  func records(after position: SharedLogPosition, waiting wait: Duration) async throws -> SharedLogPage {
    var page = try await tier.records(after: position, waiting: wait)
    for index in page.records.indices { page.records[index].payload = Self.nothing }
    return page
  }

  func find(_ key: [UInt8], within limit: Duration) async throws -> [FoundSharedEntry] {
    try await tier.find(key, within: limit)
  }
  func store(_ entry: SharedEntry, within limit: Duration) async throws -> SharedStoring {
    try await tier.store(entry, within: limit)
  }
  func append(_ removal: SharedRemoval, within limit: Duration) async throws -> SharedLogPosition {
    try await tier.append(removal, within: limit)
  }
  func heartbeat(_ node: SharedNode, within limit: Duration) async throws -> SharedLogHead {
    try await tier.heartbeat(node, within: limit)
  }
  func leave(_ node: SharedNode, within limit: Duration) async throws {
    try await tier.leave(node, within: limit)
  }
  func acquire(_ lease: SharedLease, within limit: Duration) async throws -> Bool {
    try await tier.acquire(lease, within: limit)
  }
  func release(_ lease: SharedLease, within limit: Duration) async throws {
    try await tier.release(lease, within: limit)
  }
  func waitForRelease(of key: [UInt8], atMost wait: Duration) async throws {
    try await tier.waitForRelease(of: key, atMost: wait)
  }
  func reclaim(where isRemoved: @escaping @Sendable ([UInt8]) -> Bool) async throws -> Int {
    try await tier.reclaim(where: isRemoved)
  }
  func close() async { await tier.close() }
}
