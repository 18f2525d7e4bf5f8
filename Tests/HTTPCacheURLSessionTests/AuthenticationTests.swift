// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheEngine
import HTTPCacheURLSession
import HTTPCaching
import HTTPTypes
import LoopbackOrigin
import Synchronization
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
      #expect(setting.origin.requestCount == (isShared ? 4 : 2))
    }
  }

  @Test("A wrong password ends with the 401, however often it is given", arguments: [true, false])
  func wrong(isAlwaysTheSame: Bool) async throws {
    let count = Mutex(0)
    var options = CachingOptions()
    options.authenticate = { _ in
      let number = count.withLock {
        $0 += 1
        return $0
      }
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

  @Test("User and password in the URL are sent")
  func inURL() async throws {
    try await Setting.with(Self.guarded) { setting async throws in
      let url = try #require(URL(string: "http://ann:secret@127.0.0.1:\(setting.origin.port)/"))
      for source in [CachedResponse.Source.network, .hit] {
        let answer = try await setting.load(URLRequest(url: url))
        #expect(answer.text == "welcome")
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
