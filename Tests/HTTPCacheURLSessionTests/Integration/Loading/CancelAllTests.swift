// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Foundation
import HTTPCaching
import HTTPTypes
import Loopback
import TestSupport
import Testing

@testable import HTTPCacheURLSession

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite("Cancelling all loads of an HTTPCacheSession", .timeLimit(.minutes(10)))
struct CancelAllTests {
  /// The members that load.
  enum Way: CaseIterable, Sendable {
    case data, upload, bytes, download, prefetch

    func load(_ request: URLRequest, _ session: HTTPCacheSession, _ file: URL) async throws {
      switch self {
      case .data: _ = try await session.data(for: request)
      case .upload: _ = try await session.upload(for: request, from: Data([1]))
      case .bytes: _ = try await session.bytes(for: request)
      case .download: try await session.download(for: request, to: file)
      case .prefetch:
        // The second does not begin.
        var results: [HTTPCacheSession.Prefetched] = []
        for await one in session.prefetch([request, request], atMost: 1) { results.append(one) }
        #expect(results.count == 1)
        _ = try results.first?.result.get()
      }
    }
  }

  private static let head = HTTPResponse(status: .ok, headerFields: [.cacheControl: "max-age=60"])

  /// Runs a test with a session whose origin is a transport.
  private func with(
    _ transport: @escaping Transport, intercepts: Bool = true,
    test body: (HTTPCacheSession, URLRequest, URL) async throws -> Void
  ) async throws {
    var options = CachingOptions()
    options.middleware = { _ in transport }
    options.shouldIntercept = { _ in intercepts }
    let cache = try HTTPCache(.init(memoryCapacity: 16 << 20))
    let request = URLRequest(url: try #require(URL(string: "http://a.example/")))
    try await body(HTTPCacheSession(cache: cache, options: options), request, temporaryURL())
    cache.close()
  }

  private func expectCancelled(_ load: Task<Void, any Error>) async {
    let error = await #expect(throws: URLError.self) { try await load.value }
    #expect(error?.code == .cancelled)
  }

  @Test(
    "A load that waits for its origin fails with cancelled, and the next one is answered",
    arguments: Way.allCases)
  func waiting(way: Way) async throws {
    let (gate, requests) = (Gate(), EventCount())
    try await with({ _, _ in
      if requests.next() == 1 {
        await gate.pass()
        try Task.checkCancellation()
      }
      return TransportResponse(head: Self.head, body: MessageBody([1, 2, 3]))
    }) { session, request, file async throws in
      let load = Task { try await way.load(request, session, file) }
      await gate.arrived(1)
      session.cancelAll()
      await expectCancelled(load)
      #expect(try await session.data(for: request).0 == Data([1, 2, 3]))
      #expect(session.running.count == 0)
    }
  }

  @Test(
    "Content that is still read ends with cancelled, through the cache and past it, by the session and by the reader's task",
    arguments: [true, false], [true, false])
  func content(intercepts: Bool, bySession: Bool) async throws {
    var options = CachingOptions()
    options.shouldIntercept = { _ in intercepts }
    try await Setting.with { _ in
      .init(fields: [.cacheControl: "max-age=60"], body: "abc", ending: .open, isChunked: true)
    } test: { setting async throws in
      let session = HTTPCacheSession(
        cache: setting.cache, options: options, configuration: .plain)
      let (bytes, answer) = try await session.bytes(from: try #require(setting.request("/").url))
      #expect(answer.response.statusCode == 200)
      let read = EventCount()
      let reader = Task {
        for try await chunk in bytes.chunks { for _ in chunk { read.next() } }
      }
      try await read.reached(3)
      if bySession { session.cancelAll() } else { reader.cancel() }
      await expectCancelled(reader)
      // Those that begin to read later, too.
      if bySession { await expectCancelled(Task { for try await _ in bytes {} }) }
    }
  }

  @Test("A load of another session that waits for the same response is answered")
  func coalesced() async throws {
    let gate = Gate()
    try await with({ _, _ in
      await gate.wait()
      return TransportResponse(head: Self.head, body: MessageBody([1, 2, 3]))
    }) { session, request, _ async throws in
      let other = HTTPCacheSession(cache: session.cache, options: session.options)
      let load = Task { _ = try await session.data(for: request) }
      await gate.arrived(1)
      let otherLoad = Task { try await other.data(for: request).0 }
      try await session.cache.fetches.followers(1)
      session.cancelAll()
      await expectCancelled(load)
      gate.open()
      #expect(try await otherLoad.value == Data([1, 2, 3]))
    }
  }
}
