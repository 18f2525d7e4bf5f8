// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheURLSession
import HTTPTypes
import Loopback
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite("Sessions of a configuration with a cache", .timeLimit(.minutes(10)))
struct ConfiguredSessionTests {
  @Test("Later changes to a caching configuration apply to requests to the origin")
  func setAfterwards() async throws {
    let cache = try HTTPCache()
    let origin = try await LoopbackOrigin.start { request in .init(body: request.fields[.userAgent] ?? "") }
    let configuration = URLSessionConfiguration.caching(with: cache, base: .plain)
    configuration.httpAdditionalHeaders = ["User-Agent": "reader/1"]
    let session = URLSession(configuration: configuration)
    let url = try #require(URL(string: origin.url()))
    let (data, _) = try await session.data(from: url)
    #expect(String(decoding: data, as: UTF8.self) == "reader/1")
    session.finishTasksAndInvalidate()
    await origin.stop()
    cache.close()
  }

  @Test("A fragment is not part of the key and stays in the response's URL")
  func fragment() async throws {
    try await Setting.with { _ in
      .init(fields: [.cacheControl: "max-age=60"], body: "x")
    } test: {
      setting async throws in
      _ = try await setting.load("/a#one")
      let answer = try await setting.load("/a#two")
      #expect(answer.source == .hit)
      #expect(answer.response.url?.fragment == "two")
      #expect(setting.origin.requests.map(\.target) == ["/a"])
    }
  }
}
