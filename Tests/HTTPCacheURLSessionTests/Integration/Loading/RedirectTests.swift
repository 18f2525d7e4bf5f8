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

@Suite("Redirects through the cache", .timeLimit(.minutes(10)))
struct RedirectTests {
  @Test("A stored redirect and a stored target are replayed without a request")
  func replayed() async throws {
    try await Setting.with { request in
      request.target == "/from"
        ? .init(status: 301, fields: [.location: "/to", .cacheControl: "max-age=60"])
        : .init(fields: [.cacheControl: "max-age=60"], body: "arrived")
    } test: { setting async throws in
      for expected in [CachedResponse.Source.network, .hit] {
        let answer = try await setting.load("/from")
        #expect(answer.text == "arrived")
        #expect(answer.response.url?.path == "/to")
        #expect(answer.source == expected)
      }
      #expect(setting.origin.requestCount == 2)
    }
  }

  @Test(
    "A stored redirect is served once per load, wherever its target comes from",
    arguments: [true, false])
  func servedOnce(targetIsStored: Bool) async throws {
    let served = Recorder<String>()
    try await Setting.with(
      configure: {
        $0.observe { event in if event.action == .served { served.add(event.uri) } }
      }
    ) { request in
      request.target == "/from"
        ? .init(status: 301, fields: [.location: "/to", .cacheControl: "max-age=60"])
        : .init(fields: [.cacheControl: targetIsStored ? "max-age=60" : "no-store"], body: "arrived")
    } test: { setting async throws in
      for _ in 1...2 { #expect(try await setting.load("/from").text == "arrived") }
      #expect(
        served.all
          == (targetIsStored ? ["/from", "/to"] : ["/from"]).map { setting.origin.url($0) })
    }
  }

  @Test("A loop of stored redirects fails when it closes")
  func storedLoop() async throws {
    try await Setting.with { request in
      .init(
        status: 302,
        fields: [.location: request.target == "/a" ? "/b" : "/a", .cacheControl: "max-age=60"])
    } test: { setting async throws in
      for _ in 1...2 {
        let error = await #expect(throws: URLError.self) { try await setting.load("/a") }
        #expect(error?.code == .httpTooManyRedirects)
        #expect(setting.origin.requestCount == 2)
      }
    }
  }

  @Test("The redirect limit can be set", arguments: [0, 2, 30])
  func limit(limit: Int) async throws {
    var options = CachingOptions()
    options.redirectLimit = limit
    try await Setting.with(options: options) { request in
      let number = Int(request.target.dropFirst()) ?? 0
      return number == 25 ? .init(body: "there") : .init(status: 302, fields: [.location: "/\(number + 1)"])
    } test: { setting async throws in
      if limit >= 25 {
        #expect(try await setting.load("/0").text == "there")
      } else {
        let error = await #expect(throws: URLError.self) { try await setting.load("/0") }
        #expect(error?.code == .httpTooManyRedirects)
        #expect(setting.origin.requestCount == limit + 1)
      }
    }
  }

  @Test("A redirect that must not be stored is refetched, and its stored target is reused")
  func eachHopByItsOwnRules() async throws {
    try await Setting.with { request in
      request.target == "/from"
        ? .init(status: 302, fields: [.location: "to"])
        : .init(fields: [.cacheControl: "max-age=60"], body: "arrived")
    } test: { setting async throws in
      for _ in 1...2 { _ = try await setting.load("/from") }
      #expect(setting.origin.requests.map(\.target) == ["/from", "/to", "/from"])
    }
  }

  @Test(
    "The method changes as the status code requires (RFC 9110 §15.4)",
    arguments: [(301, "GET"), (302, "GET"), (303, "GET"), (307, "POST"), (308, "POST")])
  func method(status: Int, expected: String) async throws {
    try await Setting.with { request in
      request.target == "/from"
        ? .init(status: status, fields: [.location: "/to"])
        : .init(body: "\(request.method) \(request.body.count)")
    } test: { setting async throws in
      let answer = try await setting.load(
        setting.request(
          "/from", method: "POST", fields: ["Content-Type": "text/plain"], body: Data("1234".utf8)))
      #expect(answer.text == "\(expected) \(expected == "POST" ? 4 : 0)")
    }
  }

  @Test("Credentials do not follow a redirect to another origin")
  func credentials() async throws {
    let other = try await LoopbackOrigin.start { request in
      .init(body: request.fields[.authorization] ?? "none")
    }
    try await Setting.with { request in
      request.target == "/away"
        ? .init(status: 307, fields: [.location: other.url("/")])
        : .init(status: 307, fields: [.location: "/away"])
    } test: { setting async throws in
      let answer = try await setting.load("/here", fields: ["Authorization": "Basic x"])
      #expect(answer.text == "none")
      #expect(setting.origin.requests[1].fields[.authorization] == "Basic x")
    }
    await other.stop()
  }

  @Test("A redirect loop ends with an error")
  func loop() async throws {
    try await Setting.with { _ in
      .init(status: 302, fields: [.location: "/round"])
    } test: {
      setting async throws in
      let error = await #expect(throws: URLError.self) { try await setting.load("/round") }
      #expect(error?.code == .httpTooManyRedirects)
      #expect(setting.origin.requestCount <= 21)
    }
  }

  @Test("A redirect to a scheme other than HTTP is an error")
  func otherScheme() async throws {
    try await Setting.with { _ in
      .init(status: 302, fields: [.location: "ftp://127.0.0.1/x"])
    } test: {
      setting async throws in
      let error = await #expect(throws: URLError.self) { try await setting.load() }
      #expect(error?.code == .unsupportedURL)
    }
  }

  @Test(
    "A 3xx response without a usable Location is the response of the task",
    arguments: [300, 301, 302, 303, 304, 305, 306, 307, 308], [nil, "", "http://", "//", "::"] as [String?])
  func withoutLocation(status: Int, location: String?) async throws {
    try await Setting.with { _ in
      .init(status: status, fields: location.map { [.location: $0] } ?? [:])
    } test: { setting async throws in
      for method in ["GET", "POST"] {
        let answer = try await setting.load(setting.request(method: method))
        #expect(answer.response.statusCode == status)
        #expect(answer.response.value(forHTTPHeaderField: "Location") == location)
      }
      #expect(setting.origin.requestCount == 2)
    }
  }

  @Test("Streamed content is sent again if the redirect keeps the method")
  func streamedContent() async throws {
    try await Setting.with { request in
      request.target == "/from"
        ? .init(status: 307, fields: [.location: "/to"]) : .init(body: "\(request.body.count)")
    } test: { setting async throws in
      var request = try setting.request("/from", method: "POST")
      request.httpBodyStream = InputStream(data: Data(repeating: 1, count: 100_000))
      #expect(try await setting.load(request).text == "100000")
      #expect(setting.origin.requests.map(\.body.count) == [100_000, 100_000])
    }
  }

  @Test("A cookie set by a redirect selects the variant of its target")
  func cookies() async throws {
    try await Setting.with(base: .ephemeral) { request in
      request.target == "/login"
        ? .init(status: 303, fields: [.location: "/home", .setCookie: "user=ann; Path=/"])
        : .init(
          fields: [.cacheControl: "max-age=60", .vary: "Cookie"], body: request.fields[.cookie] ?? "no user")
    } test: { setting async throws in
      #expect(try await setting.load("/home").text == "no user")
      #expect(try await setting.load("/login").text == "user=ann")
      let known = try await setting.load("/home")
      #expect(known.text == "user=ann")
      #expect(known.source == .hit)
      let storage = try #require(setting.session.configuration.httpCookieStorage)
      for cookie in storage.cookies ?? [] { storage.deleteCookie(cookie) }
      #expect(try await setting.load("/home").text == "no user")
    }
  }

  @Test("A cookie deleted by a redirect is not sent on")
  func deletedCookie() async throws {
    try await Setting.with(base: .ephemeral) { request in
      switch request.target {
      case "/login": .init(fields: [.setCookie: "user=ann; Path=/"])
      case "/logout":
        .init(
          status: 303,
          fields: [
            .location: "/home", .setCookie: "user=gone; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
          ],
          body: request.fields[.cookie] ?? "no user")
      default: .init(body: request.fields[.cookie] ?? "no user")
      }
    } test: { setting async throws in
      _ = try await setting.load("/login")
      #expect(try await setting.load("/home").text == "user=ann")
      #expect(try await setting.load("/logout").text == "no user")
      #expect(try await setting.load("/home", fields: ["Cookie": "own=1"]).text == "own=1")
    }
  }
}
