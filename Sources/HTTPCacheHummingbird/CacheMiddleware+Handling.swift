// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCaching
import HTTPTypes
import Hummingbird
import Logging

extension CacheMiddleware {
  typealias Next = (Request, Context) async throws -> Response

  /// Answers a request that memory cannot answer at once.
  ///
  /// `next` may be called only here, in the task of the request, because it is neither escaping nor `Sendable`. So the
  /// handler runs here at once if the request waits for nothing else. Otherwise the cache sends the request from a task of
  /// its own, and this task serves the ``HandlerDesk`` until the cache has an answer.
  func fetch(
    _ request: Request, _ head: HTTPRequest, _ pending: PendingRequest, _ content: MessageBody,
    _ context: Context, _ partition: String?, _ task: CachingTask?, _ next: Next
  ) async throws -> Response {
    let desk = HandlerDesk()
    let route = RouteCache.Storage(cache, head, partition, validator, within: task?.route)
    let origin = LocalOrigin(background: task?.entrance.map { background(of: request.head, through: $0) })
    let handler: Transport = { [tracer = cache.tracer] in try await desk.run($0, $1, traced: tracer?.context)
    }
    if let sent = cache.exchange(
      for: pending, body: content, work: HandlerWork(), from: origin, transport: handler)
    {
      // If no other request waits, the next one does not wait for this handler, which may not notice the cancellation.
      let result = await withTaskCancellationHandler {
        await run(sent.forwarded, body: RequestBody(content) ?? request.body, context, route, next)
      } onCancel: {
        sent.leave()
      }
      switch sent.finish(result.reply) {
      case .answer(let response): return try self.response(response, result, to: head, context)
      case .pending:
        return try await response(to: request, head, context, route, next, from: desk, after: result) {
          try await sent.response()
        }
      case .done:
        desk.close()
        throw CancellationError()
      }
    }
    return try await response(to: request, head, context, route, next, from: desk) { [cache, pending] in
      try await cache.respond(
        to: head, begun: pending, body: content, partition: partition, from: origin, handler: handler)
    }
  }

  /// Makes the transport of background revalidations of a request.
  private func background(
    of head: HTTPRequest, through entrance: @escaping CachingTask.Entrance
  ) -> Transport {
    // Not the request, whose content it would keep.
    BackgroundRun.transport(for: cache) { [client = (head.scheme, head.authority)] in
      // The middlewares before this one see the host that the client has named.
      var head = $0.head
      (head.scheme, head.authority) = client
      return try await entrance(Request(head: head, body: $0.body))
    }
  }

  /// Runs the handler for each ask of the cache, until it has an answer.
  ///
  /// - Parameter result: the result of the handler's latest run, if it has run.
  private func response(
    to request: Request, _ head: HTTPRequest, _ context: Context, _ route: RouteCache.Storage, _ next: Next,
    from desk: HandlerDesk, after result: HandlerResult? = nil,
    _ answer: @escaping @Sendable () async throws -> CachedResponse
  ) async throws -> Response {
    async let answer = {
      // No ask comes after the answer, except from a fetch whose leader was cancelled: it is refused.
      defer { desk.close() }
      return try await answer()
    }()
    var result = result
    while let ask = await desk.next() {
      // The spans of the handler are parts of the fetch, whose task waits for it.
      let latest = await inContext(ask.traced) {
        await run(ask.head, body: RequestBody(ask.content) ?? request.body, context, route, next)
      }
      ask.reply(latest.reply)
      result = latest
    }
    return try self.response(await answer, result, to: head, context)
  }

  /// Makes the client's response.
  ///
  /// - Parameter result: the result of the handler, if it has run.
  private func response(
    _ response: CachedResponse, _ result: HandlerResult?, to head: HTTPRequest, _ context: Context
  ) throws -> Response {
    guard let result, response.isPassedThrough else {
      if let error = result?.error {
        context.logger.debug(
          "served a stored response instead of an error", metadata: ["error": "\(error)"])
      }
      if let part = cache.selection(of: response, for: head) {
        // The content is read to its end all the same, so that it is stored.
        if !response.body.isInMemory { Task { for try await _ in response.body {} } }
        return Response(part, to: head.method)
      }
      let trailers = response.source == .network ? result?.trailers : nil
      return Response(response, to: head.method, trailers: trailers)
    }
    if let error = result.error { throw error }
    return passThrough(response, result, to: head)
  }

  /// Answers a background revalidation that has come through the middlewares before this one, with a response without
  /// content: the cache has the content.
  func revalidate(
    _ run: BackgroundRun, _ request: Request, _ head: HTTPRequest, _ context: Context, _ partition: String?,
    _ next: Next
  ) async throws -> Response {
    let route = RouteCache.Storage(cache, head, partition, validator, within: nil)
    let result = await self.run(head, body: request.body, context, route, next)
    run.finish(result.response)
    if let error = result.error { throw error }
    return Response(status: result.response.head.status, headers: result.response.head.headerFields)
      .withoutLength()
  }

  /// Runs the handler, and the middlewares behind this one.
  private func run(
    _ head: HTTPRequest, body: RequestBody, _ context: Context, _ route: RouteCache.Storage, _ next: Next
  ) async -> HandlerResult {
    let request = Request(head: head, body: body)
    var task = CachingTask.current ?? CachingTask()
    task.route = route
    do {
      return try await CachingTask.$current.withValue(task) {
        var response = try await next(request, context)
        response.settleCacheControl(declared: route.declaration)
        return try await HandlerResult(response, to: head.method, route, in: task)
      }
    } catch {
      if let result = await resultOfGet(request, context, task) { return result }
      return await HandlerResult(failure: error, of: request, context)
    }
  }

  /// Runs the handler for GET in the place of the one for HEAD, if the path has none (RFC 9110 §9.3.2): a stored response to
  /// GET would also answer.
  ///
  /// - Returns: `nil` if the path has a route for HEAD, or none for GET.
  private func resultOfGet(_ request: Request, _ context: Context, _ task: CachingTask) async
    -> HandlerResult?
  {
    // Hummingbird's router says so in the context.
    guard request.method == .head, context.endpointPath == "NotFound", let entrance = task.entrance else {
      return nil
    }
    var head = request.head
    head.method = .get
    // Only GET has ranges (§14.2).
    head.headerFields[.range] = nil
    let run = BackgroundRun.transport(for: cache, through: entrance)
    guard let response = try? await run(head, .empty), response.head.status != .notFound else { return nil }
    var answer = Response(status: response.head.status, headers: response.head.headerFields)
    if !response.head.headerFields.contains(.contentLength) { answer = answer.withoutLength() }
    return try? await HandlerResult(answer, to: .head)
  }

  private func inContext<Result>(_ traced: (any Sendable)?, _ work: () async -> Result) async -> Result {
    guard let traced, let tracer = cache.tracer else { return await work() }
    return await tracer.run(in: traced, work)
  }

  /// Returns the handler's own response, which is not stored, with the fields of the cache.
  private func passThrough(
    _ response: CachedResponse, _ result: HandlerResult, to request: HTTPRequest
  ) -> Response {
    var response = response
    response.body = result.response.body
    if let part = cache.selection(of: response, for: request) { return Response(part, to: request.method) }
    var own = result.original
    own.head = response.head
    own.headers.removeOwnCacheControl()
    if request.method == .head, own.status != .notModified, own.status != .noContent,
      !own.headers.contains(.contentLength)
    {
      // As in the routes for HEAD that Hummingbird generates: without a length, SwiftNIO would write a last chunk.
      own.headers[.contentLength] = "0"
    }
    return own
  }
}
