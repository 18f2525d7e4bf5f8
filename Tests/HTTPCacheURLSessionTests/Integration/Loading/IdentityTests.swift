// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCaching
import HTTPTypes
import Loopback
import TestSupport
import Testing

@testable import HTTPCacheURLSession

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite("Sessions of several users in one process", .timeLimit(.minutes(10)))
struct IdentityTests {
  /// How a second configuration comes from the first.
  enum Origin: CaseIterable {
    case changed, copied, cachedAgain
  }

  /// Makes the sessions of two users from one caching configuration.
  private static func sessions(
    _ origin: Origin, with cache: HTTPCache, _ setUp: (_ user: String, URLSessionConfiguration) -> Void
  ) throws -> [URLSession] {
    let first = URLSessionConfiguration.caching(with: cache, base: .plain)
    setUp("A", first)
    let sessionA = URLSession(configuration: first)
    let second: URLSessionConfiguration
    switch origin {
    case .changed: second = first
    case .copied: second = try #require(first.copy() as? URLSessionConfiguration)
    case .cachedAgain: second = .caching(with: cache, base: first)
    }
    setUp("B", second)
    return [sessionA, URLSession(configuration: second)]
  }

  private static func text(
    _ session: URLSession, _ setting: Setting, _ path: String = "/"
  ) async throws -> String {
    String(decoding: try await session.data(for: setting.request(path)).0, as: UTF8.self)
  }

  @Test("Each session sends its own headers, however its configuration was made", arguments: Origin.allCases)
  func headers(origin: Origin) async throws {
    let name = try #require(HTTPField.Name("X-Token"))
    try await Setting.with { request in
      .init(fields: [.cacheControl: "no-store"], body: request.fields[name] ?? "none")
    } test: { setting async throws in
      let sessions = try Self.sessions(origin, with: setting.cache) { user, configuration in
        configuration.httpAdditionalHeaders = ["X-Token": user]
      }
      for _ in 1...2 {
        for (session, user) in zip(sessions, ["A", "B"]) {
          #expect(try await Self.text(session, setting) == user)
        }
      }
      for session in sessions { session.finishTasksAndInvalidate() }
    }
  }

  @Test("Each session sends the cookies of its own storage", arguments: [Origin.changed, .copied])
  func cookies(origin: Origin) async throws {
    try await Setting.with { request in
      request.target.hasPrefix("/sign-in/")
        ? .init(fields: [.setCookie: "user=\(request.target.dropFirst(9)); Path=/"])
        : .init(
          fields: [.cacheControl: "max-age=60", .vary: "Cookie"], body: request.fields[.cookie] ?? "none")
    } test: { setting async throws in
      let sessions = try Self.sessions(origin, with: setting.cache) { _, configuration in
        configuration.httpCookieStorage = URLSessionConfiguration.ephemeral.httpCookieStorage
      }
      for (session, user) in zip(sessions, ["A", "B"]) {
        _ = try await Self.text(session, setting, "/sign-in/\(user)")
      }
      for _ in 1...2 {
        for (session, user) in zip(sessions, ["A", "B"]) {
          #expect(try await Self.text(session, setting, "/who") == "user=\(user)")
        }
      }
      for session in sessions { session.finishTasksAndInvalidate() }
    }
  }

  @Test("Credentials that an origin accepted from one session are not sent by another")
  func credentials() async throws {
    try await Setting.with { request in
      let user = request.fields[.authorization]
      return user == nil
        ? .init(status: 401, fields: [.wwwAuthenticate: "Basic realm=\"r\""])
        : .init(fields: [.cacheControl: "no-store"], body: user ?? "")
    } test: { setting async throws in
      let port = try #require(setting.request().url?.port)
      let sessions = try Self.sessions(.changed, with: setting.cache) { user, configuration in
        let storage = URLSessionConfiguration.ephemeral.urlCredentialStorage
        let space = URLProtectionSpace(
          host: "127.0.0.1", port: port, protocol: "http", realm: "r",
          authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
        let credential = URLCredential(user: user, password: "p", persistence: .forSession)
        storage?.setDefaultCredential(credential, for: space)
        configuration.urlCredentialStorage = storage
      }
      for _ in 1...2 {
        for (session, user) in zip(sessions, ["A", "B"]) {
          let expected = "Basic " + Data("\(user):p".utf8).base64EncodedString()
          #expect(try await Self.text(session, setting) == expected)
        }
      }
      for session in sessions { session.finishTasksAndInvalidate() }
    }
  }

  @Test("Each session has its own policy and timeout")
  func policies() async throws {
    let gate = Gate()
    try await Setting.with { request in
      if request.target == "/slow" { await gate.wait() }
      return .init(fields: [.cacheControl: "max-age=60"], body: "\(request.number)")
    } test: { setting async throws in
      let sessions = try Self.sessions(.changed, with: setting.cache) { user, configuration in
        configuration.requestCachePolicy =
          user == "A" ? .useProtocolCachePolicy : .reloadIgnoringLocalCacheData
        configuration.timeoutIntervalForRequest = user == "A" ? 1 : 300
      }
      #expect(try await Self.text(sessions[0], setting) == "1")
      #expect(try await Self.text(sessions[0], setting) == "1")
      #expect(try await Self.text(sessions[1], setting) == "2")
      let error = await #expect(throws: URLError.self) { try await Self.text(sessions[0], setting, "/slow") }
      #expect(error?.code == .timedOut)
      gate.open()
      for session in sessions { session.finishTasksAndInvalidate() }
    }
  }

  @Test(
    "Where a task does not lead to its session, a changed configuration is an error that names the remedy")
  func presumed() async throws {
    let name = try #require(HTTPField.Name("X-Token"))
    try await Setting.with { request in
      .init(fields: [.cacheControl: "no-store"], body: request.fields[name] ?? "none")
    } test: { setting async throws in
      let configuration = URLSessionConfiguration.caching(
        with: setting.cache, options: CachingOptions(), base: .plain, readsSessions: false
      ) { nil }
      configuration.httpAdditionalHeaders = ["X-Token": "A"]
      let first = URLSession(configuration: configuration)
      let second = URLSession(configuration: configuration)
      for session in [first, second] { #expect(try await Self.text(session, setting) == "A") }
      configuration.httpAdditionalHeaders = ["X-Token": "B"]
      let other = URLSession(configuration: configuration)
      for session in [first, other] {
        let error = await #expect(throws: URLError.self) { try await Self.text(session, setting) }
        #expect(error?.localizedDescription.contains("Call caching(with:) again") == true)
        #expect(error?.failingURL == (try setting.request().url))
      }
      for session in [first, second, other] { session.finishTasksAndInvalidate() }
    }
  }

  @Test("Where a task does not lead to its session, its settings stay when the configuration is gone")
  func presumedRelease() async throws {
    let name = try #require(HTTPField.Name("X-Token"))
    try await Setting.with { request in
      .init(fields: [.cacheControl: "no-store"], body: request.fields[name] ?? "none")
    } test: { setting async throws in
      weak var released: URLSessionConfiguration?
      func session() -> URLSession {
        let configuration = URLSessionConfiguration.caching(
          with: setting.cache, options: CachingOptions(), base: .plain, readsSessions: false
        ) { nil }
        configuration.httpAdditionalHeaders = ["X-Token": "A"]
        (configuration.urlCache as? CacheCarrier)?.releaseOriginal()
        released = configuration
        return URLSession(configuration: configuration)
      }
      let first = session()
      #expect(released == nil)
      #expect(try await Self.text(first, setting) == "A")
      first.finishTasksAndInvalidate()
    }
  }

  @Test(
    "Where a task does not lead to its session, a second session is seen, and each task gets its own connections",
    arguments: [true, false])
  func presumedSharing(hasClosure: Bool) throws {
    var options = CachingOptions()
    // It decides for all sessions alike.
    if hasClosure { options.authenticate = { _ in (.performDefaultHandling, nil) } }
    let configuration = URLSessionConfiguration.caching(
      with: try HTTPCache(), options: options, base: .ephemeral, readsSessions: false
    ) { nil }
    let carrier = try #require(configuration.urlCache as? CacheCarrier)
    let url = try #require(URL(string: "http://a.example/"))
    let sessions = (1...2).map { _ in URLSession(configuration: configuration) }
    func bindings(_ session: URLSession) throws -> Set<ObjectIdentifier> {
      let all = try (1...3).map { _ in try carrier.presumedBinding(for: session.dataTask(with: url), url) }
      return withExtendedLifetime(all) { Set(all.map { ObjectIdentifier($0) }) }
    }
    #expect(try bindings(sessions[0]).count == 1)
    #expect(try bindings(sessions[1]).count == (hasClosure ? 1 : 3))
    #expect(try bindings(sessions[0]).count == (hasClosure ? 1 : 3))
    for session in sessions { session.invalidateAndCancel() }
  }

  #if canImport(FoundationNetworking)
    @Test("A task whose session cannot be read is an error that says so")
    func unreadable() throws {
      let configuration = URLSessionConfiguration.caching(with: try HTTPCache(), base: .ephemeral)
      let type = try #require(configuration.protocolClasses?.first as? CachingURLProtocol.Type)
      let request = URLRequest(url: try #require(URL(string: "http://a.example/")))
      let error = #expect(throws: URLError.self) { try CacheBinding.find(for: nil, type, request) }
      #expect(error?.localizedDescription.contains("does not tell which session") == true)
    }
  #endif

  @Test("A partition may depend on the session's own fields, and a policy on the request")
  func options() async throws {
    let name = try #require(HTTPField.Name("X-Token"))
    var options = CachingOptions()
    options.partition = { $0.value(forHTTPHeaderField: "X-Token") }
    options.policy = { $0.url?.path == "/live" ? .reloadIgnoringLocalCacheData : nil }
    try await Setting.with(options: options) { request in
      .init(fields: [.cacheControl: "max-age=60"], body: request.fields[name] ?? "none")
    } test: { setting async throws in
      let configuration = URLSessionConfiguration.caching(
        with: setting.cache, options: options, base: .plain)
      for user in ["A", "B", "A", "B"] {
        // One session for all accounts, or one for each: the same.
        #expect(try await setting.load(fields: ["X-Token": user]).text == user)
        configuration.httpAdditionalHeaders = ["X-Token": user]
        let session = URLSession(configuration: configuration)
        #expect(try await Self.text(session, setting) == user)
        session.finishTasksAndInvalidate()
      }
      #expect(setting.origin.requestCount == 2)
      for _ in 1...2 { #expect(try await setting.load("/live").source == .network) }
    }
  }

  @Test("CachingURLProtocol by itself fails with an error that names the remedy")
  func alone() async throws {
    try await Setting.with { _ in
      .init(body: "x")
    } test: { setting async throws in
      let configuration = URLSessionConfiguration.ephemeral
      configuration.protocolClasses = [CachingURLProtocol.self]
      let session = URLSession(configuration: configuration)
      let error = await #expect(throws: URLError.self) { try await Self.text(session, setting) }
      #expect(error?.localizedDescription.contains("URLSessionConfiguration.caching(with:)") == true)
      session.finishTasksAndInvalidate()
    }
  }

  @Test("A replaced urlCache is an error that says so")
  func replacedURLCache() async throws {
    try await Setting.with { _ in
      .init(body: "x")
    } test: { setting async throws in
      let configuration = URLSessionConfiguration.caching(with: setting.cache, base: .plain)
      configuration.urlCache = nil
      let session = URLSession(configuration: configuration)
      let error = await #expect(throws: URLError.self) { try await Self.text(session, setting) }
      #expect(error?.localizedDescription.contains("urlCache was replaced") == true)
      session.finishTasksAndInvalidate()
    }
  }
}
