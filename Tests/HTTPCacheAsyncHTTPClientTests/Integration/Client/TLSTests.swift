// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheAsyncHTTPClient
import Loopback
import NIOCore
import NIOHTTP1
import NIOSSL
import TestSupport
import Testing

@Suite("AsyncHTTPClient with a cache over TLS", .timeLimit(.minutes(10)))
struct TLSTests {
  private static func with(
    offering versions: [SecureOrigin.Version], trusted isTrusted: Bool = true,
    test body: (CachingHTTPClient, SecureOrigin) async throws -> Void
  ) async throws {
    try await withTemporaryFolder { folder in
      let certificate = try await Certificate.shared(in: folder)
      var configuration = HTTPClient.Configuration()
      configuration.timeout.connect = .minutes(4)
      // A handshake that fails is the result at once. The client would repeat it until its time for connecting has passed.
      configuration.connectionPool.retryConnectionEstablishment = false
      if isTrusted {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.trustRoots = .file(certificate.file.path)
        configuration.tlsConfiguration = tls
      }
      let client = CachingHTTPClient(configuration: configuration, redirects: nil, cache: try HTTPCache())
      let handler: SecureOrigin.Handler = { request in
        request.fields[.ifNoneMatch] == nil
          ? .init(
            fields: [.cacheControl: request.target == "/stale" ? "no-cache" : "max-age=600", .eTag: "\"1\""],
            body: "a")
          : .init(status: 304, fields: [.eTag: "\"1\""])
      }
      do {
        try await SecureOrigin.with(certificate, offering: versions, handler) { try await body(client, $0) }
      } catch {
        try? await client.shutdown()
        throw error
      }
      try await client.shutdown()
    }
  }

  @Test(
    "Responses over https are stored, reused and revalidated, with HTTP/1.1 and with HTTP/2",
    arguments: SecureOrigin.Version.allCases)
  func versions(version: SecureOrigin.Version) async throws {
    try await Self.with(offering: version == .http2 ? [.http2, .http1] : [.http1]) { client, origin in
      func get(_ path: String) async throws -> (CachedResponse.Source?, String, HTTPVersion) {
        let response = try await client.execute(
          HTTPClientRequest(url: try origin.url(path)), timeout: .minutes(4))
        let body = try await response.body.collect(upTo: 100)
        return (response.cacheStatus?.source, String(buffer: body), response.version)
      }
      let first = try await get("/a")
      #expect(first == (.network, "a", version == .http2 ? .http2 : .http1_1))
      #expect(try await get("/a").0 == .hit)
      #expect(try await get("/stale").0 == .network)
      #expect(try await get("/stale").0 == .validated)
      #expect(origin.versions == [version, version, version])
    }
  }

  @Test("An untrusted certificate is an error, and not a disconnection")
  func untrusted() async throws {
    try await Self.with(offering: [.http1], trusted: false) { client, origin in
      await #expect(throws: (any Error).self) {
        try await client.execute(HTTPClientRequest(url: try origin.url("/a")), timeout: .minutes(4))
      }
    }
  }
}
