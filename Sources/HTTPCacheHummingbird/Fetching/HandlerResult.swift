// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching
import HTTPTypes
import Hummingbird
import NIOCore

/// The result of a handler's run, for the cache and for the client.
struct HandlerResult: Sendable {
  /// The response for the cache. Its body may be read once, and then ``original`` has no content left.
  let response: TransportResponse
  /// The response for the client, if it is not stored.
  let original: Response
  /// What the handler threw: ``response`` stands for it.
  let error: (any Error)?
  /// The fields after the content, known when it has been read.
  let trailers: HandlerContent.Trailers

  /// What the fetch gets. It goes on for the requests that wait for it, with a handler that is not cancelled.
  var reply: Result<TransportResponse, any Error> {
    error != nil && Task.isCancelled ? .failure(TransportAbandoned()) : .success(response)
  }

  /// - Throws: what the handler throws while it writes its content.
  ///
  /// - Parameter task: what the handler's task knows, for the content that it writes later.
  init(
    _ response: Response, to method: HTTPRequest.Method, _ route: RouteCache.Storage, in task: CachingTask
  ) async throws {
    try await self.init(response, to: method, route.validator, in: task, error: nil)
  }

  /// Makes the result of a response that has its validators.
  init(_ response: Response, to method: HTTPRequest.Method) async throws {
    try await self.init(response, to: method, .none, in: nil, error: nil)
  }

  /// Makes the result of a handler that threw.
  ///
  /// An `HTTPResponseError` is a response, which may be stored if it says so: a 404 with `Cache-Control`. Hummingbird
  /// responds to any other error with 500, so the cache does, too: it may then use a response with `stale-if-error`. It
  /// does not count as a disconnection, which allows more.
  init(failure error: any Error, of request: Request, _ context: some RequestContext) async {
    if let known = error as? any HTTPResponseError,
      let response = try? known.response(from: request, context: context),
      let result = try? await HandlerResult(response, to: request.method, .none, in: nil, error: error)
    {
      self = result
    } else {
      self.init(Response(status: .internalServerError), .empty, error, HandlerContent.Trailers())
    }
  }

  private init(
    _ response: Response, to method: HTTPRequest.Method, _ validator: ResponseValidator,
    in task: CachingTask?, error: (any Error)?
  ) async throws {
    let isRetrieval = method == .get || method == .head
    guard isRetrieval, let length = response.body.contentLength, length <= ContentCollector.limit else {
      // Nothing runs before it is read.
      var response = response
      if isRetrieval { validator.apply(to: &response, nil) }
      if let task { response.body = task.running(response.body) }
      let trailers = HandlerContent.Trailers()
      let content = HandlerContent(response.body, trailers)
      self.init(
        response, MessageBody(content, length: response.body.contentLength), error, trailers)
      return
    }
    let collected = try await ContentCollector.collect(response.body)
    var response = response
    let announced = response.headers[.contentLength]
    // The original content may be read only once.
    if collected.trailers != nil {
      response.body = ResponseBody(contentLength: collected.buffer.readableBytes) { writer in
        if collected.buffer.readableBytes > 0 { try await writer.write(collected.buffer) }
        try await writer.finish(collected.trailers)
      }
    } else {
      response.body =
        collected.buffer.readableBytes > 0 ? ResponseBody(byteBuffer: collected.buffer) : ResponseBody()
    }
    // A response to HEAD has the length of the response to GET.
    if method == .head { response.headers[.contentLength] = announced }
    validator.apply(to: &response, collected.buffer)
    self.init(
      response, MessageBody(Array(collected.buffer.readableBytesView)), error,
      HandlerContent.Trailers(collected.trailers))
  }

  private init(
    _ original: Response, _ body: MessageBody, _ error: (any Error)?, _ trailers: HandlerContent.Trailers
  ) {
    self.original = original
    self.error = error
    self.trailers = trailers
    response = TransportResponse(head: original.head, body: body)
  }
}

/// A handler that runs in the task of its request: only the server can cancel it.
struct HandlerWork: Cancellable {
  func cancel() {}
}
