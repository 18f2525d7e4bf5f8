// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

#if Redis
  import Foundation
  import HTTPCacheRedis
  import HTTPTypes
  import Loopback
  import TestSupport
  import Testing

  @Suite("Proxies with a shared tier, as processes", .serialized, .timeLimit(.minutes(10)))
  struct SharedTierProcessTests {
    private func proxy(
      _ origin: LoopbackOrigin, _ url: String, _ body: (ProxyPorts) async throws -> Void
    ) async throws {
      let arguments = [
        "proxy", "--origin", origin.url(""), "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--shared",
        url,
        // A slow machine is not out of step: this is the longest possible time.
        "--shared-trust", "86400", "--shared-required",
      ]
      try await CommandProcess.run(arguments) { (process: CommandProcess) async throws -> Void in
        try await body(process.ports())
      }
    }

    /// Returns the sum of all samples of a metric.
    private func sum(_ name: String, _ proxies: ProxyPorts...) async throws -> Int {
      var sum = 0
      for ports in proxies {
        let samples = try await ports.ask("/metrics").split(separator: "\n").filter {
          $0.hasPrefix("\(name) ") || $0.hasPrefix("\(name){")
        }
        for sample in samples { sum += try #require(sample.split(separator: " ").last.flatMap { Int($0) }) }
      }
      return sum
    }

    @Test(
      "One proxy serves what the other fetched, and a purge reaches both",
      .enabled(if: RedisServer.isInstalled, "\(RedisServer.howToInstall)"))
    func shared() async throws {
      let origin = try await LoopbackOrigin.start { _ in
        .init(fields: [.cacheControl: "max-age=3600"], body: "hello")
      }
      try await RedisServer.with { (server: RedisServer) async throws -> Void in
        guard case .tcp(host: _, port: let port) = server.address else { return }
        let url = "redis://127.0.0.1:\(port)"
        try await proxy(origin, url) { one in
          try await proxy(origin, url) { two in try await check(one, two, origin, url) }
        }
      }
      await origin.stop()
    }

    private func check(_ one: ProxyPorts, _ two: ProxyPorts, _ origin: LoopbackOrigin, _ url: String)
      async throws
    {
      let status = try await one.ask("/status")
      #expect(status.contains("shared tier"))
      var number = 1
      while try await !isServedByTheOther("/\(number)", one, two, origin) { number += 1 }
      let purge = try await CommandProcess.run([
        "purge", "--shared", url, "--url", "http://127.0.0.1/\(number)", "--wait", "60",
      ])
      #expect(purge.status == 0, "\(purge.errors)")
      #expect(purge.output.hasPrefix("All proxies"))
      let before = origin.requestCount
      let answer = try await two.get("/\(number)")
      #expect(answer.contains("fwd="))
      #expect(origin.requestCount == before + 1)
    }

    /// Whether the second proxy serves what the first one fetched.
    ///
    /// A request waits for the tier for 20 ms only. If that was too short, the proxy counts an error, and the result is
    /// `false`. Without an error, the second proxy must serve the response.
    private func isServedByTheOther(
      _ path: String, _ one: ProxyPorts, _ two: ProxyPorts, _ origin: LoopbackOrigin
    ) async throws -> Bool {
      try await eventually {
        let inStep = try await sum("httpcache_shared_in_step", one, two)
        let available = try await sum("httpcache_shared_available", one, two)
        return inStep == 2 && available == 2
      }
      let errors = try await sum("httpcache_shared_errors_total", one, two)
      func hasFailed() async throws -> Bool {
        try await sum("httpcache_shared_errors_total", one, two) > errors
      }
      let stores = try await sum("httpcache_shared_stores_total", one)
      _ = try await one.get(path)
      // The first proxy stores in the background.
      try await eventually {
        if try await sum("httpcache_shared_stores_total", one) > stores { return true }
        return try await hasFailed()
      }
      let before = origin.requestCount
      let answer = try await two.get(path)
      if answer.contains("httpcache; hit"), answer.hasSuffix("hello"), origin.requestCount == before {
        return true
      }
      try #require(
        try await hasFailed(), "no call of the tier failed, but the response is not shared: \(answer)")
      return false
    }

    @Test("A proxy that requires its shared tier ends if it cannot reach it at the start")
    func required() async throws {
      let end = try await CommandProcess.run([
        "proxy", "--origin", "http://127.0.0.1:1", "--listen", "127.0.0.1:0", "--shared",
        "redis://127.0.0.1:1",
        "--shared-required",
      ])
      #expect(end.status == 69)
      #expect(end.errors.contains("--shared-required: "))
    }

    @Test("A purge of a tier that cannot be reached says so")
    func unreachable() async throws {
      let end = try await CommandProcess.run([
        "purge", "--shared", "redis://127.0.0.1:1", "--all", "--wait", "0.2",
      ])
      #expect(end.status == 69)
      #expect(end.errors.contains("the shared tier cannot be reached; nothing was purged"))
    }

    @Test(
      "An invalid option of the shared tier is refused",
      arguments: [
        (["--shared", "http://a"], "--shared: "),
        (["--shared-trust", "5"], "--shared-trust is for --shared"),
        (["--shared-required"], "--shared-required is for --shared"),
        (["--shared", "redis://a", "--shared-trust", "0"], "--shared-trust: expected 0.1 to 86400 seconds"),
      ])
    func refused(options: [String], text: String) async throws {
      let end = try await CommandProcess.run(["proxy", "--origin", "http://127.0.0.1:1"] + options)
      #expect(end.status == 64)
      #expect(end.errors.contains(text))
    }
  }
#endif
