// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
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

@Suite("Authentication challenges", .timeLimit(.minutes(10)))
struct AuthenticationTests {
  private static let right = "Basic " + Data("ann:secret".utf8).base64EncodedString()

  private static func guarded(_ request: LoopbackOrigin.Request) -> LoopbackOrigin.Response {
    request.fields[.authorization] == right
      ? .init(fields: [.cacheControl: "max-age=60"], body: "welcome")
      : .init(
        status: 401, fields: [.wwwAuthenticate: "Basic realm=\"home\"", .cacheControl: "max-age=60"],
        body: "who is it?")
  }

  private static func credential(_ password: String) -> URLCredential {
    URLCredential(user: "ann", password: password, persistence: .none)
  }

  @Test("Without credentials for a challenge, the task ends with the 401")
  func unanswered() async throws {
    try await Setting.with(Self.guarded) { setting async throws in
      let answer = try await setting.load()
      #expect(answer.response.statusCode == 401)
      #expect(setting.origin.requestCount == 1)
    }
  }

  @Test(
    "The authenticate option answers, and the rules apply to its credentials",
    arguments: [true, false])
  func option(isShared: Bool) async throws {
    var options = CachingOptions()
    options.authenticate = { challenge in
      (.useCredential, Self.credential(challenge.protectionSpace.realm == "home" ? "secret" : ""))
    }
    try await Setting.with(options: options, configure: { $0.rules.kind = isShared ? .shared : .private }) {
      request in
      request.fields[.authorization] == nil
        ? .init(status: 401, fields: [.wwwAuthenticate: "Basic realm=\"home\""]) : Self.guarded(request)
    } test: { setting async throws in
      let first = try await setting.load()
      #expect(first.text == "welcome")
      #expect(first.reason == (isShared ? .authorizedInSharedCache : .storedWithLifetime))
      let second = try await setting.load()
      #expect(second.text == "welcome")
      #expect(second.source == (isShared ? .network : .hit))
      // Accepted credentials are sent from the start.
      #expect(setting.origin.requestCount == (isShared ? 3 : 2))
    }
  }

  @Test(
    "A response loaded with a password does not answer a request with a wrong one, or with none",
    arguments: [nil, "Basic d3Jvbmc6", "Bearer x"], [true, false])
  func separation(authorization: String?, isPublic: Bool) async throws {
    try await Setting.with { request in
      var response = Self.guarded(request)
      // A 401 that may be stored, and answers no password.
      if isPublic, response.status == 200 { response.fields[.cacheControl] = "max-age=60, public" }
      return response
    } test: { setting async throws in
      let first = try await setting.load(fields: ["Authorization": Self.right])
      #expect(first.text == "welcome")
      let other = try await setting.load(fields: authorization.map { ["Authorization": $0] } ?? [:])
      #expect(other.response.statusCode == (isPublic ? 200 : 401))
      let again = try await setting.load(fields: ["Authorization": Self.right])
      #expect(again.text == "welcome" && again.source == .hit)
    }
  }

  @Test("New credentials, which may be those of another user, cost one request without conditions")
  func renewed() async throws {
    try await Setting.with { request in
      request.fields[.ifNoneMatch] == "\"1\""
        ? .init(status: 304, fields: [.eTag: "\"1\"", .cacheControl: "max-age=60"])
        : .init(fields: [.eTag: "\"1\"", .cacheControl: "max-age=60"], body: "welcome")
    } test: { setting async throws in
      for (token, source) in [
        ("a", CachedResponse.Source.network), ("a", .hit), ("b", .network), ("b", .hit), ("a", .hit),
      ] {
        let answer = try await setting.load(fields: ["Authorization": "Bearer \(token)"])
        #expect(answer.text == "welcome" && answer.source == source)
      }
      #expect(setting.origin.requestCount == 2)
    }
  }

  @Test("Credentials accepted in one session do not open the stored response to another")
  func otherSession() async throws {
    var options = CachingOptions()
    options.authenticate = { _ in (.useCredential, Self.credential("secret")) }
    try await Setting.with(options: options, Self.guarded) { setting async throws in
      #expect(try await setting.load().text == "welcome")
      #expect(try await setting.load().source == .hit)
      for password in [nil, "wrong"] {
        var options = CachingOptions()
        if let password { options.authenticate = { _ in (.useCredential, Self.credential(password)) } }
        let session = HTTPCacheSession(cache: setting.cache, options: options)
        #expect(try await session.data(for: setting.request()).1.response.statusCode == 401)
      }
    }
  }

  @Test("A challenge counts the refused credentials of its task, so that a closure can give up")
  func failureCount() async throws {
    let counts = Recorder<Int>()
    var options = CachingOptions()
    options.authenticate = { challenge in
      counts.add(challenge.previousFailureCount)
      guard challenge.previousFailureCount < 2 else { return (.cancelAuthenticationChallenge, nil) }
      return (.useCredential, Self.credential("wrong \(challenge.previousFailureCount)"))
    }
    try await Setting.with(options: options, Self.guarded) { setting async throws in
      #expect(try await setting.load().response.statusCode == 401)
      #expect(counts.all == [0, 1, 2])
      #expect(setting.origin.requestCount == 3)
    }
  }

  @Test(
    "A challenge is answered whatever the content of the 401, and whether it may be stored",
    arguments: [0, 5, 70_000, 900_000], ["no-store", "max-age=60", "private"])
  func content(byteCount: Int, cacheControl: String) async throws {
    var options = CachingOptions()
    let text = String(repeating: "a", count: byteCount)
    for isChunked in [false, true] {
      options.authenticate = { challenge in
        let count = challenge.previousFailureCount
        return (.useCredential, Self.credential(count < 2 ? "wrong \(count)" : "secret"))
      }
      try await Setting.with(options: options) { request in
        request.fields[.authorization] == Self.right
          ? Self.guarded(request)
          : .init(
            status: 401,
            fields: [
              .wwwAuthenticate: "Bearer realm=\"a\", Basic realm=\"home\"", .cacheControl: cacheControl,
            ],
            body: text, isChunked: isChunked)
      } test: { setting async throws in
        #expect(try await setting.load().text == "welcome")
        #expect(setting.origin.requestCount == 4)
      }
    }
  }

  @Test(
    "A 401 with a challenge that is not answered is passed on with its content",
    arguments: [0, 5, 70_000, 900_000, 3_000_000], [true, false])
  func unansweredContent(byteCount: Int, isChunked: Bool) async throws {
    let text = String(repeating: "a", count: byteCount)
    try await Setting.with { _ in
      .init(
        status: 401, fields: [.wwwAuthenticate: "Basic realm=\"home\"", .cacheControl: "no-store"],
        body: text, isChunked: isChunked)
    } test: { setting async throws in
      let answer = try await setting.load()
      #expect(answer.response.statusCode == 401)
      #expect(answer.text == text)
    }
  }

  @Test("A wrong password ends with the 401, however often it is given", arguments: [true, false])
  func wrong(isAlwaysTheSame: Bool) async throws {
    let count = EventCount()
    var options = CachingOptions()
    options.authenticate = { _ in
      let number = count.next()
      return (.useCredential, Self.credential(isAlwaysTheSame ? "wrong" : "wrong \(number)"))
    }
    try await Setting.with(options: options, Self.guarded) { setting async throws in
      #expect(try await setting.load().response.statusCode == 401)
      #expect(setting.origin.requestCount == (isAlwaysTheSame ? 2 : 4))
    }
  }

  @Test(
    "The authenticate option can decline a challenge",
    arguments: [URLSession.AuthChallengeDisposition.cancelAuthenticationChallenge, .rejectProtectionSpace])
  func declined(disposition: URLSession.AuthChallengeDisposition) async throws {
    var options = CachingOptions()
    options.authenticate = { _ in (disposition, Self.credential("secret")) }
    try await Setting.with(options: options, Self.guarded) { setting async throws in
      #expect(try await setting.load().response.statusCode == 401)
    }
  }

  @Test("User and password in the URL are sent, and select the stored response")
  func inURL() async throws {
    try await Setting.with(Self.guarded) { setting async throws in
      for (password, status, source) in [
        ("secret", 200, CachedResponse.Source.network), ("secret", 200, .hit), ("wrong", 401, .network),
        ("secret", 200, .hit),
      ] {
        let url = try #require(URL(string: "http://ann:\(password)@127.0.0.1:\(setting.origin.port)/"))
        let answer = try await setting.load(URLRequest(url: url))
        #expect(answer.response.statusCode == status)
        #expect(answer.source == source)
      }
    }
  }

  @Test("The configuration's credential storage answers challenges")
  func storage() async throws {
    let base = URLSessionConfiguration.ephemeral
    let storage = URLCredentialStorage()
    base.urlCredentialStorage = storage
    try await Setting.with(base: base, Self.guarded) { setting async throws in
      storage.setDefaultCredential(
        URLCredential(user: "ann", password: "secret", persistence: .forSession),
        for: URLProtectionSpace(
          host: "127.0.0.1", port: setting.origin.port, protocol: "http", realm: "home",
          authenticationMethod: NSURLAuthenticationMethodHTTPBasic))
      #expect(try await setting.load().text == "welcome")
    }
  }

  @Test(
    "A challenge of another scheme reaches the caller unchanged",
    arguments: ["Bearer", "Digest realm=\"r\", nonce=\"n\""])
  func otherScheme(challenge: String) async throws {
    try await Setting.with { _ in
      .init(status: 401, fields: [.wwwAuthenticate: challenge], body: "who?")
    } test: { setting async throws in
      let answer = try await setting.load()
      #expect(answer.response.statusCode == 401)
      #expect(answer.text == "who?")
      #expect(answer.response.value(forHTTPHeaderField: "WWW-Authenticate") == challenge)
    }
  }
}
