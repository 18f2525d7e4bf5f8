// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Foundation
import HTTPCacheEngine
import HTTPCacheStore
import HTTPCacheURLSession
import HTTPCaching
import HTTPTypes
import Loopback
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite("HTTPCacheSession", .timeLimit(.minutes(10)))
struct CacheSessionTests {
  /// Runs a test with a session in a directory of its own.
  private func with(
    options: CachingOptions = CachingOptions(), configure: (inout HTTPCache.Configuration) -> Void = { _ in },
    _ handler: @escaping LoopbackOrigin.Handler,
    test body: (Setting, HTTPCacheSession, URL) async throws -> Void
  ) async throws {
    let folder = temporaryURL()
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(at: folder) }
    try await Setting.with(configure: configure, handler) { setting async throws in
      let session = HTTPCacheSession(
        cache: setting.cache, options: options, configuration: .plain)
      try await body(setting, session, folder)
    }
  }

  private static let fresh: HTTPFields = [.cacheControl: "max-age=60"]

  // MARK: - The same answers as through URLSession

  /// A resource, the requests for it in turn, and the answers that the rules require.
  struct Case: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var fields: HTTPFields = [.cacheControl: "max-age=60"]
    var status = 200
    var policies: [URLRequest.CachePolicy] = [.useProtocolCachePolicy, .useProtocolCachePolicy]
    var method = "GET"
    var sources: [CachedResponse.Source?] = [.network, .hit]
  }

  static let cases: [Case] = [
    Case(testDescription: "a fresh response"),
    Case(testDescription: "no-store", fields: [.cacheControl: "no-store"], sources: [.network, .network]),
    Case(
      testDescription: "a validator and no lifetime", fields: [.cacheControl: "no-cache", .eTag: "\"1\""],
      sources: [.network, .validated]),
    Case(testDescription: "a stored 404", status: 404),
    Case(
      testDescription: "a redirect to itself, refused at its limit", fields: [.location: "/"], status: 302,
      sources: [nil, nil]),
    Case(
      testDescription: "a policy that ignores the store",
      policies: [.useProtocolCachePolicy, .reloadIgnoringLocalCacheData], sources: [.network, .network]),
    Case(
      testDescription: "a policy that forbids the network, with nothing stored",
      policies: [.returnCacheDataDontLoad, .returnCacheDataElseLoad, .returnCacheDataDontLoad],
      sources: [nil, .network, .hit]),
    Case(
      testDescription: "a policy that revalidates", fields: [.cacheControl: "max-age=60", .eTag: "\"1\""],
      policies: [.useProtocolCachePolicy, .reloadRevalidatingCacheData], sources: [.network, .validated]),
    Case(testDescription: "an unsafe method", method: "POST", sources: [.network, .network]),
  ]

  @Test("URLSession and HTTPCacheSession give the same answers", arguments: cases)
  func sameAnswers(_ one: Case) async throws {
    for throughProtocol in [true, false] {
      try await with { request in
        if request.fields[.ifNoneMatch] != nil { return .init(status: 304, fields: one.fields) }
        return .init(status: one.status, fields: one.fields, body: request.method + " content")
      } test: { setting, session, _ async throws in
        for (policy, source) in zip(one.policies, one.sources) {
          let request = try setting.request(policy: policy, method: one.method)
          do {
            if throughProtocol {
              let answer = try await setting.load(request)
              #expect(answer.source == source)
              #expect(answer.text == one.method + " content")
              #expect(answer.response.statusCode == one.status)
            } else {
              let (data, answer) = try await session.data(for: request)
              #expect(answer.source == source)
              #expect(String(decoding: data, as: UTF8.self) == one.method + " content")
              #expect(answer.response.statusCode == one.status)
              #expect(answer.response.cacheStatus?.reason == answer.reason || answer.storage != nil)
            }
          } catch let error as URLError {
            #expect(source == nil)
            #expect([.resourceUnavailable, .httpTooManyRedirects].contains(error.code))
          }
        }
      }
    }
  }

  @Test("The answer says where the response came from, why, how old it is, and whether it was stored")
  func answer() async throws {
    try await with { _ in
      .init(fields: Self.fresh, body: "content")
    } test: { setting, session, _ async throws in
      let request = try setting.request("/a")
      let (_, first) = try await session.data(for: request)
      #expect(first.source == .network)
      #expect(first.storage == .storedWithLifetime)
      #expect(first.age == nil)
      setting.clock.advance(seconds: 7)
      let (data, second) = try await session.data(from: try #require(request.url))
      #expect(String(decoding: data, as: UTF8.self) == "content")
      #expect((second.source, second.reason) == (.hit, .fresh))
      #expect((second.age, second.remainingLifetime) == (.seconds(7), .seconds(53)))
      #expect(second.storage == nil)
      #expect(setting.origin.requestCount == 1)
    }
  }

  @Test("The cacheStatus of a complete answer says that the response was not stored in the end")
  func settledAnswer() async throws {
    var options = CachingOptions()
    options.willCache = { _, _ in nil }
    try await with(options: options) { _ in
      .init(fields: Self.fresh, body: "content")
    } test: { setting, session, folder async throws in
      let request = try setting.request("/a")
      let (_, loaded) = try await session.data(for: request)
      let downloaded = try await session.download(for: request, to: folder.appendingPathComponent("a"))
      for answer in [loaded, downloaded] {
        #expect(answer.storage == .refusedByApplication)
        #expect(answer.response.cacheStatus?.reason == .refusedByApplication)
        #expect(answer.response.cacheStatus?.isStored == false)
        #expect(answer.remainingLifetime == nil)
      }
    }
  }

  @Test("Only http and https are loaded")
  func otherSchemes() async throws {
    try await with { _ in
      .init()
    } test: { _, session, folder async throws in
      let error = await #expect(throws: URLError.self) { try await session.data(from: folder) }
      #expect(error?.code == .unsupportedURL)
    }
  }

  // MARK: - Content as it arrives

  @Test("bytes returns when the head has arrived, and delivers the content while it arrives")
  func streams() async throws {
    let (content, sink) = AsyncThrowingStream<ArraySlice<UInt8>, any Error>.makeStream()
    var options = CachingOptions()
    options.middleware = { _ in
      { _, _ in
        TransportResponse(
          head: HTTPResponse(status: .ok, headerFields: Self.fresh), body: MessageBody(content))
      }
    }
    try await with(options: options) { _ in
      .init()
    } test: { setting, session, _ async throws in
      let (bytes, answer) = try await session.bytes(for: setting.request("/a"))
      #expect(answer.source == .network)
      var iterator = bytes.makeAsyncIterator()
      for number in UInt8(0)..<100 {
        sink.yield([number, 200])
        #expect(try await iterator.next() == number)
        #expect(try await iterator.next() == 200)
      }
      sink.finish()
      #expect(try await iterator.next() == nil)
      #expect(answer.storage == .storedWithLifetime)
      let (again, hit) = try await session.bytes(for: setting.request("/a"))
      #expect(hit.source == .hit)
      #expect(again.length == 200)
      #expect(try await again.reduce(0) { $0 + Int($1) } == 100 * 200 + 99 * 50)
    }
  }

  @Test(
    "bytes delivers content of any length from an origin", arguments: [0, 1, 70_000, 5_000_000],
    [true, false])
  func lengths(count: Int, isChunked: Bool) async throws {
    let body = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 7) }
    try await with { _ in
      .init(fields: Self.fresh, bytes: body, isChunked: isChunked)
    } test: { setting, session, _ async throws in
      for source in [CachedResponse.Source.network, .hit] {
        let (bytes, answer) = try await session.bytes(for: setting.request("/a"))
        #expect(answer.source == source)
        if source == .hit || !isChunked { #expect(bytes.length == count) }
        let collected = try await bytes.chunks.collect(upTo: count)
        #expect(collected.elementsEqual(body))
      }
    }
  }

  @Test("Content that ends early is an error")
  func endsEarly() async throws {
    try await with { _ in
      .init(fields: Self.fresh, body: String(repeating: "a", count: 1000), ending: .cut(afterBytes: 500))
    } test: { setting, session, _ async throws in
      await #expect(throws: URLError.self) {
        let (bytes, _) = try await session.bytes(for: setting.request("/a"))
        for try await _ in bytes {}
      }
      await #expect(throws: URLError.self) { try await session.data(for: setting.request("/b")) }
    }
  }

  // MARK: - Downloads

  @Test("A download appears when it is complete, replaces the file, and is stored", arguments: [true, false])
  func downloads(replaces: Bool) async throws {
    let body = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 >> 3) }
    try await with { _ in
      .init(fields: Self.fresh, bytes: body)
    } test: { setting, session, folder async throws in
      let file = folder.appendingPathComponent("file")
      if replaces { try Data("old".utf8).write(to: file) }
      for source in [CachedResponse.Source.network, .hit] {
        let steps = Mutex<[Int]>([])
        let answer = try await session.download(for: setting.request("/a"), to: file) { count, length in
          #expect(length == body.count)
          steps.withLock { $0.append(count) }
        }
        #expect(answer.source == source)
        #expect(try Data(contentsOf: file).elementsEqual(body))
        #expect(steps.withLock { $0 == $0.sorted() && $0.last == body.count })
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["file"])
      }
    }
  }

  @Test("Without a successful response, a download leaves the file as it was", arguments: [404, 500])
  func unsuccessful(status: Int) async throws {
    try await with { _ in
      .init(status: status, body: "an error page")
    } test: { setting, session, folder async throws in
      let file = folder.appendingPathComponent("file")
      try Data("old".utf8).write(to: file)
      let answer = try await session.download(for: setting.request("/a"), to: file)
      #expect(answer.response.statusCode == status)
      #expect(try Data(contentsOf: file) == Data("old".utf8))
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["file"])
    }
  }

  @Test("A broken download leaves no file, and the next one loads only the rest")
  func resumes() async throws {
    let body = (0..<400_000).map { UInt8(truncatingIfNeeded: $0 >> 5) }
    let fields: HTTPFields = [.cacheControl: "max-age=60", .eTag: "\"1\"", .acceptRanges: "bytes"]
    try await with { request in
      guard let range = request.fields[.range] else {
        return .init(fields: fields, bytes: body, ending: .cut(afterBytes: 300_000))
      }
      guard let start = range.dropFirst("bytes=".count).split(separator: "-").first.flatMap({ Int($0) })
      else {
        return .init(status: 416)
      }
      var partial = fields
      partial[.contentRange] = "bytes \(start)-\(body.count - 1)/\(body.count)"
      return .init(status: 206, fields: partial, bytes: Array(body[start...]))
    } test: { setting, session, folder async throws in
      let file = folder.appendingPathComponent("file")
      await #expect(throws: URLError.self) {
        try await session.download(for: setting.request("/a"), to: file)
      }
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
      try await session.download(for: setting.request("/a"), to: file)
      #expect(try Data(contentsOf: file).elementsEqual(body))
      #expect(setting.origin.requests.last?.fields[.range] != nil)
    }
  }

  @Test("A destination that cannot be written is an error with its path")
  func noDestination() async throws {
    try await with { _ in
      .init(fields: Self.fresh, body: "a")
    } test: { setting, session, folder async throws in
      let inNoFolder = folder.appendingPathComponent("none/file")
      let error = await #expect(throws: URLError.self) {
        try await session.download(for: setting.request("/a"), to: inNoFolder)
      }
      #expect(error?.code == .cannotCreateFile)
      #expect(error?.localizedDescription.contains(inNoFolder.path) == true)
      try FileManager.default.createDirectory(
        at: folder.appendingPathComponent("folder/inner"), withIntermediateDirectories: true)
      let onFolder = await #expect(throws: URLError.self) {
        try await session.download(for: setting.request("/a"), to: folder.appendingPathComponent("folder"))
      }
      #expect(onFolder?.code == .cannotMoveFile)
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["folder"])
    }
  }

  // MARK: - Uploads

  @Test(
    "The content of a file is sent, also after a redirect that keeps the method", arguments: [200, 307, 303])
  func uploads(status: Int) async throws {
    let content = Data((0..<700_000).map { UInt8(truncatingIfNeeded: $0 >> 4) })
    try await with { request in
      request.target == "/a" && status != 200
        ? .init(status: status, fields: [.location: "/b"]) : .init(body: String(request.body.count))
    } test: { setting, session, folder async throws in
      let file = folder.appendingPathComponent("file")
      try content.write(to: file)
      let (data, _) = try await session.upload(for: setting.request("/a", method: "PUT"), fromFile: file)
      #expect(String(decoding: data, as: UTF8.self) == (status == 303 ? "0" : "700000"))
      let sent = setting.origin.requests.map { ($0.method, $0.body.count) }
      #expect(sent.first.map { $0 == ("PUT", 700_000) } == true)
      #expect(setting.origin.requests.first.map { Data($0.body) == content } == true)
      #expect(sent.last?.0 == (status == 303 ? "GET" : "PUT"))
      let (echo, _) = try await session.upload(
        for: setting.request("/c", method: "POST"), from: Data("abc".utf8))
      #expect(String(decoding: echo, as: UTF8.self) == "3")
    }
  }

  @Test("An upload reports how much was sent, up to its length", arguments: [false, true])
  func uploadProgress(isFile: Bool) async throws {
    let content = Data(repeating: 7, count: 700_000)
    try await with { request in
      .init(body: String(request.body.count))
    } test: { setting, session, folder async throws in
      let steps = Mutex<[Int]>([])
      let progress: HTTPCacheSession.Progress = { count, length in
        #expect(length == content.count)
        steps.withLock { $0.append(count) }
      }
      let request = try setting.request("/a", method: "PUT")
      let file = folder.appendingPathComponent("file")
      try content.write(to: file)
      let (data, _) =
        isFile
        ? try await session.upload(for: request, fromFile: file, progress: progress)
        : try await session.upload(for: request, from: content, progress: progress)
      #expect(String(decoding: data, as: UTF8.self) == "700000")
      #expect(steps.withLock { $0.count > 1 && $0 == $0.sorted() && $0.last == content.count })
    }
  }

  @Test("A URL is enough for bytes and downloads")
  func fromURL() async throws {
    try await with { _ in
      .init(fields: Self.fresh, body: "content")
    } test: { setting, session, folder async throws in
      let url = try #require(setting.request("/a").url)
      let file = folder.appendingPathComponent("file")
      #expect(try await session.download(from: url, to: file).source == .network)
      #expect(try Data(contentsOf: file) == Data("content".utf8))
      let (bytes, answer) = try await session.bytes(from: url)
      #expect(answer.source == .hit)
      #expect(try await bytes.reduce(into: Data()) { $0.append($1) } == Data("content".utf8))
    }
  }

  @Test("A file that cannot be read is an error")
  func unreadableUpload() async throws {
    try await with { _ in
      .init()
    } test: { setting, session, folder async throws in
      let error = await #expect(throws: URLError.self) {
        try await session.upload(
          for: setting.request("/a", method: "PUT"), fromFile: folder.appendingPathComponent("none"))
      }
      #expect(error?.code == .cannotOpenFile)
      #expect(setting.origin.requestCount == 0)
    }
  }

  // MARK: - Options

  @Test("A request may have a lifetime and a partition of its own")
  func ownOptions() async throws {
    try await with { request in
      .init(status: request.target == "/error" ? 500 : 200, fields: [.cacheControl: "no-store"], body: "a")
    } test: { setting, session, _ async throws in
      let request = try setting.request("/a")
      let hour = HTTPCacheSession.RequestOptions(lifetime: .seconds(3600))
      _ = try await session.data(for: request, options: hour)
      let (_, hit) = try await session.data(for: request)
      #expect((hit.source, hit.reason) == (.hit, .freshByApplication))
      setting.clock.advance(seconds: 3601)
      let (_, stale) = try await session.data(for: request)
      #expect(stale.source == .network)
      #expect(stale.storage == .responseNoStore)
      // An error does not last.
      _ = try await session.data(for: setting.request("/error"), options: hour)
      #expect(try await session.data(for: setting.request("/error")).1.source == .network)
      // Another partition has its own responses.
      _ = try await session.data(
        for: request, options: .init(lifetime: .seconds(60), partition: "b"))
      #expect(try await session.data(for: request, options: .init(partition: "b")).1.source == .hit)
      #expect(try await session.data(for: request).1.source == .network)
    }
  }

  @Test("A request that is not intercepted goes to the origin as if there were no cache")
  func notIntercepted() async throws {
    var options = CachingOptions()
    options.shouldIntercept = { $0.url?.path != "/direct" }
    try await with(options: options) { _ in
      .init(fields: Self.fresh, body: "a")
    } test: { setting, session, _ async throws in
      for _ in 1...2 {
        let (data, answer) = try await session.data(for: setting.request("/direct"))
        #expect(data == Data("a".utf8))
        #expect(answer.source == .network)
        #expect(answer.response.cacheStatus == nil)
      }
      #expect(setting.origin.requestCount == 2)
    }
  }

  @Test("Cancelling the task cancels the load", .timeLimit(.minutes(2)))
  func cancelled() async throws {
    let gate = Gate()
    try await with { _ in
      await gate.wait()
      return .init()
    } test: { setting, session, _ async throws in
      let request = try setting.request("/a")
      let task = Task { try await session.data(for: request) }
      await gate.arrived(1)
      task.cancel()
      let error = await #expect(throws: URLError.self) { try await task.value }
      #expect(error?.code == .cancelled)
      gate.open()
    }
  }
}
