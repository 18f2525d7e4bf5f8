import HTTPCacheProxy
import Logging
import Testing

@Suite("The admin port")
struct AdminTests {
  private static let answering: RawOrigin.Answering = { _, connection in
    try await connection.send(ok("hello", "Cache-Control: max-age=60\r\nCache-Groups: \"g\"\r\n"))
    return true
  }

  private func ask(_ proxy: ProxyFixture, _ line: String, _ fields: String = "") async throws -> String {
    try await RawClient.exchange(
      "\(line) HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nConnection: close\r\n\(fields)\r\n",
      port: proxy.adminPort)
  }

  @Test("It tells what was done, for Prometheus and for people, and that all is well")
  func tells() async throws {
    try await ProxyFixture.run {
      $0.admin = Address(host: "127.0.0.1", port: 0)
    } origin: { request, connection in
      try await Self.answering(request, &connection)
    } _: { proxy in
      for _ in 1...3 { _ = try await proxy.get("/") }
      let metrics = try await ask(proxy, "GET /metrics")
      #expect(metrics.contains("\nhttpcache_requests_total{outcome=\"hit\"} 2\n"))
      #expect(metrics.contains("\nhttpcache_origin_requests_total 1\n"))
      #expect(metrics.contains("\nhttpcache_stored_total 1\n"))
      #expect(metrics.contains("\nhttpcache_stored_bytes_total 5\n"))
      #expect(metrics.contains("\nhttpcache_latency_seconds_count 3\n"))
      let page = try await ask(proxy, "GET /status")
      #expect(page.contains("66.6%"))
      #expect(!page.contains("<script"))
      expect(try await ask(proxy, "GET /health"), endsWith: "ok\n")
      expect(try await ask(proxy, "GET /else"), startsWith: "HTTP/1.1 404 ")
      expect(try await ask(proxy, "GET /purge?all"), startsWith: "HTTP/1.1 405 ")
    }
  }

  @Test(
    "What is purged is fetched again",
    arguments: [
      "url=http://a.example/", "url=http%3A%2F%2Fa.example%2F", "group=g&url=http://a.example/", "all",
    ])
  func purges(what: String) async throws {
    try await ProxyFixture.run {
      $0.admin = Address(host: "127.0.0.1", port: 0)
    } origin: { request, connection in
      try await Self.answering(request, &connection)
    } _: { proxy in
      _ = try await proxy.get("/")
      #expect(try await proxy.get("/").contains("test; hit"))
      expect(try await ask(proxy, "POST /purge?\(what)"), startsWith: "HTTP/1.1 200 ")
      let again = try await proxy.get("/")
      #expect(!again.contains("test; hit"))
    }
  }

  @Test("Purging needs the token where there is one, and is not for pages in a browser")
  func token() async throws {
    try await ProxyFixture.run {
      $0.admin = Address(host: "127.0.0.1", port: 0)
      $0.adminToken = "secret"
    } origin: { request, connection in
      try await Self.answering(request, &connection)
    } _: { proxy in
      expect(try await ask(proxy, "POST /purge?all"), startsWith: "HTTP/1.1 401 ")
      expect(
        try await ask(proxy, "POST /purge?all", "Authorization: Bearer secre\r\n"),
        startsWith: "HTTP/1.1 401 ")
      #expect(
        try await ask(proxy, "POST /purge?all", "Authorization: Bearer secret\r\n").hasPrefix("HTTP/1.1 200 ")
      )
    }
    try await ProxyFixture.run {
      $0.admin = Address(host: "127.0.0.1", port: 0)
    } origin: { request, connection in
      try await Self.answering(request, &connection)
    } _: { proxy in
      expect(
        try await ask(proxy, "POST /purge?all", "Origin: http://evil.example\r\n"),
        startsWith: "HTTP/1.1 403 ")
      expect(try await ask(proxy, "POST /purge?nothing"), startsWith: "HTTP/1.1 400 ")
    }
  }
}
