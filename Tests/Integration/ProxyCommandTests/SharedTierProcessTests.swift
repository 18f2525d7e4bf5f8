// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

#if Redis
  import Foundation
  import HTTPCacheRedis
  import HTTPTypes
  import LoopbackOrigin
  import LoopbackRedis
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
        // A slow machine is not out of step.
        "--shared-trust", "60",
      ]
      try await CommandProcess.run(arguments) { (process: CommandProcess) async throws -> Void in
        try await body(process.ports())
      }
    }

    /// Asks again until the answer is as expected. A lookup in the tier waits for 20 ms only, which is short here.
    ///
    /// - Returns: whether it came in time.
    private func comes(within limit: Duration = .seconds(60), _ attempt: () async throws -> Bool) async throws
      -> Bool
    {
      let end = ContinuousClock.now + limit
      while try await !attempt() {
        if ContinuousClock.now > end { return false }
      }
      return true
    }

    private func stores(_ ports: ProxyPorts) async throws -> Int {
      let name = "\nhttpcache_shared_stores_total{result=\"stored\"} "
      let page = try await ports.ask("/metrics")
      let start = try #require(page.firstRange(of: name)).upperBound
      return try #require(Int(page[start...].prefix { $0.isNumber }))
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
      for ports in [one, two] {
        let isInStep = try await comes {
          try await ports.ask("/metrics").contains("\nhttpcache_shared_in_step 1\n")
        }
        #expect(isInStep)
      }
      let status = try await one.ask("/status")
      #expect(status.contains("shared tier"))
      var number = 0
      var isShared = false
      while !isShared, number < 20 {
        number += 1
        isShared = try await isServedByTheOther("/\(number)", one, two, origin)
      }
      #expect(isShared)
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

    private func isServedByTheOther(
      _ path: String, _ one: ProxyPorts, _ two: ProxyPorts, _ origin: LoopbackOrigin
    ) async throws -> Bool {
      let earlier = try await stores(one)
      _ = try await one.get(path)
      // The first proxy stores in the background.
      let isStored = try await comes(within: .seconds(5)) { try await stores(one) > earlier }
      guard isStored else { return false }
      let before = origin.requestCount
      let answer = try await two.get(path)
      return answer.contains("httpcache; hit") && answer.hasSuffix("hello") && origin.requestCount == before
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
        (["--shared", "redis://a", "--shared-trust", "0"], "--shared-trust: expected 0.1 to 86400 seconds"),
      ])
    func refused(options: [String], text: String) async throws {
      let end = try await CommandProcess.run(["proxy", "--origin", "http://127.0.0.1:1"] + options)
      #expect(end.status == 64)
      #expect(end.errors.contains(text))
    }
  }
#endif
