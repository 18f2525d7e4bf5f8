// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheProxy
import HTTPCaching
import Synchronization
import TestSupport
import Testing

@Suite("Sharing between clients of the proxy", .timeLimit(.minutes(10)))
struct SharingTests {
  @Test("The proxy sends a request to the origin for every different Accept-Language (§4.1)")
  func language() async throws {
    try await ProxyFixture.run { request, origin in
      let language = request.contains("fr, de;q=0.5") ? "fr" : "de"
      try await origin.send(
        ok(language, "Cache-Control: max-age=600\r\nVary: Accept-Language\r\nContent-Language: de\r\n"))
      return true
    } _: { proxy in
      for language in ["fr, de;q=0.5", "de", "fr, de;q=0.5"] {
        expect(
          try await proxy.get("/", "Accept-Language: \(language)\r\n"),
          endsWith: "\r\n\r\n\(language.prefix(2))")
      }
      #expect(proxy.origin.requests.count == 2)
    }
  }

  /// An origin that gives each request a cookie of its own.
  private static func origin(_ fields: String) -> RawOrigin.Answering {
    let count = Atomic(0)
    return { _, connection in
      let number = count.wrappingAdd(1, ordering: .relaxed).newValue
      try await connection.send(
        ok("\(number)", "Set-Cookie: user=\(number)\r\nETag: \"a\"\r\n" + fields))
      return true
    }
  }

  @Test(
    "A response with Set-Cookie that is not declared shareable is not shared",
    arguments: [
      "", "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n", "Expires: 0\r\n", "Cache-Control: no-cache\r\n",
    ])
  func ownCookies(fields: String) async throws {
    try await ProxyFixture.run(origin: Self.origin(fields)) { proxy in
      for number in 1...3 {
        let answer = try await proxy.get("/")
        expect(answer, endsWith: "\r\n\r\n\(number)")
        #expect(answer.contains("Set-Cookie: user=\(number)\r\n"))
        #expect(answer.contains("detail=cookiesNotShared"))
      }
      #expect(!proxy.origin.requests.contains { $0.lowercased().contains("if-none-match") })
    }
  }

  @Test(
    "Cookies of a response with a lifetime are shared, stripped or not stored, as configured",
    arguments: CacheEngine.SetCookieUse.allCases)
  func declaredCookies(use: CacheEngine.SetCookieUse) async throws {
    try await ProxyFixture.run(
      rules: { $0.setCookie = use }, origin: Self.origin("Cache-Control: max-age=600\r\n")
    ) { proxy in
      let answers = [try await proxy.get("/"), try await proxy.get("/")]
      let cookies = answers.map {
        $0.contains("Set-Cookie: user=1") ? 1 : $0.contains("Set-Cookie: user=2") ? 2 : 0
      }
      switch use {
      case .store: #expect(cookies == [1, 1])
      case .strip: #expect(cookies == [0, 0])
      case .bypass, .declared: #expect(cookies == [1, 2])
      }
      #expect(proxy.origin.requests.count == (use == .bypass || use == .declared ? 2 : 1))
    }
  }

  @Test("No client of a coalesced request gets stripped cookies")
  func coalescedCookies() async throws {
    let rest = Gate()
    try await ProxyFixture.run(rules: { $0.setCookie = .strip }) { _, connection in
      try await connection.send(
        "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nCache-Control: max-age=600\r\nSet-Cookie: user=1\r\n\r\nab")
      await rest.pass()
      try await connection.send("cd")
      return true
    } _: { proxy in
      let request = "GET / HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n"
      let port = proxy.port
      let answers = try await RawClient.connect(to: port).talk { first in
        try await first.send(request)
        await first.read(until: "\r\n\r\nab")
        let follower = try await RawClient.connect(to: port).talk { second in
          try await second.send(request)
          // What comes while it comes: this client follows the first one's request.
          await second.read(until: "\r\n\r\nab")
          rest.open()
          return await second.readAll()
        }
        return [await first.readAll(), follower]
      }
      for answer in answers {
        expect(answer, endsWith: "\r\n\r\nabcd")
        #expect(!answer.contains("Set-Cookie"), "\(answer)")
      }
      #expect(answers[1].contains("collapsed"))
      #expect(proxy.origin.requests.count == 1)
    }
  }

  @Test(
    "Directives between wrong separators restrict, and permit nothing (§4.2.1)",
    arguments: [
      "private; max-age=600", "no-store; max-age=600", "no-store no-cache", "max-age=600, \"no-store\"",
      "max-age=600; private", "public; max-age=600", "max-age=600, no-cache;",
    ])
  func separators(directives: String) async throws {
    let count = Atomic(0)
    try await ProxyFixture.run { _, connection in
      let number = count.wrappingAdd(1, ordering: .relaxed).newValue
      try await connection.send(
        ok("\(number)", "Cache-Control: \(directives)\r\nLast-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n"))
      return true
    } _: { proxy in
      for number in 1...2 { expect(try await proxy.get("/"), endsWith: "\r\n\r\n\(number)") }
    }
  }

  @Test("A nonstandard Last-Modified is sent back unchanged, with the client's entity tags (§4.3.1, §4.3.2)")
  func oddDate() async throws {
    let modified = "Sun, 6 Nov 1994 8:49:37 UTC"
    try await ProxyFixture.run { request, connection in
      let isValidation = request.contains("If-Modified-Since: \(modified)\r\n")
      try await connection.send(
        isValidation
          ? "HTTP/1.1 304 Not Modified\r\nCache-Control: max-age=0\r\nLast-Modified: \(modified)\r\n\r\n"
          : ok("a", "Cache-Control: max-age=0\r\nLast-Modified: \(modified)\r\n"))
      return true
    } _: { proxy in
      expect(try await proxy.get("/"), endsWith: "\r\n\r\na")
      let answer = try await proxy.get("/")
      expect(answer, startsWith: "HTTP/1.1 200 OK\r\n")
      expect(answer, endsWith: "\r\n\r\na")
      expect(try await proxy.get("/", "If-None-Match: \"b\"\r\n"), endsWith: "\r\n\r\na")
      #expect(proxy.origin.requests[1].contains("If-Modified-Since: \(modified)\r\n"))
      #expect(
        proxy.origin.requests.contains {
          $0.contains("If-None-Match: \"b\"\r\n") && $0.contains("If-Modified-Since")
        })
    }
  }
}
