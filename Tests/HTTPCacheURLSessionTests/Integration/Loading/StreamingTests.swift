// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Foundation
import HTTPCacheURLSession
import HTTPCaching
import HTTPTypes
import Loopback
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite("Content that is streamed to an origin and from it", .timeLimit(.minutes(10)))
struct StreamingTests {
  // MARK: - To the origin

  /// Which session sends a request.
  enum Way: CaseIterable, Sendable {
    case session, cacheSession
  }

  /// - Parameter file: the file with the content, which the request does not have then.
  private func send(
    _ request: URLRequest, file: URL? = nil, _ way: Way, _ setting: Setting,
    _ session: HTTPCacheSession? = nil
  ) async throws -> String {
    let session = session ?? HTTPCacheSession(cache: setting.cache, configuration: .plain)
    let data =
      switch (way, file) {
      case (.session, _): try await setting.session.data(for: request).0
      case (.cacheSession, let file?): try await session.upload(for: request, fromFile: file).0
      case (.cacheSession, nil): try await session.data(for: request).0
      }
    return String(decoding: data, as: UTF8.self)
  }

  /// Calls a closure with a request that has some content, or with the file that has it.
  private func withContent<Result>(
    _ content: Data, _ form: Form, _ setting: Setting,
    _ body: (URLRequest, _ file: URL?) async throws -> Result
  ) async throws -> Result {
    var request = try setting.request("/", method: "POST")
    switch form {
    case .data: request.httpBody = content
    case .stream: request.httpBodyStream = InputStream(data: content)
    case .file:
      return try await withTemporaryFolder { folder in
        let file = folder.appendingPathComponent("content")
        try content.write(to: file)
        return try await body(request, file)
      }
    }
    return try await body(request, nil)
  }

  #if canImport(FoundationNetworking)
    @Test("Streams that tasks feed are sent, however many there are", arguments: Way.allCases)
    func fedByTasks(way: Way) async throws {
      try await Setting.with { request in
        .init(body: "\(request.body.count)")
      } test: { setting async throws in
        // More than Swift has threads: if each read blocked one, no task could feed the streams.
        let count = 2 * ProcessInfo.processInfo.activeProcessorCount + 4
        try await withThrowingTaskGroup(of: String.self) { group in
          let feeds = (0..<count).map { _ in Feed() }
          for feed in feeds {
            var request = try setting.request("/", method: "POST")
            request.httpBodyStream = feed.stream
            group.addTask { [request] in try await send(request, way, setting) }
          }
          group.addTask {
            for feed in feeds {
              await feed.isRead.wait()
              for _ in 0..<100 { feed.add(Data(repeating: 1, count: 5000)) }
              feed.end()
            }
            return "500000"
          }
          // A load that fails never reads its stream, and another one that is cancelled then waits for the rest of it.
          defer {
            for feed in feeds {
              feed.isRead.open()
              feed.end()
            }
          }
          for try await answer in group { #expect(answer == "500000") }
        }
      }
    }

    @Test("A cancelled load does not wait for its stream", arguments: Way.allCases)
    func cancelled(way: Way) async throws {
      try await Setting.with { _ in
        .init()
      } test: { setting async throws in
        let feed = Feed()
        defer { feed.end() }
        var request = try setting.request("/", method: "POST")
        request.httpBodyStream = feed.stream
        let load = Task { [request] in try await send(request, way, setting) }
        await feed.isRead.wait()
        load.cancel()
        let error = await #expect(throws: URLError.self) { try await load.value }
        #expect(error?.code == .cancelled)
        #expect(setting.origin.requestCount == 0)
      }
    }
  #endif

  @Test(
    "A long stream arrives unchanged, also through a redirect that keeps the method",
    arguments: Way.allCases, [100_000, 3_000_000])
  func long(way: Way, count: Int) async throws {
    let body = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) })
    try await Setting.with { request in
      request.target == "/from"
        ? .init(status: 307, fields: [.location: "/to"])
        : .init(body: "\(request.method) \(request.body.elementsEqual(body))")
    } test: { setting async throws in
      var request = try setting.request("/from", method: "POST")
      request.httpBodyStream = InputStream(data: body)
      #expect(try await send(request, way, setting) == "POST true")
      #expect(setting.origin.requests.map(\.body.count) == [count, count])
    }
  }

  /// How a request has its content.
  enum Form: CaseIterable, Sendable {
    case data, stream, file
  }

  private static let forms = Way.allCases.flatMap { way in
    // A session's uploadTask(with:fromFile:) reads the file before this module sees the request.
    Form.allCases.filter { way == .cacheSession || $0 != .file }.map { (way, $0) }
  }

  @Test(
    "If an open connection turns out to be closed, the request is sent again with all of its content",
    // Of many idle sessions to origins at once, some would end between the two requests.
    .serialized, arguments: Self.forms, [1, 10_000, 500_000])
  func repeated(sender: (way: Way, form: Form), count: Int) async throws {
    let body = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) })
    // A session to the origin of its own: in a shared one, others may end the open connection before.
    try await Setting.with(base: .ephemeral) { request in
      // The first request leaves its connection open.
      .init(
        body: "\(request.body.elementsEqual(body))", ending: request.number == 2 ? .noResponse : .whole)
    } test: { setting async throws in
      let session = HTTPCacheSession(cache: setting.cache, configuration: .ephemeral.patient)
      _ = try await send(setting.request("/"), sender.way, setting, session)
      let answer = try await withContent(body, sender.form, setting) { request, file in
        try await send(request, file: file, sender.way, setting, session)
      }
      #expect(answer == "true")
      #expect(setting.origin.requests.map(\.body.count) == [0, count, count])
    }
  }

  @Test("The progress of content that is sent again begins again")
  func repeatedProgress() async throws {
    let content = Data(count: 300_000)
    // A session to the origin of its own: in a shared one, others may end the open connection before.
    try await Setting.with(base: .ephemeral) { request in
      .init(ending: request.number == 2 ? .noResponse : .whole)
    } test: { setting async throws in
      let session = HTTPCacheSession(cache: setting.cache, configuration: .ephemeral.patient)
      _ = try await session.data(for: setting.request("/"))
      let counts = Recorder<Int>()
      _ = try await session.upload(for: setting.request("/", method: "POST"), from: content) {
        count, length in
        #expect(length == content.count)
        counts.add(count)
      }
      #expect(setting.origin.requestCount == 3)
      // Foundation counts both times together: the last count would be twice the length.
      #expect(counts.all.allSatisfy { $0 <= content.count } && counts.all.last == content.count)
    }
  }

  @Test(
    "willSend may replace the content by a stream of its own, by data, or by nothing",
    arguments: [0, 10, 200_000], [nil, "data", "stream"])
  func replaced(count: Int, by kind: String?) async throws {
    var options = CachingOptions()
    options.willSend = { request in
      var request = request
      switch kind {
      case "data": request.httpBody = Data("new".utf8)
      case "stream": request.httpBodyStream = InputStream(data: Data("new".utf8))
      default: request.httpBody = nil
      }
      return request
    }
    try await Setting.with(options: options) { request in
      .init(body: String(decoding: request.body.prefix(10), as: UTF8.self))
    } test: { setting async throws in
      var request = try setting.request("/", method: "POST")
      if count > 0 { request.httpBody = Data(repeating: 0x61, count: count) }
      #expect(try await setting.load(request).text == (kind == nil ? "" : "new"))
    }
  }

  @Test("Cancelling uploads while they are sent leaves others undisturbed", arguments: Form.allCases)
  func cancelledUploads(form: Form) async throws {
    let (count, length) = (40, 2_000_000)
    try await Setting.with { request in
      .init(body: "\(request.body.count)")
    } test: { setting async throws in
      let session = HTTPCacheSession(cache: setting.cache, configuration: .plain)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<count {
          let begun = Gate()
          let progress: HTTPCacheSession.Progress = { _, _ in begun.open() }
          group.addTask {
            let load = Task {
              try await withContent(Data(count: length), form, setting) { request, file in
                if let file {
                  return try await session.upload(for: request, fromFile: file, progress: progress).0
                }
                if let content = request.httpBody {
                  return try await session.upload(for: request, from: content, progress: progress).0
                }
                // How much of a stream was sent is not reported.
                begun.open()
                return try await session.data(for: request).0
              }
            }
            await begun.wait()
            if number.isMultiple(of: 2) { load.cancel() }
            let text = await load.result.map { String(decoding: $0, as: UTF8.self) }
            // A cancellation may come when the answer is there.
            if !number.isMultiple(of: 2) {
              let text = try text.get()
              #expect(text == "\(length)")
            }
          }
        }
        try await group.waitForAll()
      }
    }
  }

  @Test("A middleware may replace the content of a long stream, and willSend may read it")
  func changed() async throws {
    var options = CachingOptions()
    options.middleware = { transport in
      { request, body in
        request.path == "/middleware"
          ? try await transport(request, MessageBody(Array("replaced".utf8)))
          : try await transport(request, body)
      }
    }
    let seen = Mutex(0)
    options.willSend = { request in
      guard let stream = request.httpBodyStream else { return request }
      stream.open()
      defer { stream.close() }
      var buffer = [UInt8](repeating: 0, count: 64 << 10)
      while case let count = stream.read(&buffer, maxLength: buffer.count), count > 0 {
        seen.withLock { $0 += count }
      }
      return request
    }
    try await Setting.with(options: options) { request in
      .init(body: "\(request.body.count)")
    } test: { setting async throws in
      for (path, count) in [("/middleware", 8), ("/plain", 1_000_000)] {
        var request = try setting.request(path, method: "POST")
        request.httpBodyStream = InputStream(data: Data(count: 1_000_000))
        #expect(try await setting.load(request).text == "\(count)")
      }
      #expect(seen.withLock { $0 } == 1_000_000)
    }
  }

  #if canImport(FoundationNetworking)
    @Test("An upload task with a streamed request sends its stream")
    func streamedUpload() async throws {
      let arrived = Gate()
      try await Setting.with { _ in
        arrived.open()
        return .init()
      } test: { setting async throws in
        var request = try setting.request("/", method: "PUT")
        request.httpBodyStream = InputStream(data: Data(count: 1000))
        setting.session.uploadTask(withStreamedRequest: request).resume()
        await arrived.wait()
        #expect(setting.origin.requests.map(\.body.count) == [1000])
      }
    }
  #endif

  // MARK: - From the origin

  @Test("If a reader leaves early, little more of the content is sent")
  func leaving() async throws {
    let (content, repetitions, leaves) = ([UInt8](repeating: 0, count: 1 << 20), 2000, 5)
    let sent = Recorder<Int>()
    try await Setting.with { _ in
      var response = LoopbackOrigin.Response(fields: [.cacheControl: "no-store"], bytes: content) {
        sent.add($0)
      }
      response.repetitions = repetitions
      return response
    } test: { setting async throws in
      let session = HTTPCacheSession(cache: setting.cache, configuration: .plain)
      for number in 1...leaves {
        do {
          let (bytes, _) = try await session.bytes(for: setting.request("/\(number)"))
          var count = 0
          for try await chunk in bytes.chunks {
            count += chunk.count
            if count > 1 << 20 { break }
          }
        }
        try await sent.reach(number)
      }
      // 6 MB on an idle machine: what was read, and what the kernel's buffers contain.
      #expect(sent.all.allSatisfy { $0 < content.count * repetitions / 4 }, "\(sent.all)")
    }
  }

  // MARK: - Suspended tasks

  @Test("A task that is suspended and resumed during its load ends with its content")
  func suspended() async throws {
    let (gate, count) = (Gate(), 100)
    try await Setting.with { request in
      await gate.wait()
      return .init(fields: [.cacheControl: "no-store"], body: "\(request.method)\(request.body.count)")
    } test: { setting async throws in
      let (texts, ended) = AsyncStream.makeStream(of: String.self)
      var tasks: [URLSessionDataTask] = []
      for number in 0..<count {
        var request = try setting.request("/\(number)", method: number.isMultiple(of: 2) ? "GET" : "POST")
        if number % 4 == 1 { request.httpBody = Data(count: 3) }
        if number % 4 == 3 { request.httpBodyStream = InputStream(data: Data(count: 3)) }
        tasks.append(
          setting.session.dataTask(with: request) { data, _, error in
            ended.yield(error.map { "\($0)" } ?? String(decoding: data ?? Data(), as: UTF8.self))
          })
      }
      for task in tasks { task.resume() }
      await gate.arrived(1)
      for task in tasks {
        task.suspend()
        task.resume()
      }
      gate.open()
      var results: [String: Int] = [:]
      for await text in texts.prefix(count) { results[text, default: 0] += 1 }
      #expect(results == ["GET0": count / 2, "POST3": count / 2])
    }
  }
}

#if canImport(FoundationNetworking)
  /// The other end of a stream whose reader waits until something is added.
  private final class Feed: Sendable {
    private let available = DispatchSemaphore(value: 0)
    private let pieces = Mutex<[Data]>([])
    /// Opened when a read begins.
    let isRead = Gate()

    func add(_ data: Data) {
      pieces.withLock { $0.append(data) }
      available.signal()
    }

    func end() { available.signal() }

    fileprivate func next() -> Data? {
      isRead.open()
      available.wait()
      return pieces.withLock { $0.isEmpty ? nil : $0.removeFirst() }
    }

    var stream: InputStream { FedStream(self) }
  }

  private final class FedStream: InputStream {
    private let feed: Feed

    init(_ feed: Feed) {
      self.feed = feed
      super.init(data: Data())
    }

    override func open() {}
    override func close() {}
    override var streamStatus: Stream.Status { .open }
    override var hasBytesAvailable: Bool { true }

    override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength: Int) -> Int {
      guard let piece = feed.next() else { return 0 }
      piece.copyBytes(to: buffer, count: piece.count)
      return piece.count
    }
  }
#endif
