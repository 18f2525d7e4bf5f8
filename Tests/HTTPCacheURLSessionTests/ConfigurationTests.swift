// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheStore
import HTTPCacheURLSession
import LoopbackOrigin
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite("The configuration that switches the cache on", .timeLimit(.minutes(10)))
struct ConfigurationTests {
  private final class OtherProtocol: URLProtocol {
    override static func canInit(with request: URLRequest) -> Bool { request.url?.scheme == "other" }
    override static func canonicalRequest(for request: URLRequest) -> URLRequest { request }
    override func startLoading() { client?.urlProtocolDidFinishLoading(self) }
    override func stopLoading() {}
  }

  @Test("It is a copy, without Foundation's cache, and keeps other protocols behind ours")
  func copies() throws {
    let base = URLSessionConfiguration.ephemeral
    base.protocolClasses = [OtherProtocol.self]
    base.timeoutIntervalForRequest = 7
    let made = URLSessionConfiguration.caching(with: try HTTPCache(), base: base)
    #expect(base.protocolClasses?.count == 1)
    #expect(made.urlCache == nil)
    #expect(made.timeoutIntervalForRequest == 7)
    let classes = made.protocolClasses ?? []
    #expect(classes.first is CachingURLProtocol.Type)
    #expect(classes.last.map { ObjectIdentifier($0) } == ObjectIdentifier(OtherProtocol.self))
  }

  @Test("One made from another has one cache, the last")
  func replaces() throws {
    let first = URLSessionConfiguration.caching(with: try HTTPCache(), base: .ephemeral)
    let second = URLSessionConfiguration.caching(with: try HTTPCache(), base: first)
    let ours = (second.protocolClasses ?? []).filter { $0 is CachingURLProtocol.Type }
    #expect(ours.count == 1)
    #expect(
      ours.first.map { ObjectIdentifier($0) } != first.protocolClasses?.first.map { ObjectIdentifier($0) })
  }

  @Test("Any number can be made, each with a class of its own")
  func manyClasses() throws {
    let cache = try HTTPCache()
    let classes = (0..<100).compactMap { _ in
      URLSessionConfiguration.caching(with: cache, base: .ephemeral).protocolClasses?.first
    }
    #expect(Set(classes.map { ObjectIdentifier($0) }).count == 100)
  }

  @Test("What is set on it afterwards holds for the requests to the origin")
  func setAfterwards() async throws {
    let origin = try await LoopbackOrigin.start { request in .init(body: request.fields[.userAgent] ?? "") }
    let configuration = URLSessionConfiguration.caching(with: try HTTPCache(), base: .ephemeral.patient)
    configuration.httpAdditionalHeaders = ["User-Agent": "reader/1"]
    let session = URLSession(configuration: configuration)
    let url = try #require(URL(string: origin.url()))
    let (data, _) = try await session.data(from: url)
    #expect(String(decoding: data, as: UTF8.self) == "reader/1")
    session.finishTasksAndInvalidate()
    await origin.stop()
  }

  @Test("A fragment is no part of what is asked for, and stays in the response's URL")
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
