// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPTypes
import Loopback
import TestSupport
import Testing

@testable import TestTool

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite(
  "Sessions with a cache over TLS",
  .enabled("needs the command openssl, to make certificates") { await Certificate.canBeMade() },
  .enabled("needs Linux, and the right to mount a file in a namespace (unshare --mount)") {
    await Client.isPermitted()
  },
  .timeLimit(.minutes(10)))
struct TLSTests {
  private static let fresh: HTTPFields = [.cacheControl: "max-age=600"]
  private static let revalidated: HTTPFields = [.cacheControl: "no-cache", .eTag: "\"1\""]

  /// Answers each path with fields of its own, and with the path as content.
  private static func handler(_ fields: [String: HTTPFields]) -> SecureOrigin.Handler {
    { request in
      let fields = fields[request.target] ?? [:]
      if request.fields[.ifNoneMatch] != nil { return .init(status: 304, fields: fields) }
      return .init(fields: fields, body: "content of \(request.target)")
    }
  }

  /// Runs a test with a client that trusts the origin.
  private static func with(
    offering versions: [SecureOrigin.Version] = [.http2, .http1], _ fields: [String: HTTPFields],
    test body: (SecureOrigin, Client) async throws -> Void
  ) async throws {
    try await withTemporaryFolder { folder in
      let certificate = try await Certificate.shared(in: folder)
      let client = try await Client(in: folder, trusting: [certificate])
      try await SecureOrigin.with(certificate, offering: versions, handler(fields)) { origin in
        try await body(origin, client)
      }
    }
  }

  private static func load(
    _ url: String, _ way: Load.Way, _ policy: URLRequest.CachePolicy = .useProtocolCachePolicy
  ) -> Load {
    Load(url: url, way: way, policy: policy.rawValue)
  }

  @Test(
    "Responses over https are stored, reused and revalidated, with HTTP/1.1 and with HTTP/2",
    arguments: SecureOrigin.Version.allCases, Load.Way.allCases)
  func versions(version: SecureOrigin.Version, way: Load.Way) async throws {
    // An origin that offers both gets HTTP/2.
    try await Self.with(
      offering: version == .http2 ? [.http2, .http1] : [.http1], ["/a": Self.fresh, "/b": Self.revalidated]
    ) { origin, client in
      let paths = ["/a", "/a", "/b", "/b"]
      let results = try await client.load(paths.map { Self.load(try origin.url($0), way) })
      #expect(results.map(\.source) == ["network", "hit", "network", "validated"])
      #expect(results.map(\.text) == paths.map { "content of \($0)" })
      #expect(results.allSatisfy { $0.status == 200 })
      #expect(origin.versions == [version, version, version])

      // The next process reads what this one has stored.
      let later = try await client.load([Self.load(try origin.url("/a"), way)])
      #expect(later.map(\.source) == ["hit"])
      #expect(origin.versions.count == 3)
    }
  }

  @Test(
    "A response stored for an https URL does not answer the http URL, nor the other way round",
    arguments: Load.Way.allCases)
  func keys(way: Load.Way) async throws {
    try await Self.with(["/a": Self.fresh]) { secure, client in
      let plain = try await LoopbackOrigin.start { _ in .init(fields: Self.fresh, body: "plain") }
      let (stored, storedPlain) = (try secure.url("/a"), plain.url("/a"))
      let results = try await client.load([
        Self.load(stored, way), Self.load(storedPlain, way),
        Self.load(stored, way, .returnCacheDataDontLoad),
        Self.load(storedPlain, way, .returnCacheDataDontLoad),
        Self.load(try secure.url("/a", scheme: "http"), way, .returnCacheDataDontLoad),
        Self.load(storedPlain.replacing("http:", with: "https:"), way, .returnCacheDataDontLoad),
      ])
      #expect(results.map(\.source) == ["network", "network", "hit", "hit", nil, nil])
      #expect(results.suffix(2).allSatisfy { $0.errorCode == URLError.resourceUnavailable.rawValue })
      await plain.stop()
    }
  }

  @Test(
    "An immutable response answers a revalidating reload over https only (RFC 8246)",
    arguments: Load.Way.allCases)
  func immutable(way: Load.Way) async throws {
    let fields: HTTPFields = [.cacheControl: "max-age=600, immutable", .eTag: "\"1\""]
    let policies: [URLRequest.CachePolicy] = [
      .useProtocolCachePolicy, .reloadRevalidatingCacheData, .reloadIgnoringLocalCacheData,
    ]
    try await Self.with(["/a": fields]) { secure, client in
      let handler = Self.handler(["/a": fields])
      let plain = try await LoopbackOrigin.start { handler($0) }
      let url = try secure.url("/a")
      let results = try await client.load(policies.map { Self.load(url, way, $0) })
      #expect(results.map(\.source) == ["network", "hit", "network"])
      #expect(results[1].reason == "immutable")
      #expect(secure.versions.count == 2)

      let overPlain = try await client.load(policies.map { Self.load(plain.url("/a"), way, $0) })
      #expect(overPlain.map(\.source) == ["network", "validated", "network"])
      #expect(plain.requestCount == 3)
      await plain.stop()
    }
  }

  @Test(
    "Clear-Site-Data removes the stored responses of its origin over https only", arguments: Load.Way.allCases
  )
  func clearSiteData(way: Load.Way) async throws {
    var clearing: HTTPFields = [.cacheControl: "no-store"]
    if let name = HTTPField.Name("Clear-Site-Data") { clearing[name] = "\"cache\"" }
    let fields = ["/a": Self.fresh, "/b": Self.fresh, "/logout": clearing]
    try await Self.with(fields) { secure, client in
      let handler = Self.handler(fields)
      let plain = try await LoopbackOrigin.start { handler($0) }
      let paths = ["/a", "/b", "/logout", "/a", "/b"]
      let results = try await client.load(
        paths.map { Self.load(plain.url($0), way) } + paths.map { Self.load(try secure.url($0), way) }
          + [Self.load(plain.url("/a"), way)])
      #expect(results.prefix(5).map(\.source) == ["network", "network", "network", "hit", "hit"])
      #expect(results[5..<10].allSatisfy { $0.source == "network" })
      // Another origin keeps its responses.
      #expect(results.last?.source == "hit")
      await plain.stop()
    }
  }

  @Test(
    "An untrusted certificate is an error even if a stored response may be served stale, and nothing is stored",
    arguments: Certificate.Name.allCases, Load.Way.allCases)
  func untrusted(name: Certificate.Name, way: Load.Way) async throws {
    try await withTemporaryFolder { folder in
      let trusted = try await Certificate.shared(in: folder)
      let other = try await Certificate(in: folder, for: name)
      // Either the root is unknown, or the certificate is valid for another host.
      let client = try await Client(in: folder, trusting: name == .loopback ? [trusted] : [trusted, other])
      let fields: [String: HTTPFields] = ["/a": [.cacheControl: "max-age=0"], "/b": Self.fresh]
      try await SecureOrigin.with(trusted, Self.handler(fields)) { origin in
        let (a, b) = (try origin.url("/a"), try origin.url("/b"))
        #expect(try await client.load([Self.load(a, way)]).map(\.source) == ["network"])
        let disconnected = try await client.load([Self.load(a, way)], isReachable: false)
        #expect(disconnected.map(\.source) == ["stale"])

        try origin.present(other)
        let results = try await client.load([
          Self.load(a, way), Self.load(b, way), Self.load(a, way, .returnCacheDataDontLoad),
          Self.load(b, way, .returnCacheDataDontLoad),
        ])
        for result in results.prefix(2) {
          #expect(result.source == nil)
          // Foundation on Linux has no code of its own for it, only curl's description.
          #expect(result.errorCode == URLError.unknown.rawValue)
          #expect(result.errorText?.contains("SSL") == true, "\(result)")
        }
        #expect(results[2].text == "content of /a")
        #expect(results[3].errorCode == URLError.resourceUnavailable.rawValue)
        #expect(origin.versions.count == 1)
      }
    }
  }
}
