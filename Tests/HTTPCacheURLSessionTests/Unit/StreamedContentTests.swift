// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCaching
import TestSupport
import Testing

@testable import HTTPCacheURLSession

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite("The content of a request's stream", .timeLimit(.minutes(10)))
struct StreamedContentTests {
  private func request(_ stream: InputStream?, _ body: Data? = nil) throws -> URLRequest {
    var request = URLRequest(url: try #require(URL(string: "http://a.example/")))
    if let stream { request.httpBodyStream = stream }
    if let body { request.httpBody = body }
    return request
  }

  @Test(
    "It is read once, and can be sent again; only a long one is in a file, which is removed with it",
    arguments: [0, 1, 65_536, 262_144, 262_145, 2_000_000])
  func content(count: Int) async throws {
    let data = Data(contentBytes(count, from: 0))
    let path = try await {
      let streamed = try #require(StreamedContent(request(InputStream(data: data))))
      async let other = streamed.content()
      let content = try await streamed.content()
      for _ in 1...2 { #expect(try await Data(content.collect(upTo: .max)) == data) }
      #expect(try await Data(other.collect(upTo: .max)) == data)
      let path = (content.stream as? FileContent)?.path.string
      #expect(content.isInMemory == (count <= 262_144) && (path == nil) == content.isInMemory)
      if let path { #expect(FileManager.default.fileExists(atPath: path)) }
      return path
    }()
    if let path { #expect(!FileManager.default.fileExists(atPath: path)) }
  }

  @Test("A request without a stream has none")
  func none() throws {
    #expect(try StreamedContent(request(nil)) == nil)
    #expect(try StreamedContent(request(nil, Data(count: 3))) == nil)
  }

  @Test("A stream that cannot be read is an error for each reader")
  func unreadable() async throws {
    let stream = try #require(InputStream(fileAtPath: temporaryURL().path))
    let streamed = try #require(StreamedContent(request(stream)))
    for _ in 1...2 { await #expect(throws: (any Error).self) { try await streamed.content() } }
  }

  @Test("A load that was stopped is not current any more, and the next one has another number")
  func loads() async throws {
    var state = LoadState()
    let firstStart = state.start()
    let first = try #require(firstStart)
    let task = Task { await untilCancelled() }
    #expect(state.isCurrent(first) && state.note(task, of: first))
    state.stop()?.cancel()
    await task.value
    #expect(!state.isCurrent(first) && state.stop() == nil)
    let secondStart = state.start()
    let second = try #require(secondStart)
    #expect(state.isCurrent(second) && !state.isCurrent(first) && !state.note(task, of: first))
  }

  @Test("A task that has its answer is not loaded again when it is resumed")
  func answered() throws {
    var state = LoadState()
    let firstStart = state.start()
    let first = try #require(firstStart)
    state.answer()
    #expect(state.stop() == nil && state.start() == nil && !state.isCurrent(first))
  }
}
