// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPTypes
import Synchronization
import SystemPackage
import TestSupport
import Testing

@testable import HTTPCaching

@Suite("Responses of every kind in a shared tier, and what stays when all has ended", .timeLimit(.minutes(5)))
struct SharedShapeTests {
  /// A way in which an origin marks and frames its responses.
  struct Shape: Sendable, CustomTestStringConvertible {
    var validator: HTTPFields
    var hasLength: Bool
    var status: HTTPResponse.Status
    var size: Int
    var isOnDisk: Bool

    var testDescription: String {
      "\(status.code) \(validator) \(hasLength ? "with" : "without") length, \(size) bytes, \(isOnDisk ? "disk" : "memory")"
    }

    var isConfirmable: Bool { !validator.isEmpty }
    var content: [UInt8] { (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) } }

    /// Sizes in the entry's block, apart from it, and in a file of its own.
    static let all: [Shape] = [
      HTTPFields(), [.eTag: "\"1\""], [.eTag: "W/\"1\""], [.lastModified: "Sun, 06 Nov 1994 08:49:37 GMT"],
    ].flatMap { validator in
      [true, false].flatMap { hasLength in
        [HTTPResponse.Status.ok, .movedPermanently, .notFound].flatMap { status in
          [0, 1000, 5000, 300_000].flatMap { size in
            [false, true].map {
              Shape(validator: validator, hasLength: hasLength, status: status, size: size, isOnDisk: $0)
            }
          }
        }
      }
    }

    /// Responds with this shape, and counts the requests.
    func transport(_ count: Count) -> Transport {
      { request, _ in
        count.next()
        var fields = validator
        fields[.cacheControl] = "max-age=600"
        if request.headerFields[.ifNoneMatch] != nil || request.headerFields[.ifModifiedSince] != nil {
          return TransportResponse(head: HTTPResponse(status: .notModified, headerFields: fields))
        }
        if hasLength { fields[.contentLength] = "\(size)" }
        let content = content
        return TransportResponse(
          head: HTTPResponse(status: status, headerFields: fields),
          body: hasLength ? MessageBody(content) : MessageBody(SharedShapeTests.stream(content)))
      }
    }
  }

  final class Count: Sendable {
    private let value = Mutex(0)
    func next() { value.withLock { $0 += 1 } }
    var current: Int { value.withLock { $0 } }
  }

  /// Content that arrives in pieces, of unknown length.
  fileprivate static func stream(_ content: [UInt8]) -> AsyncThrowingStream<ArraySlice<UInt8>, any Error> {
    AsyncThrowingStream { source in
      for start in stride(from: 0, to: content.count, by: 10_000) {
        source.yield(content[start..<min(start + 10_000, content.count)])
      }
      source.finish()
    }
  }

  @Test(
    "A response comes back from the tier as it was stored, and is revalidated and removed",
    arguments: Shape.all)
  func shapes(shape: Shape) async throws {
    try await withTemporaryDirectory { directory in try await check(shape, in: directory) }
  }

  private func check(_ shape: Shape, in directory: FilePath) async throws {
    var fleet = try await SharedFleet(0)
    for name in ["0", "1"] {
      fleet.nodes.append(try fleet.makeNode(directory: shape.isOnDisk ? directory.appending(name) : nil))
    }
    await fleet.step()
    let (count, nodes) = (Count(), fleet.nodes)
    let content = shape.content
    func get(at node: Int) async throws -> CachedResponse.Source {
      let response = try await nodes[node].cache.respond(to: .get("/"), transport: shape.transport(count))
      #expect(response.head.status == shape.status)
      #expect(try await response.body.collect(upTo: .max) == content[...])
      return response.source
    }
    #expect(try await get(at: 0) == .network)
    await fleet.step()
    #expect(try await get(at: 1) == .hit)
    #expect(count.current == 1)

    fleet.clock.advance(seconds: 601)
    await fleet.step()
    #expect(try await get(at: 1) == (shape.isConfirmable ? .validated : .network))
    await fleet.step()
    // The other node has a stale one, and finds the confirmed one.
    #expect(try await get(at: 0) == .hit)
    #expect(count.current == 2)

    nodes[0].cache.removeResponses(for: .get("/"))
    await fleet.step()
    #expect(try await get(at: 1) == .network)
    #expect(count.current == 3)
    for node in nodes { node.cache.close() }
    for node in nodes { await node.link.stopped() }
    #expect(fleet.server.nodeCount == 0)
    try await eventually { fleet.server.leaseCount == 0 }
  }

  @Test(
    "A client that leaves before the end of its response leaves no lease behind", arguments: [true, false],
    [true, false])
  func leaves(hasLength: Bool, isStored: Bool) async throws {
    let fleet = try await SharedFleet(2) { $0.sharedTier?.lease = .seconds(3600) }
    let fields: HTTPFields = [.cacheControl: isStored ? "max-age=600" : "no-store"]
    let (pieces, source) = AsyncThrowingStream<ArraySlice<UInt8>, any Error>.makeStream()
    source.yield([1, 2, 3])
    do {
      let response = try await fleet.nodes[0].cache.respond(to: .get("/")) { _, _ in
        TransportResponse(
          head: HTTPResponse(status: .ok, headerFields: fields),
          body: MessageBody(pieces, length: hasLength ? 100 : nil))
      }
      var iterator = response.body.makeAsyncIterator()
      #expect(try await iterator.next() == [1, 2, 3])
    }
    let other = try await fleet.nodes[1].cache.respond(to: .get("/")) { _, _ in .ok("own") }
    #expect(try await other.body.collect(upTo: 10) == Array("own".utf8)[...])
    await fleet.step()
    try await eventually { fleet.server.leaseCount == 0 }
    source.finish()
  }

  @Test(
    "A cache that follows the log by itself is released when its owner releases it", arguments: [true, false])
  func released(isOnDisk: Bool) async throws {
    try await withTemporaryDirectory { directory in try await checkRelease(isOnDisk ? directory : nil) }
  }

  private func checkRelease(_ directory: FilePath?) async throws {
    let fleet = try await SharedFleet(0)
    func use() async throws -> @Sendable () -> Bool {
      let node = try fleet.makeNode(directory: directory) {
        $0.sharedTier?.isDriven = true
      }
      try await eventually { node.statistics.isInStep }
      let response = try await node.cache.respond(to: .get("/")) { _, _ in
        .ok("1", [.cacheControl: "max-age=600"])
      }
      _ = try await response.body.collect(upTo: 10)
      try await eventually { fleet.server.entryCount == 1 }
      weak let cache = node.cache
      weak let link = node.link
      return { cache == nil && link == nil }
    }
    let isGone = try await use()
    try await eventually { isGone() }
    try await eventually { fleet.server.nodeCount == 0 }
    try await eventually { fleet.server.leaseCount == 0 }
  }
}
