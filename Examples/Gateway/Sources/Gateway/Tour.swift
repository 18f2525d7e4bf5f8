// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import AsyncHTTPClient
import HTTPCacheAsyncHTTPClient
import NIOCore

/// Sends requests to the gateway, and prints where each answer came from.
struct Tour {
  let port: Int
  let gateway: Gateway

  func run() async throws {
    say("The first request calls both upstreams, and the second runs no handler.")
    try await show("GET", "/dashboard")
    try await show("GET", "/dashboard")

    say("100 requests at once for prices that are no longer fresh: one upstream request.")
    try await pause()
    let before = gateway.upstreams.prices.requestCount
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<100 { group.addTask { _ = try await send("GET", "/prices") } }
      try await group.waitForAll()
    }
    print("  upstream requests: \(gateway.upstreams.prices.requestCount - before)")

    say("The dashboard is stale: it is answered at once, and made again in the background.")
    try await show("GET", "/dashboard")
    try await pause(.milliseconds(500))
    try await show("GET", "/dashboard")

    say("A conditional request with the validator that the cache made: 304.")
    let tag = try await send("GET", "/dashboard").headers.first(name: "ETag") ?? ""
    try await show("GET", "/dashboard", [("If-None-Match", tag)])

    say("Offers are on the server only, and the parameters of a link are not part of their key.")
    try await show("GET", "/offers?utm_source=mail")
    try await show("GET", "/offers")

    say("The handler of the news names its version, so a client that has it gets a 304.")
    let version = try await send("GET", "/news").headers.first(name: "ETag") ?? ""
    try await show("GET", "/news", [("If-None-Match", version)])

    say("A change of the prices invalidates what was made of them.")
    try await show("PUT", "/prices", content: "apples 4")
    try await show("GET", "/dashboard")

    say("The upstream of the prices is down: its last answer is served, by its stale-if-error.")
    await gateway.upstreams.prices.stop()
    try await pause(.seconds(2))
    try await show("GET", "/prices")

    say("Metrics.")
    let metrics = try await send("GET", "/metrics")
    print(
      String(buffer: try await metrics.body.collect(upTo: 1 << 20)).split(separator: "\n").map { "  \($0)" }
        .joined(separator: "\n"))
  }

  private func say(_ text: String) { print("\n\(text)") }

  private func pause(_ time: Duration = .milliseconds(1100)) async throws { try await Task.sleep(for: time) }

  private func send(
    _ method: String, _ path: String, _ fields: [(String, String)] = [], content: String? = nil
  ) async throws -> HTTPClientResponse {
    var request = HTTPClientRequest(url: "http://127.0.0.1:\(port)\(path)")
    request.method = .RAW(value: method)
    for (name, value) in fields { request.headers.add(name: name, value: value) }
    if let content { request.body = .bytes(ByteBuffer(string: content)) }
    return try await HTTPClient.shared.execute(request, timeout: .seconds(10))
  }

  private func show(
    _ method: String, _ path: String, _ fields: [(String, String)] = [], content: String? = nil
  ) async throws {
    let response = try await send(method, path, fields, content: content)
    let body = String(buffer: try await response.body.collect(upTo: 1 << 20))
    print(
      "  \(method) \(path): \(response.status.code), \(response.cacheStatus?.description ?? "not through the cache")"
    )
    for line in body.split(separator: "\n") { print("    \(line)") }
  }
}
