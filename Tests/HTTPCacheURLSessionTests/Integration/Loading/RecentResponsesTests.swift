// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Foundation
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

/// Hits within one second share a Foundation response if, and only if, their heads are equal.
@Suite("Responses that hits share", .timeLimit(.minutes(10)))
struct RecentResponsesTests {
  private static let number = HTTPField.Name("X-Number") ?? .eTag

  /// Answers with the number of the request in a field, and the same content.
  private static func fresh(
    _ request: LoopbackOrigin.Request, _ other: HTTPFields = [:]
  ) -> LoopbackOrigin.Response {
    var fields = other
    if fields[.cacheControl] == nil { fields[.cacheControl] = "max-age=60" }
    fields[number] = "\(request.number)"
    return .init(fields: fields, body: request.target)
  }

  private static func number(_ answer: Answer) -> String? {
    answer.response.value(forHTTPHeaderField: "X-Number")
  }
  private static func age(_ answer: Answer) -> String? { answer.response.value(forHTTPHeaderField: "Age") }

  @Test("Hits within a second share the response, and later ones have their own age and lifetime")
  func age() async throws {
    try await Setting.with {
      Self.fresh($0)
    } test: { setting async throws in
      _ = try await setting.load()
      let first = try await setting.load()
      let second = try await setting.load()
      #expect(first.source == .hit && second.source == .hit)
      #if canImport(FoundationNetworking)
        #expect(first.response === second.response)
      #endif
      var previous = second
      for age in 1...3 {
        setting.clock.advance(seconds: 1)
        let later = try await setting.load()
        #expect(later.response !== previous.response)
        #expect(Self.age(later) == "\(age)")
        #expect(later.response.cacheStatus?.timeToLive == .seconds(60 - age))
        #expect(later.text == "/")
        previous = later
      }
    }
  }

  @Test("A response that was updated by a 304 is not shared with that before it")
  func updated() async throws {
    try await Setting.with { request in
      var response = Self.fresh(request, [.cacheControl: "max-age=10", .eTag: "\"1\""])
      if request.fields[.ifNoneMatch] != nil { response.status = 304 }
      if request.fields[.ifNoneMatch] != nil { response.body = [] }
      return response
    } test: { setting async throws in
      for version in 1...3 {
        let source = try await setting.load().source
        #expect(source == (version == 1 ? .network : .validated))
        for _ in 1...4 {
          let hit = try await setting.load()
          #expect(hit.source == .hit)
          #expect(Self.age(hit) == "0")
          #expect(Self.number(hit) == "\(version)")
          #expect(hit.text == "/")
        }
        setting.clock.advance(seconds: 11)
      }
    }
  }

  @Test("A response that was replaced within the second is not shared with the new one")
  func replaced() async throws {
    try await Setting.with {
      Self.fresh($0)
    } test: { setting async throws in
      for version in 1...3 {
        _ = try await setting.load("/", policy: .reloadIgnoringLocalCacheData)
        for _ in 1...4 { #expect(Self.number(try await setting.load()) == "\(version)") }
      }
      setting.cache.remove(.all)
      #expect(try await setting.load().source == .network)
      #expect(Self.number(try await setting.load()) == "4")
    }
  }

  @Test("Variants have their own responses")
  func variants() async throws {
    try await Setting.with {
      Self.fresh($0, [.vary: "Accept-Language"])
    } test: { setting async throws in
      for round in 1...5 {
        for (index, language) in ["de", "fr", "sv"].enumerated() {
          let answer = try await setting.load(fields: ["Accept-Language": language])
          #expect(answer.source == (round == 1 ? .network : .hit))
          #expect(Self.number(answer) == "\(index + 1)")
        }
      }
    }
  }

  @Test("Partitions have their own responses")
  func partitions() async throws {
    var options = CachingOptions()
    options.partition = { $0.value(forHTTPHeaderField: "X-Account") }
    try await Setting.with(options: options) {
      Self.fresh($0)
    } test: { setting async throws in
      for round in 1...5 {
        for (index, account) in ["a", "b"].enumerated() {
          let answer = try await setting.load(fields: ["X-Account": account])
          #expect(answer.source == (round == 1 ? .network : .hit))
          #expect(Self.number(answer) == "\(index + 1)")
        }
      }
    }
  }

  @Test("Caches in one process have their own responses")
  func caches() async throws {
    try await Setting.with {
      Self.fresh($0)
    } test: { setting async throws in
      let other = HTTPCache(
        store: try CacheStore(.init(memoryCapacity: 16 << 20)), configuration: .init(kind: .private),
        clock: setting.clock)
      let session = URLSession(
        configuration: .caching(with: other, base: URLSessionConfiguration.plain))
      defer { session.finishTasksAndInvalidate() }
      for round in 1...5 {
        let first = try await setting.load()
        let (_, second) = try await session.data(for: setting.request())
        #expect(first.source == (round == 1 ? .network : .hit))
        #expect(Self.number(first) == "1")
        #expect((second as? HTTPURLResponse)?.value(forHTTPHeaderField: "X-Number") == "2")
      }
    }
  }

  @Test("URLs that share a stored response keep their own URL")
  func urls() async throws {
    try await Setting.with(configure: { $0.targetRule = .droppingTrackingParameters }) {
      Self.fresh($0)
    } test: { setting async throws in
      for target in ["/a", "/a", "/a?utm_source=b", "/a#c", "/a?utm_source=d", "/a", "/a#c", "/a"] {
        let answer = try await setting.load(target)
        #expect(answer.response.url?.absoluteString == setting.origin.url(target))
        #expect(Self.number(answer) == "1")
      }
      #expect(setting.origin.requestCount == 1)
    }
  }

  @Test("More URLs than are kept have the right responses")
  func many() async throws {
    try await Setting.with {
      Self.fresh($0)
    } test: { setting async throws in
      for round in 1...5 {
        for index in 1...20 {
          let answer = try await setting.load("/\(index)")
          #expect(answer.source == (round == 1 ? .network : .hit))
          #expect(Self.number(answer) == "\(index)")
          #expect(answer.text == "/\(index)")
        }
      }
    }
  }

  @Test("A stored redirect asks the application each time")
  func redirects() async throws {
    let follows = Mutex(false)
    var options = CachingOptions()
    options.willRedirect = { _, next in follows.withLock { $0 } ? next : nil }
    try await Setting.with(options: options) { request in
      request.target == "/from"
        ? .init(status: 301, fields: [.location: "/to", .cacheControl: "max-age=60"]) : Self.fresh(request)
    } test: { setting async throws in
      for round in 1...8 {
        follows.withLock { $0 = round.isMultiple(of: 2) }
        let answer = try await setting.load("/from")
        #expect(answer.response.statusCode == (round.isMultiple(of: 2) ? 200 : 301))
        #expect(answer.response.url?.path == (round.isMultiple(of: 2) ? "/to" : "/from"))
      }
      #expect(setting.origin.requestCount == 2)
    }
  }

  @Test("A HEAD request and a request with another policy get the shared head with their own content")
  func others() async throws {
    try await Setting.with {
      Self.fresh($0)
    } test: { setting async throws in
      for _ in 1...5 { #expect(try await setting.load().text == "/") }
      let head = try await setting.load(try setting.request(method: "HEAD"))
      #expect(head.data.isEmpty)
      #expect(Self.number(head) == "1")
      let stored = try await setting.load("/", policy: .returnCacheDataDontLoad)
      #expect(stored.text == "/")
      #expect(setting.origin.requestCount == 1)
    }
  }
}
