// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheEngine
import HTTPTypes
import SystemPackage
import TestSupport
import Testing

@testable import HTTPCaching

@Suite("Caches that tell each other their removals", .timeLimit(.minutes(10)))
struct SuccessionTests {
  /// A peer whose removals a test applies by hand.
  private final class Peer: RemovalPeer {
    let told = Recorder<[UInt8]>()
    let applied = Gate()
    let isReached: Bool

    init(isReached: Bool = true) { self.isReached = isReached }

    func tell(_ payload: [UInt8]) { told.add(payload) }

    func hasApplied() async -> Bool {
      await applied.pass()
      return isReached
    }
  }

  private static let removals: [(name: String, run: @Sendable (HTTPCache) -> Void)] = [
    ("a target", { $0.remove(.target(of: .get("/a"))) }),
    ("a target that expires", { $0.expire(.target(of: .get("/a"))) }),
    ("a pattern", { $0.remove(.patterns([.glob("*/a")])) }),
    ("a group", { $0.remove(.group("g")) }),
    ("everything", { $0.remove(.all) }),
  ]

  @Test("A peer that is told of a removal makes the same", arguments: 0..<5)
  func told(index: Int) async throws {
    let origin = Self.origin
    let (one, two) = (try Setting(kind: .shared), try Setting(kind: .shared))
    let (peer, other) = (Peer(), Peer())
    one.cache.tellRemovals(to: peer)
    one.cache.tellRemovals(to: peer)
    two.cache.tellRemovals(to: other)
    for setting in [one, two] { _ = try await setting.get("/a", from: origin) }
    #expect(try await two.get("/a", from: origin).source == .hit)
    Self.removals[index].run(one.cache)
    #expect(peer.told.all.count == 1)
    let payload = try #require(peer.told.all.first)
    two.cache.applyRemoval(payload, from: Peer(), isHeir: false)
    #expect(try await two.get("/a", from: origin).source != .hit, "\(Self.removals[index].name)")
    // A third one hears of it, and the source does not hear of its own.
    #expect(other.told.all == [payload])
    two.cache.applyRemoval(payload, from: other, isHeir: true)
    #expect(other.told.all.count == 1)
    one.cache.tellNoRemovals(to: peer)
    one.cache.remove(.all)
    #expect(peer.told.all.count == 1 && !one.cache.tellsRemovals)
  }

  private static let groups = HTTPField.Name("Cache-Groups") ?? .cacheControl

  private static var origin: MemoryOrigin {
    MemoryOrigin { _, _ in .ok("x", [.cacheControl: "max-age=60", groups: "\"g\""]) }
  }

  @Test(
    "A request that invalidates is answered when the peer has done the same",
    arguments: ["POST", "PUT", "DELETE"])
  func unsafe(method: String) async throws {
    let origin = Self.origin
    let setting = try Setting(kind: .shared)
    let peer = Peer()
    setting.cache.tellRemovals(to: peer)
    _ = try await setting.get("/a", from: origin)
    var request = HTTPRequest.get("/a")
    request.method = HTTPRequest.Method(method) ?? .post
    let sent = request
    let isAnswered = Mutex(false)
    let answering = Task {
      let response = try await setting.cache.respond(to: sent, transport: origin.transport)
      isAnswered.withLock { $0 = true }
      return try await response.text
    }
    await peer.applied.arrived(1)
    #expect(!peer.told.all.isEmpty && !isAnswered.withLock { $0 })
    peer.applied.open()
    #expect(try await answering.value == "x")
  }

  @Test("A purge says how far it has reached", arguments: [true, false])
  func reach(isReached: Bool) async throws {
    let setting = try Setting(kind: .shared)
    let peer = Peer(isReached: isReached)
    peer.applied.open()
    setting.cache.tellRemovals(to: peer)
    setting.cache.remove(.all)
    #expect(await setting.cache.confirmRemovals() == (isReached ? .everywhere : .here))
  }

  @Test("Removals are applied to a directory that was left, unless a process uses it")
  func left() async throws {
    try await withTemporaryDirectory { directory in
      let origin = Self.origin
      let path = directory.appending("cache")
      var setting: Setting? = try Setting(kind: .shared, directory: path)
      for target in ["/a", "/b"] { _ = try await setting?.get(target, from: origin) }
      let cache = try #require(setting?.cache)
      let peer = Peer()
      cache.tellRemovals(to: peer)
      #expect(throws: (any Error).self) { try HTTPCache.applyRemovals([], toDirectoryOf: cache) }
      cache.leaveDirectory()
      cache.remove(.target(of: .get("/a")))
      try HTTPCache.applyRemovals(peer.told.all, toDirectoryOf: cache)
      #expect(try await setting?.get("/b", from: origin).source == .hit)
      setting = try Setting(kind: .shared, directory: path)
      #expect(try await setting?.get("/b", from: origin).source == .hit)
      #expect(try await setting?.get("/a", from: origin).source != .hit)
      setting?.cache.close()
      cache.close()
    }
  }
}
