// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheStore
import HTTPCacheURLSession
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite("Session configurations with a cache", .timeLimit(.minutes(10)))
struct ConfigurationTests {
  private final class OtherProtocol: URLProtocol {
    override static func canInit(with request: URLRequest) -> Bool { request.url?.scheme == "other" }
    override static func canonicalRequest(for request: URLRequest) -> URLRequest { request }
    override func startLoading() { client?.urlProtocolDidFinishLoading(self) }
    override func stopLoading() {}
  }

  @Test("A caching configuration is a copy, and keeps other protocol classes")
  func copies() throws {
    let base = URLSessionConfiguration.ephemeral
    base.protocolClasses = [OtherProtocol.self]
    base.timeoutIntervalForRequest = 7
    let made = URLSessionConfiguration.caching(with: try HTTPCache(), base: base)
    #expect(base.protocolClasses?.count == 1)
    let foundations = try #require(made.urlCache)
    let request = URLRequest(url: try #require(URL(string: "http://a.example/")))
    let response = URLResponse(
      url: URL(fileURLWithPath: "/"), mimeType: nil, expectedContentLength: 1, textEncodingName: nil)
    foundations.storeCachedResponse(CachedURLResponse(response: response, data: Data([1])), for: request)
    #expect(foundations.cachedResponse(for: request) == nil)
    #expect(made.timeoutIntervalForRequest == 7)
    let classes = made.protocolClasses ?? []
    #expect(classes.first is CachingURLProtocol.Type)
    #expect(classes.last.map { ObjectIdentifier($0) } == ObjectIdentifier(OtherProtocol.self))
  }

  @Test("A configuration made from a caching one uses only the last cache")
  func replaces() throws {
    let first = URLSessionConfiguration.caching(with: try HTTPCache(), base: .ephemeral)
    let second = URLSessionConfiguration.caching(with: try HTTPCache(), base: first)
    let ours = (second.protocolClasses ?? []).filter { $0 is CachingURLProtocol.Type }
    #expect(ours.count == 1)
    #expect(
      ours.first.map { ObjectIdentifier($0) } != first.protocolClasses?.first.map { ObjectIdentifier($0) })
  }

  @Test("Each caching configuration has its own protocol class")
  func manyClasses() throws {
    let cache = try HTTPCache()
    let classes = (0..<100).compactMap { _ in
      URLSessionConfiguration.caching(with: cache, base: .ephemeral).protocolClasses?.first
    }
    #expect(Set(classes.map { ObjectIdentifier($0) }).count == 100)
  }
}
