// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Foundation
import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes
import SystemPackage
import TestSupport
import Testing

@testable import HTTPCaching

/// However an exchange ends, nothing of it outlives it. The inputs are the whole matrix: a leak in every response without a
/// strong ETag once stood through 855 tests whose origins all sent one.
///
/// Nothing announces that an object is gone, so these tests look again each millisecond.
@Suite("Release of the objects of an exchange", .timeLimit(.minutes(10)))
struct ReleaseTests {
  enum Ending: CaseIterable {
    case whole, breaksOff, headFails
    case leavesBeforeHead, leavesUnread, leavesHalfway, cancelledHalfway
    case followed, followerLeaves, leaderLeavesFollower
    case invalidated, tooLarge, transitFull, storeCloses, hookRefuses
  }

  struct Cell: CustomStringConvertible {
    var validator: HTTPFields
    var cacheControl: String
    var varies: Bool
    var status: HTTPResponse.Status
    var method: HTTPRequest.Method
    var framing: Framing

    enum Framing: CaseIterable { case inMemory, ofKnownLength, ofUnknownLength }

    var fields: HTTPFields {
      var fields = validator
      fields[.cacheControl] = cacheControl
      if varies { fields[.vary] = "Accept" }
      return fields
    }

    var description: String { "\(method) \(status.code) \(fields) \(framing)" }

    static var all: [Cell] {
      let validators: [HTTPFields] = [
        [:], [.eTag: "W/\"1\""], [.eTag: "\"1\""], [.lastModified: "Sun, 06 Nov 1994 08:49:37 GMT"],
      ]
      var cells: [Cell] = []
      let statuses: [HTTPResponse.Status] = [.ok, .notFound, .movedPermanently, .internalServerError]
      for validator in validators {
        for cacheControl in ["max-age=60", "no-cache", "no-store", "max-age=0, stale-while-revalidate=60"] {
          for varies in [false, true] {
            for framing in Framing.allCases {
              let status = statuses[cells.count / 3 % statuses.count]
              let method: HTTPRequest.Method =
                cells.count % 11 == 7 ? .post : cells.count % 13 == 5 ? .head : .get
              cells.append(
                Cell(
                  validator: validator, cacheControl: cacheControl, varies: varies, status: status,
                  method: method,
                  framing: framing))
            }
          }
        }
      }
      return cells
    }
  }

  @Test(
    "No object of an exchange outlives it", .timeLimit(.minutes(10)), arguments: Ending.allCases,
    [false, true])
  func released(ending: Ending, isOnDisk: Bool) async throws {
    try await withTemporaryFolder { folder in
      let directory = FilePath(folder.path)
      var configuration = HTTPCache.Configuration(kind: .shared)
      configuration.transitCapacity = ending == .transitFull ? 0 : 64 << 20
      // A store for each, as some endings close it.
      for (number, cell) in Cell.all.enumerated() where !isOnDisk || number % 5 == 0 {
        let clock = ManualClock(Timestamp(seconds: 1_700_000_000))
        var cache: HTTPCache? = HTTPCache(
          store: try CacheStore(
            .init(
              memoryCapacity: ending == .tooLarge ? 4096 : isOnDisk ? 0 : 4 << 20,
              diskCapacity: isOnDisk ? 16 << 20 : 0,
              directory: isOnDisk ? directory.appending("\(number)") : nil)),
          configuration: configuration, clock: clock)
        let watched = Watched()
        if let cache {
          watched.add(cache)
          // A fetch without readers goes on for a second if little is missing.
          try await clock.endingSleeps(upTo: .seconds(1)) {
            try await Exchange(cell: cell, ending: ending, watched: watched).run(cache)
            try await watched.expectReleased(except: cache, cell, ending)
          }
          #expect(cache.transit.used == 0, "\(cell)")
          #expect(cache.fetches.count == 0, "\(cell)")
          cache.close()
        }
        cache = nil
        try await watched.expectReleased(cell, ending)
      }
    }
  }
}

/// Objects that are to be gone.
private final class Watched: Sendable {
  private struct Weak: @unchecked Sendable {
    // Unchecked: a weak reference may be read from any thread, and these are written once.
    weak var object: AnyObject?
    let name: String
  }

  private let objects = Mutex<[Weak]>([])

  func add(_ object: AnyObject) {
    objects.withLock { $0.append(Weak(object: object, name: "\(type(of: object))")) }
  }

  /// Waits until they are gone: a task that has ended is unwound a moment later.
  func expectReleased(
    except kept: HTTPCache? = nil, _ cell: ReleaseTests.Cell, _ ending: ReleaseTests.Ending
  ) async throws {
    var left: [String] = []
    do {
      try await eventually {
        left = objects.withLock { objects in
          objects.filter { weak in weak.object.map { $0 !== kept } ?? false }.map(\.name)
        }
        return left.isEmpty
      }
    } catch {
      Issue.record("\(left) outlive \(ending) of \(cell)")
      throw error
    }
  }
}

/// Captured by whatever an application hands to the cache.
private final class Probe: Sendable {}

/// Content that each request to the origin gets in a stream of its own.
private final class Feed: Sendable {
  private struct State {
    var chunks: [[UInt8]] = []
    var end: Result<Void, any Error>?
    var streams: [ByteStream.Continuation] = []
  }

  private let state = Mutex(State())

  var stream: ByteStream {
    let (stream, continuation) = ByteStream.makeStream()
    state.withLock { state in
      for chunk in state.chunks { continuation.yield(chunk[...]) }
      Self.finish(continuation, state.end)
      state.streams.append(continuation)
    }
    return stream
  }

  func yield(_ chunk: [UInt8]) {
    state.withLock { state in
      state.chunks.append(chunk)
      for stream in state.streams { stream.yield(chunk[...]) }
    }
  }

  func finish(throwing error: (any Error)? = nil) {
    state.withLock { state in
      state.end = state.end ?? error.map { .failure($0) } ?? .success(())
      for stream in state.streams { Self.finish(stream, state.end) }
    }
  }

  private static func finish(
    _ stream: ByteStream.Continuation, _ end: Result<Void, any Error>?
  ) {
    switch end {
    case nil: break
    case .success: stream.finish()
    case .failure(let error): stream.finish(throwing: error)
    }
  }
}

/// One exchange that ends as it is told.
private struct Exchange: Sendable {
  var cell: ReleaseTests.Cell
  var ending: ReleaseTests.Ending
  var watched: Watched

  private static let chunk = [UInt8](repeating: 7, count: 5000)

  private var request: HTTPRequest {
    var request = HTTPRequest.get(fields: [.accept: "a"])
    request.method = cell.method
    return request
  }

  func run(_ cache: HTTPCache) async throws {
    let probe = Probe()
    watched.add(probe)
    let feed = Feed()
    let (asked, mayAnswer) = (Gate(), Gate())
    let transport: Transport = { [cell, ending, watched, weak cache, probe] request, _ in
      withExtendedLifetime(probe) {}
      cache?.fetches.each { watched.add($0) }
      asked.open()
      await mayAnswer.wait()
      if ending == .headFails { throw Unreachable() }
      let head = HTTPResponse(status: cell.status, headerFields: cell.fields)
      if request.method == .head { return TransportResponse(head: head) }
      switch cell.framing {
      case .inMemory: return TransportResponse(head: head, body: MessageBody(Self.chunk + Self.chunk))
      case .ofKnownLength:
        return TransportResponse(head: head, body: MessageBody(feed.stream, length: 2 * Self.chunk.count))
      case .ofUnknownLength: return TransportResponse(head: head, body: MessageBody(feed.stream))
      }
    }
    let refusal: StorageHook = { [probe] proposal in
      withExtendedLifetime(probe) {}
      proposal.tiers = []
    }
    let hook = ending == .hookRefuses ? refusal : nil
    let load = Task { [request] in
      try await cache.respond(
        to: request, interim: { [probe] _ in withExtendedLifetime(probe) {} }, willStore: hook,
        transport: transport)
    }
    await asked.wait()
    var followers: [Task<Void, any Error>] = []
    if [.followed, .followerLeaves, .leaderLeavesFollower].contains(ending) {
      followers.append(
        Task { [request, watched] in
          let response = try await cache.respond(to: request, transport: transport)
          watch(response, watched)
          for try await _ in response.body {}
        })
    }
    if ending == .leavesBeforeHead { load.cancel() }
    mayAnswer.open()
    feed.yield(Self.chunk)
    if ending == .invalidated { cache.remove(.target(of: .get())) }
    if ending == .storeCloses { cache.close() }
    try await read(load, feed, followers)
    feed.finish()
    for follower in followers { _ = try? await follower.value }
    try await cache.fetches.emptied()
  }

  private func watch(_ response: CachedResponse, _ watched: Watched) {
    guard case .stream(let stream) = response.body.storage, let reader = stream as? TransferReader else {
      return
    }
    watched.add(reader)
    for object in reader.parts { watched.add(object) }
  }

  private func read(
    _ load: Task<CachedResponse, any Error>,
    _ feed: Feed,
    _ followers: [Task<Void, any Error>]
  ) async throws {
    guard let response = try? await load.value else { return }
    watch(response, watched)
    if ending == .followerLeaves { for follower in followers { follower.cancel() } }
    switch ending {
    case .leavesUnread, .leaderLeavesFollower, .leavesBeforeHead: return
    case .leavesHalfway:
      var chunks = response.body.makeAsyncIterator()
      _ = try await chunks.next()
    case .cancelledHalfway:
      let reading = Task { for try await _ in response.body {} }
      reading.cancel()
      _ = try? await reading.value
    case .breaksOff:
      feed.finish(throwing: Unreachable())
      _ = try? await response.body.collect(upTo: .max)
    default:
      feed.yield(Self.chunk)
      feed.finish()
      _ = try? await response.body.collect(upTo: .max)
    }
  }
}
