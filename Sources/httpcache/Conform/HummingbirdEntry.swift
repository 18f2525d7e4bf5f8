// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

#if Hummingbird
  import HTTPCacheHummingbird
  import HTTPCaching
  import HTTPTypes
  import Hummingbird
  import Logging
  import NIOCore

  /// Sends the requests of scenarios through a `CacheMiddleware`, to a handler that answers as their origin.
  struct HummingbirdEntry: ScenarioEntry {
    /// Scenarios about responses that say nothing about caching.
    private static let undeclared: Set = ["heuristic-tenth", "heuristic-off", "status-cacheable-by-default"]

    func obstacle(to scenario: Scenario) -> String? {
      if scenario.uses("policy") { return "a request to a server has no cache policy" }
      if scenario.uses("disconnect") { return "a handler in the same process cannot be unreachable" }
      if Self.undeclared.contains(scenario.id) {
        return "the middleware stores only what a handler declares cacheable"
      }
      if scenario.id == "parts-answer-several-ranges" {
        return "the middleware takes ranges from complete responses itself, stored or not"
      }
      if ["age-counts-from-the-request", "age-delay-without-age"].contains(scenario.id) {
        return "between a handler and the cache of its process there is no delay"
      }
      if scenario.uses("interim_responses") { return "a handler of Hummingbird returns no interim responses" }
      return nil
    }

    func answer(
      to request: HTTPRequest, content: [UInt8], policy: RequestCachePolicy, of scenario: Scenario,
      from cache: HTTPCache, origin: ScenarioOrigin
    ) async throws -> ScenarioReply {
      let responder = CachingResponder(
        Server(middleware: CacheMiddleware(cache: cache, validator: .none), origin: origin))
      var request = request
      // As a server gets it.
      if !content.isEmpty || request.method.rawValue == "QUERY" {
        request.headerFields[.contentLength] = String(content.count)
      }
      let response = try await responder.respond(
        to: Request(head: request, body: RequestBody(buffer: ByteBuffer(bytes: content))),
        context: Context(source: Context.Source()))
      let collector = Collector()
      do {
        try await response.body.write(collector)
      } catch {
        collector.isWhole = false
      }
      return ScenarioReply(
        head: response.head, content: collector.bytes, isWhole: collector.isWhole)
    }

    private struct Context: RequestContext {
      struct Source: RequestContextSource {
        let logger = Logger(label: "conform", factory: { _ in SwiftLogNoOpLogHandler() })
      }

      var coreContext: CoreRequestContextStorage

      init(source: Source) { coreContext = .init(source: source) }
    }

    /// A server of one handler behind the middleware.
    private struct Server: HTTPResponder {
      let middleware: CacheMiddleware<Context>
      let origin: ScenarioOrigin

      func respond(to request: Request, context: Context) async throws -> Response {
        try await middleware.handle(request, context: context) { request, _ in
          let content = String(buffer: try await request.body.collect(upTo: 1 << 20))
          let answer = try await origin.answer(request.head, content: content)
          let body = ResponseBody(contentLength: answer.body.length) { writer in
            for try await chunk in answer.body { try await writer.write(ByteBuffer(bytes: chunk)) }
            try await writer.finish(nil)
          }
          var response = Response(status: answer.head.status, headers: answer.head.headerFields, body: body)
          // Hummingbird adds the length of the empty content.
          if request.method == .head { response.head = answer.head }
          return response
        }
      }
    }

    private final class Collector: ResponseBodyWriter {
      var bytes: [UInt8] = []
      var isWhole = true

      func write(_ buffer: ByteBuffer) async throws { bytes += buffer.readableBytesView }
      func finish(_ trailingHeaders: HTTPFields?) async throws {}
    }
  }
#endif
