// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheEngine
import HTTPCacheURLSession
import HTTPCaching
import HTTPTypes
import Loopback
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite("The six request cache policies of a session", .timeLimit(.minutes(10)))
struct PolicyTests {
  /// What is stored when the request is made.
  enum Stored: String, CaseIterable { case nothing, fresh, stale, staleWithoutValidator }

  /// What the caller gets.
  enum Expected: Equatable {
    case source(CachedResponse.Source)
    case error(URLError.Code)
  }

  struct Case: CustomTestStringConvertible {
    var policy: URLRequest.CachePolicy
    var stored: Stored
    var expected: Expected
    /// How many requests reach the origin, and how many of them are conditional.
    var requests: Int
    var conditional = 0

    var testDescription: String { "\(RequestCachePolicy(policy).rawValue), \(stored.rawValue)" }
  }

  static let cases: [Case] = [
    .init(policy: .useProtocolCachePolicy, stored: .nothing, expected: .source(.network), requests: 1),
    .init(policy: .useProtocolCachePolicy, stored: .fresh, expected: .source(.hit), requests: 0),
    .init(
      policy: .useProtocolCachePolicy, stored: .stale, expected: .source(.validated), requests: 1,
      conditional: 1),
    .init(
      policy: .useProtocolCachePolicy, stored: .staleWithoutValidator, expected: .source(.network),
      requests: 1),
    .init(policy: .reloadIgnoringLocalCacheData, stored: .nothing, expected: .source(.network), requests: 1),
    .init(policy: .reloadIgnoringLocalCacheData, stored: .fresh, expected: .source(.network), requests: 1),
    .init(policy: .reloadIgnoringLocalCacheData, stored: .stale, expected: .source(.network), requests: 1),
    .init(
      policy: .reloadIgnoringLocalAndRemoteCacheData, stored: .fresh, expected: .source(.network), requests: 1
    ),
    .init(policy: .returnCacheDataElseLoad, stored: .nothing, expected: .source(.network), requests: 1),
    .init(policy: .returnCacheDataElseLoad, stored: .fresh, expected: .source(.hit), requests: 0),
    .init(policy: .returnCacheDataElseLoad, stored: .stale, expected: .source(.stale), requests: 0),
    .init(
      policy: .returnCacheDataElseLoad, stored: .staleWithoutValidator, expected: .source(.stale), requests: 0
    ),
    .init(
      policy: .returnCacheDataDontLoad, stored: .nothing, expected: .error(.resourceUnavailable), requests: 0),
    .init(policy: .returnCacheDataDontLoad, stored: .fresh, expected: .source(.hit), requests: 0),
    .init(policy: .returnCacheDataDontLoad, stored: .stale, expected: .source(.stale), requests: 0),
    .init(policy: .reloadRevalidatingCacheData, stored: .nothing, expected: .source(.network), requests: 1),
    .init(
      policy: .reloadRevalidatingCacheData, stored: .fresh, expected: .source(.validated), requests: 1,
      conditional: 1),
    .init(
      policy: .reloadRevalidatingCacheData, stored: .stale, expected: .source(.validated), requests: 1,
      conditional: 1),
    .init(
      policy: .reloadRevalidatingCacheData, stored: .staleWithoutValidator, expected: .source(.network),
      requests: 1),
  ]

  @Test("Each policy uses the expected source and sends the expected requests", arguments: cases)
  func policy(_ example: Case) async throws {
    let hasValidator = example.stored != .staleWithoutValidator
    try await Setting.with { request in
      var fields: HTTPFields = [.cacheControl: "max-age=60"]
      if hasValidator { fields[.eTag] = "\"v\"" }
      return request.fields[.ifNoneMatch] == nil
        ? .init(fields: fields, body: "body") : .init(status: 304, fields: fields)
    } test: { setting async throws in
      if example.stored != .nothing { _ = try await setting.load() }
      if example.stored == .stale || example.stored == .staleWithoutValidator {
        setting.clock.advance(seconds: 100)
      }
      let before = setting.origin.requestCount
      let actual: Expected
      do {
        let answer = try await setting.load(policy: example.policy)
        #expect(answer.text == "body")
        actual = answer.source.map { .source($0) } ?? .error(.unknown)
      } catch let error as URLError {
        actual = .error(error.code)
      }
      #expect(actual == example.expected)
      let requests = setting.origin.requests.dropFirst(before)
      #expect(requests.count == example.requests)
      #expect(requests.filter { $0.fields[.ifNoneMatch] != nil }.count == example.conditional)
    }
  }

  @Test("A reloaded response replaces the stored one")
  func reloadStores() async throws {
    try await Setting.with { request in
      .init(fields: [.cacheControl: "max-age=60"], body: "\(request.number)")
    } test: { setting async throws in
      _ = try await setting.load()
      #expect(try await setting.load(policy: .reloadIgnoringLocalCacheData).text == "2")
      #expect(try await setting.load().text == "2")
    }
  }

  @Test("reloadIgnoringLocalAndRemoteCacheData sends no-cache in Cache-Control and Pragma")
  func remote() async throws {
    try await Setting.with { _ in
      .init(body: "x")
    } test: { setting async throws in
      _ = try await setting.load(policy: .reloadIgnoringLocalAndRemoteCacheData)
      _ = try await setting.load(policy: .reloadIgnoringLocalCacheData)
      let pragma = try #require(HTTPField.Name("Pragma"))
      #expect(setting.origin.requests[0].fields[.cacheControl] == "no-cache")
      #expect(setting.origin.requests[0].fields[pragma] == "no-cache")
      #expect(setting.origin.requests[1].fields[.cacheControl] == nil)
    }
  }

  @Test("The session's policy applies to requests with the default policy")
  func sessionPolicy() async throws {
    let base = URLSessionConfiguration.ephemeral
    base.requestCachePolicy = .returnCacheDataDontLoad
    try await Setting.with(base: base) { _ in
      .init(fields: [.cacheControl: "max-age=60"], body: "x")
    } test: {
      setting async throws in
      await #expect(throws: URLError.self) { try await setting.load() }
      #expect(setting.origin.requestCount == 0)
      #expect(try await setting.load(policy: .returnCacheDataElseLoad).source == .network)
      #expect(try await setting.load().source == .hit)
    }
  }
}
