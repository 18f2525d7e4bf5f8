// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

#if AsyncHTTPClient
  import HTTPCacheAsyncHTTPClient
  import HTTPCaching
  import HTTPTypes
  import NIOCore
  import NIOHTTP1
  import NIOHTTPTypesHTTP1

  /// Sends the requests of scenarios through a `CachingHTTPClient`, to an origin on a socket of the loopback.
  struct AsyncHTTPClientEntry: ScenarioEntry {
    private let sockets: LiveOrigin
    private let client: HTTPClient

    /// Runs `body` with an entry, and closes its sockets.
    static func with<Result>(_ body: (AsyncHTTPClientEntry) async throws -> Result) async throws -> Result {
      let sockets = try await LiveOrigin.start()
      // Every host is on that socket, with its own name in the key.
      var configuration = HTTPClient.Configuration(proxy: .server(host: "127.0.0.1", port: sockets.port))
      configuration.redirectConfiguration = .disallow
      let client = HTTPClient(configuration: configuration)
      let result: Swift.Result<Result, any Error>
      do {
        result = .success(try await body(AsyncHTTPClientEntry(sockets: sockets, client: client)))
      } catch {
        result = .failure(error)
      }
      try await client.shutdown()
      await sockets.stop()
      return try result.get()
    }

    func obstacle(to scenario: Scenario) -> String? {
      if scenario.isInMemoryOnly {
        return "its messages cannot be sent over a socket, or SwiftNIO does not parse them"
      }
      if scenario.usesTLS { return "the scenarios' origin does not support TLS" }
      if scenario.uses("expected_interim_responses") {
        return "AsyncHTTPClient does not deliver interim responses"
      }
      if scenario.id == "rule-content-codings" { return "the client always sends Accept-Encoding" }
      return nil
    }

    func answer(
      to request: HTTPRequest, content: [UInt8], policy: RequestCachePolicy, of scenario: Scenario,
      from cache: HTTPCache, origin: ScenarioOrigin
    ) async throws -> ScenarioReply {
      sockets.add(origin, for: scenario.id)
      let caching = CachingHTTPClient(client, cache: cache)
      var outgoing = HTTPClientRequest(
        url: "\(request.scheme ?? "http")://\(request.authority ?? "")\(request.path ?? "/")")
      outgoing.method = HTTPMethod(request.method)
      outgoing.headers = HTTPHeaders(request.headerFields)
      if !content.isEmpty { outgoing.body = .bytes(ByteBuffer(bytes: content)) }
      let response = try await caching.execute(
        outgoing, timeout: .seconds(60), options: .init(policy: policy))
      var reply = ScenarioReply(
        head: try HTTPResponse(
          HTTPResponseHead(version: .http1_1, status: response.status, headers: response.headers)),
        content: [])
      do {
        for try await buffer in response.body { reply.content += buffer.readableBytesView }
      } catch {
        reply.isWhole = false
      }
      return reply
    }
  }
#endif
