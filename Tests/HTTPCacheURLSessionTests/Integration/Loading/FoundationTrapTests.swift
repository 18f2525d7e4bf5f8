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

/// Each of these went wrong in Foundation on Linux, or would have in an adapter that did the obvious thing.
@Suite("Workarounds for Foundation", .timeLimit(.minutes(10)))
struct FoundationTrapTests {
  /// 20 times "decoded content ", gzipped.
  private static let gzipped =
    Data(
      base64Encoded:
        "H4sIAAAAAAACA0tJTc5PSU1RSM7PK0nNK1FIGeWTxAcAESn5ikABAAA=") ?? Data()
  private static let decoded = String(repeating: "decoded content ", count: 20)

  @Test("Content that arrives in many pieces is delivered whole", arguments: [true, false])
  func wholeBody(fromStore: Bool) async throws {
    let body = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    try await Setting.with { _ in
      .init(fields: [.cacheControl: "max-age=60"], bytes: body, isChunked: true)
    } test: { setting async throws in
      if fromStore { _ = try await setting.load() }
      let answer = try await setting.load()
      #expect(answer.source == (fromStore ? .hit : .network))
      #expect(Array(answer.data) == body)
    }
  }

  @Test("Decoded content has no Content-Encoding and no encoded length")
  func decodedContent() async throws {
    try await Setting.with { request in
      let coding = request.fields[.acceptEncoding]?.contains("gzip") == true
      return coding
        ? .init(
          fields: [.cacheControl: "max-age=60", .contentEncoding: "gzip", .vary: "Accept-Encoding"],
          bytes: Array(Self.gzipped))
        : .init(fields: [.cacheControl: "max-age=60", .vary: "Accept-Encoding"], body: Self.decoded)
    } test: { setting async throws in
      for expected in [CachedResponse.Source.network, .hit] {
        let answer = try await setting.load()
        #expect(answer.source == expected)
        #expect(answer.text == Self.decoded)
        #expect(answer.response.value(forHTTPHeaderField: "Content-Encoding") == nil)
        #expect(answer.response.value(forHTTPHeaderField: "Content-Length") == nil)
      }
    }
  }

  @Test("Content that Foundation decodes is not stored in parts")
  func decodedPart() async throws {
    try await Setting.with { request in
      let fields: HTTPFields = [
        .cacheControl: "max-age=60", .eTag: "\"z\"", .contentEncoding: "gzip",
        .contentRange: "bytes 0-\(Self.gzipped.count - 1)/\(Self.gzipped.count)",
      ]
      return .init(
        status: request.fields[.range] == nil ? 200 : 206, fields: fields, bytes: Array(Self.gzipped))
    } test: { setting async throws in
      let request = try setting.request(fields: ["Range": "bytes=0-\(Self.gzipped.count - 1)"])
      let answer = try await setting.load(request)
      #expect(answer.reason == .partNotPlaced)
      #expect(setting.origin.requests.map { $0.fields[.acceptEncoding] } == ["identity"])
      #expect(setting.cache.store.usage.memoryEntries == 0)
    }
  }

  @Test("A 304 to gzipped content leaves the stored content decoded")
  func decodedContentValidated() async throws {
    try await Setting.with { request in
      let fields: HTTPFields = [.cacheControl: "max-age=60", .eTag: "\"z\"", .contentEncoding: "gzip"]
      return request.fields[.ifNoneMatch] == nil
        ? .init(fields: fields, bytes: Array(Self.gzipped)) : .init(status: 304, fields: fields)
    } test: { setting async throws in
      _ = try await setting.load()
      setting.clock.advance(seconds: 100)
      let answer = try await setting.load()
      #expect(answer.source == .validated)
      #expect(answer.text == Self.decoded)
      #expect(answer.response.value(forHTTPHeaderField: "Content-Encoding") == nil)
    }
  }

  @Test("The adapter sends no field of its own to the origin")
  func noMarker() async throws {
    try await Setting.with { _ in
      .init(body: "x")
    } test: { setting async throws in
      _ = try await setting.load(fields: ["X-Mine": "1"])
      let names = Set(setting.origin.requests[0].fields.map(\.name.canonicalName))
      #expect(
        names.subtracting([
          "host", "accept", "accept-encoding", "accept-language", "user-agent", "connection",
        ])
          == ["x-mine"])
    }
  }

  @Test("Completion handlers receive the body", arguments: [1, 2])
  func completionHandler(load: Int) async throws {
    try await Setting.with { _ in
      .init(fields: [.cacheControl: "max-age=60"], body: "for the handler")
    } test: { setting async throws in
      for _ in 1..<load { _ = try await setting.load() }
      let request = try setting.request()
      let text: String = try await withCheckedThrowingContinuation { continuation in
        setting.session.dataTask(with: request) { data, _, error in
          if let error {
            continuation.resume(throwing: error)
          } else {
            continuation.resume(returning: String(decoding: data ?? Data(), as: UTF8.self))
          }
        }.resume()
      }
      #expect(text == "for the handler")
      #expect(setting.origin.requestCount == 1)
    }
  }

  @Test("Delegates receive the response, the body and the end, once each")
  func delegate() async throws {
    try await Setting.with { _ in
      .init(fields: [.cacheControl: "max-age=60"], body: String(repeating: "d", count: 50_000))
    } test: { setting async throws in
      for expected in [CachedResponse.Source.network, .hit] {
        let recorder = RecordingDelegate()
        let session = URLSession(
          configuration: .caching(with: setting.cache, base: .plain), delegate: recorder,
          delegateQueue: nil)
        session.dataTask(with: try setting.request()).resume()
        let record = await recorder.finished()
        #expect(record.responses.map { $0.cacheStatus?.source } == [expected])
        #expect(record.bytes == 50_000)
        #expect(record.error == nil)
        session.finishTasksAndInvalidate()
      }
    }
  }

  @Test("A task cancelled during its answer affects no other task")
  func cancelledWhileAnswered() async throws {
    try await Setting.with { _ in
      .init(
        fields: [.cacheControl: "max-age=60"], body: String(repeating: "x", count: 30_000), isChunked: true)
    } test: { setting async throws in
      for round in 0..<100 {
        // A request always waits, so that it is the answers that meet the cancellations, and not the transfer.
        let tasks = (0..<8).map { _ in Task { try await setting.load("/\(round)").data.count } }
        for (index, task) in tasks.dropFirst(2).enumerated() {
          // From one round to the next, the cancellations come later.
          let delay = DispatchTimeInterval.microseconds(20 * (round % 40) * index)
          DispatchQueue.global().asyncAfter(deadline: .now() + delay) { task.cancel() }
        }
        for (index, task) in tasks.enumerated() {
          let result = await task.result
          if index < 2 { #expect(try result.get() == 30_000) }
        }
      }
    }
  }

  @Test("A cancelled task fails with cancelled, and nothing is stored")
  func cancelled() async throws {
    let gate = Gate()
    try await Setting.with { _ in
      await gate.wait()
      return .init(fields: [.cacheControl: "max-age=60"], body: "late")
    } test: { setting async throws in
      let task = Task { try await setting.load() }
      await gate.arrived(1)
      task.cancel()
      let error = await #expect(throws: URLError.self) { try await task.value }
      #expect(error?.code == .cancelled)
      gate.open()
      #expect(setting.cache.store.usage.memoryEntries == 0)
    }
  }

  @Test("An upload sends its body")
  func upload() async throws {
    try await Setting.with { request in
      .init(body: "got \(request.body.count)")
    } test: { setting async throws in
      let body = Data(repeating: 7, count: 100_000)
      let (data, _) = try await setting.session.upload(for: setting.request(method: "PUT"), from: body)
      #expect(String(decoding: data, as: UTF8.self) == "got 100000")
    }
  }

  #if canImport(FoundationNetworking)
    @Test("A download task of either form fails with an explanatory error")
    func download() async throws {
      try await Setting.with { _ in
        .init(body: "x")
      } test: { setting async throws in
        let request = try setting.request()
        let error: (any Error)? = await withCheckedContinuation { continuation in
          setting.session.downloadTask(with: request) { _, _, error in continuation.resume(returning: error) }
            .resume()
        }
        #expect((error as? URLError)?.code == .unsupportedURL)
        let recorder = RecordingDelegate()
        let session = URLSession(
          configuration: .caching(with: setting.cache, base: .plain), delegate: recorder,
          delegateQueue: nil)
        session.downloadTask(with: request).resume()
        #expect(await recorder.finished().error?.contains("data task") == true)
        session.finishTasksAndInvalidate()
      }
    }
  #endif

  @Test("Repeated response fields reach the caller joined, from the origin and the store")
  func repeatedFields() async throws {
    let name = try #require(HTTPField.Name("X-List"))
    try await Setting.with { _ in
      var fields: HTTPFields = [.cacheControl: "max-age=60"]
      fields.append(HTTPField(name: name, value: "a"))
      fields.append(HTTPField(name: name, value: "b"))
      return .init(fields: fields, body: "x")
    } test: { setting async throws in
      for _ in 1...2 {
        #expect(try await setting.load().response.value(forHTTPHeaderField: "X-List") == "a, b")
      }
    }
  }

  @Test("MIME type and text encoding survive the store")
  func contentType() async throws {
    try await Setting.with { _ in
      .init(fields: [.cacheControl: "max-age=60", .contentType: "text/html; charset=iso-8859-1"], body: "x")
    } test: { setting async throws in
      for _ in 1...2 {
        let response = try await setting.load().response
        #expect(response.mimeType == "text/html")
        #expect(response.textEncodingName?.lowercased() == "iso-8859-1")
      }
    }
  }
}

/// A delegate that writes down what it is told.
private final class RecordingDelegate: NSObject, URLSessionDataDelegate, Sendable {
  struct Record: Sendable {
    var responses: [HTTPURLResponse] = []
    var bytes = 0
    var error: String?
    var isFinished = false
  }

  private let record = Mutex(Record())
  private let gate = Gate()

  func finished() async -> Record {
    await gate.wait()
    return record.withLock { $0 }
  }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping (URLSession.ResponseDisposition) -> Void
  ) {
    if let response = response as? HTTPURLResponse { record.withLock { $0.responses.append(response) } }
    completionHandler(.allow)
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    record.withLock { $0.bytes += data.count }
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    record.withLock { $0.error = error.map { "\($0) \(($0 as NSError).userInfo)" } }
    gate.open()
  }
}
