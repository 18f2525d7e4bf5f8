// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

#if os(Linux)
  import Foundation
  import FoundationNetworking
  import HTTPCacheStore
  import HTTPCacheURLSession
  import HTTPTypes
  import Loopback
  import TestSupport
  import Testing

  /// Requests of many accounts, each with a configuration and a session of its own.
  struct AccountLoad {
    let origin: LoopbackOrigin
    let cache: HTTPCache
    /// The open descriptors of the process after the first accounts: some may still be those of sessions that have ended, and
    /// fewer than a leak of the next accounts would be.
    private(set) var firstDescriptors = 0

    init() async throws {
      origin = try await LoopbackOrigin.start { request in
        .init(fields: [.cacheControl: "no-store"], body: request.target)
      }
      cache = try HTTPCache()
      try await run(accounts: 10)
      firstDescriptors = try ProcessUse.descriptors
    }

    /// Loads a response for each account, some at the same time.
    func run(accounts: Int, atOnce count: Int = 1) async throws {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for account in 0..<accounts {
          if account >= count { try await group.next() }
          group.addTask { try await load(account) }
        }
        try await group.waitForAll()
      }
    }

    private func load(_ account: Int) async throws {
      var options = CachingOptions()
      options.partition = { _ in "account \(account)" }
      let session = URLSession(
        configuration: .caching(with: cache, options: options, base: .ephemeral.patient))
      let url = try #require(URL(string: origin.url("/\(account)")))
      let (data, _) = try await session.data(from: url)
      #expect(String(decoding: data, as: UTF8.self) == "/\(account)")
      session.finishTasksAndInvalidate()
    }

    /// Opens a cache on disk, uses it through a session, and keeps nothing of them.
    func openAndForget(_ folder: URL) async throws {
      let cache = try HTTPCache(.init(diskCapacity: 4 << 20, directory: folder))
      let session = URLSession(configuration: .caching(with: cache, base: .ephemeral.patient))
      let url = try #require(URL(string: origin.url("/")))
      _ = try await session.data(from: url)
      session.finishTasksAndInvalidate()
    }

    /// Returns when the process has no more open descriptors than after the first accounts. Foundation closes those of a
    /// session some time after its end.
    func descriptorsAreClosed() async throws {
      try await eventually { (try? ProcessUse.descriptors) ?? .max <= firstDescriptors }
    }

    func stop() async {
      await origin.stop()
      cache.close()
    }
  }
#endif
