import HTTPCacheProxy
import Logging
import NIOCore
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
      for kind in ["flight", "transfer", "reader", "writer", "client_connection", "origin_connection"] {
        #expect(metrics.contains("\nhttpcache_live_objects{kind=\"\(kind)\"} "))
      }
      #expect(metrics.contains("\nhttpcache_transit_bytes 0\n"))
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

  @Test("It has few connections at a time, takes little content, and gives a request little time")
  func limits() async throws {
    try await ProxyFixture.run {
      $0.admin = Address(host: "127.0.0.1", port: 0)
    } origin: { request, connection in
      try await Self.answering(request, &connection)
    } _: { proxy in
      let content = String(repeating: "a", count: 100_000)
      let request = "POST /purge?all HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n\(content)"
      let answer = try? await RawClient.exchange(request, port: proxy.adminPort)
      #expect(answer ?? "" == "")
      let port = proxy.adminPort
      try await withThrowingTaskGroup(of: Void.self) { group in
        let done = Opening()
        for _ in 1...64 {
          let isServed = Opening()
          group.addTask {
            try await RawClient.connect(to: port).talk { conversation in
              try await conversation.send("GET /health HTTP/1.1\r\nHost: a\r\n\r\n")
              await conversation.read(until: "ok\n")
              isServed.open()
              await done.pass()
            }
          }
          await isServed.pass()
        }
        let one = try? await RawClient.exchange("GET /health HTTP/1.1\r\nHost: a\r\n\r\n", port: port)
        #expect(one ?? "" == "")
        done.open()
        try await group.waitForAll()
      }
    }
    try await ProxyFixture.run {
      $0.admin = Address(host: "127.0.0.1", port: 0)
      $0.timeouts.stall = 100
    } origin: { _, _ in
      true
    } _: { proxy in
      try await RawClient.connect(to: proxy.adminPort).talk { conversation in
        // It moves all the time, and never becomes a request.
        let output = conversation.output
        let sending = Task {
          while !Task.isCancelled {
            try await output.write(ByteBuffer(string: "a"))
            try await Task.sleep(for: .milliseconds(5))
          }
        }
        _ = await conversation.readAll()
        sending.cancel()
      }
    }
  }
}
