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
  /// `next` may be called only here, in the task of the request, because it is neither escaping nor `Sendable`. The
  /// cache sends requests from tasks of its own. So this task serves the ``HandlerDesk`` until the cache has an answer.
  func fetch(
    _ request: Request, _ head: HTTPRequest, begun pending: PendingRequest?, _ content: MessageBody,
    _ context: Context, _ partition: String?, _ task: CachingTask?, _ next: Next
  ) async throws -> Response {
    let desk = HandlerDesk()
    let route = RouteCache.Storage(cache, head, partition, validator, within: task?.route)
    let background = task?.entrance.map { BackgroundRun.transport(for: cache, through: $0) }
    async let answer = {
      // No ask comes after the answer, except from a fetch whose leader was cancelled: it is refused.
      defer { desk.close() }
      return try await cache.respond(
        to: head, begun: pending, body: content, partition: partition,
        from: LocalOrigin(background: background)
      ) { try await desk.run($0, $1) }
    }()
    var result: HandlerResult?
    while let ask = await desk.next() {
      let latest = await run(
        ask.head, body: RequestBody(ask.content) ?? request.body, context, route, next)
      // The fetch goes on for the requests that wait for it, with a handler that is not cancelled.
      ask.reply(
        latest.error != nil && Task.isCancelled ? .failure(TransportAbandoned()) : .success(latest.response))
      result = latest
    }
    let response = try await answer
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
        try await HandlerResult(next(request, context), to: head.method, route, in: task)
      }
    } catch {
      return await HandlerResult(failure: error, of: request, context)
    }
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
    return own
  }
}
