// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import AsyncHTTPClient
import HTTPCacheTesting
import NIOCore
import NIOHTTP1

/// Sends requests to the catalogue, and says where each answer came from.
///
/// Time is that of the test clock, so each tour has the same output.
public struct Tour {
  public let clock: TestClock
  public let catalogue: Catalogue
  private let say: (String) -> Void

  /// - Parameter say: gets the lines.
  public init(_ say: @escaping (String) -> Void) throws {
    self.say = say
    clock = TestClock()
    catalogue = try Catalogue(clock: clock)
  }

  /// - Parameter port: where the responder of the catalogue listens on the loopback.
  public func run(on port: Int) async throws {
    let visit = Visit(port: port, runs: catalogue.runs, say: say)
    say("Declared outside of the handlers: a lifetime and a group for all below /products.")
    try await visit.show("GET", "/products/1", showing: ["Cache-Control", "Cache-Groups"])
    try await visit.show("GET", "/products/1")

    say("By rule, /products has one parameter, and /admin is never stored.")
    try await visit.show("GET", "/products?order=price")
    try await visit.show("GET", "/products?utm_source=mail&order=price")
    for _ in 1...2 { try await visit.show("GET", "/admin/report") }

    say("On the server only: clients must not store a price, the cache has.")
    for _ in 1...2 { try await visit.show("GET", "/prices/1", showing: ["Cache-Control"]) }

    say("All hosts are one: they share what is stored.")
    try await visit.show("GET", "/products/1", [("Host", "www.shop.example")])

    say("HEAD needs no route of its own.")
    try await visit.show("HEAD", "/products/2")
    try await visit.show("HEAD", "/products/1")

    say(
      "A handler answers conditions before it makes the page: when the stored page is stale, and to a client."
    )
    try await visit.show("GET", "/pages/1", showing: ["ETag"])
    clock.advance(by: .seconds(61))
    try await visit.show("GET", "/pages/1")
    try await visit.show("GET", "/pages/1", [("If-None-Match", "W/\"1\"")])

    say("Content that is streamed has a validator, too, if its handler names one.")
    try await visit.show("GET", "/export", showing: ["ETag"])
    try await visit.show("GET", "/export", [("If-None-Match", "W/\"all-2\"")])

    say("Stock is fresh for a second. Then it is answered at once, and made again for the cache.")
    try await visit.show("GET", "/stock/1", showing: ["Cache-Control"])
    clock.advance(by: .seconds(2))
    let stored = catalogue.cache.events(of: [.stored])
    try await visit.show("GET", "/stock/1", hasRuns: false)
    for await _ in stored { break }
    say("  \(catalogue.runs.take().joined())")
    try await visit.show("GET", "/stock/1")

    say("A change of another version is refused. One of this version invalidates what was made of it.")
    try await visit.show("PUT", "/products/1", [("If-Match", "\"7\"")], content: "4")
    try await visit.show("GET", "/prices/1")
    try await visit.show("PUT", "/products/1", [("If-Match", "\"1\"")], content: "4")
    try await visit.show("GET", "/prices/1")
    try await visit.show("GET", "/pages/1")

    say("Streamed content is made when its handler has returned, and has the cache, too.")
    try await visit.show("POST", "/clear")
  }
}

private struct Visit {
  let port: Int
  let runs: Runs
  let say: (String) -> Void

  func show(
    _ method: String, _ path: String, _ fields: [(String, String)] = [], content: String? = nil,
    showing names: [String] = [], hasRuns: Bool = true
  ) async throws {
    var request = HTTPClientRequest(url: "http://127.0.0.1:\(port)\(path)")
    request.method = .RAW(value: method)
    for (name, value) in fields { request.headers.add(name: name, value: value) }
    if let content { request.body = .bytes(ByteBuffer(string: content)) }
    let response = try await HTTPClient.shared.execute(request, timeout: .minutes(1))
    let text = String(buffer: try await response.body.collect(upTo: 1 << 20))

    say("  \(method) \(path)\(fields.map { ", \($0): \($1)" }.joined()): \(response.status.code)")
    for name in names + ["Cache-Status"] {
      for value in response.headers[name] { say("    \(name): \(value)") }
    }
    if hasRuns { say("    \(runs.take().first ?? "no handler ran")") }
    for line in text.split(separator: "\n") { say("    > \(line)") }
  }
}
