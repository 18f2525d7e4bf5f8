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
  // MARK: - From the origin

  @Test("If a reader leaves early, little more of the content is sent")
  func leaving() async throws {
    let (length, leaves) = (128 << 20, 8)
    let content = [UInt8](repeating: 0, count: length)
    let sent = Recorder<Int>()
    try await Setting.with { _ in
      .init(fields: [.cacheControl: "no-store"], bytes: content) { sent.add($0) }
    } test: { setting async throws in
      let session = HTTPCacheSession(cache: setting.cache, configuration: .ephemeral.patient)
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
      // What was read, and what the kernel's buffers contain.
      #expect(sent.all.allSatisfy { $0 < 64 << 20 }, "\(sent.all)")
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
        if number % 2 == 1 { request.httpBody = Data(count: 3) }
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
