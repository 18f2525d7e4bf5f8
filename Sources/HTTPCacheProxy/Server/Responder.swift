// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheObserving
import HTTPCaching
import HTTPTypes
import Logging
import NIOCore

/// Answers one request with the result of the cache, and passes the parts of the response to the client's connection.
struct Responder: Sendable {
  let context: ProxyContext
  let channel: any Channel
  let client: ClientRequest

  /// - Parameters:
  ///   - pending: the request, if it has begun.
  ///   - executor: runs the request to the origin.
  ///   - refusal: the origin's response to a request for another protocol, if it did not switch. The cache neither
  ///     answers such a request nor stores its response.
  func run(
    _ body: MessageBody, begun pending: PendingRequest? = nil, on executor: LoopExecutor,
    refusal: Result<TransportResponse, any Error>? = nil
  ) async {
    let call = OriginCall(context, channel, client)
    do {
      if client.request.method == .purge {
        let (response, bytes) = try await purge()
        let head = head(generated: response, length: bytes.count, Provenance(.generated))
        return write(.whole(head, MessageBody(bytes)))
      }
      var request = client.request
      if refusal != nil { request.headerFields[.cacheControl] = "no-store" }
      let response = try await context.cache.respond(
        to: request, begun: pending, body: body,
        policy: refusal == nil ? .useProtocolCachePolicy : .reloadIgnoringLocalCacheData,
        interim: call.interim, on: executor, withhold: { call.site.origin.withhold($0) }
      ) { request, body in
        if let refusal { return try refusal.get() }
        return try await call.transport(request, body)
      }
      await deliver(complete(response), call)
    } catch {
      // The connection is closed, or reports the failure itself.
      if !Task.isCancelled { fail(error) }
    }
  }

  /// Waits for the answer of an exchange that goes on in a task.
  func run(_ sent: SentRequest, _ call: OriginCall) async {
    do {
      let response = try await sent.response()
      await deliver(complete(response), call)
    } catch {
      if !Task.isCancelled { fail(error) }
    }
  }

  /// Adds what the origin is at fault for, if the cache has made the response.
  func complete(_ response: CachedResponse) -> CachedResponse {
    guard response.source == .generated, let error = Provenance(response).originError,
      let name = HTTPField.Name("Proxy-Status")
    else { return response }
    var response = response
    response.head.headerFields.append(
      HTTPField(name: name, value: "\(context.configuration.name); error=\(error.rawValue)"))
    return response
  }

  /// Answers a request with an error of the proxy.
  private func fail(_ error: any Error) {
    context.logger.debug(
      "no response", metadata: ["target": "\(client.request.path ?? "")", "error": "\(error)"])
    let (response, bytes) = GeneratedResponse.failure(error, name: context.configuration.name)
    let head = head(generated: response, length: bytes.count, Provenance(failure: error))
    write(.whole(head, MessageBody(bytes)))
  }

  private func head(
    generated response: HTTPResponse, length: Int, _ provenance: Provenance
  ) -> ResponseHead {
    ResponseHead(
      generated: response, length: length, for: client, to: client.request.method, in: client.version,
      provenance, by: context.cache)
  }

  private func head(_ response: CachedResponse) -> ResponseHead {
    ResponseHead(response, to: client.request.method, in: client.version)
  }

  /// Maximum bytes that are passed to the connection at a time: they stay in memory until the client takes them. Less
  /// while little of the budget for content in flight is free.
  static let piece = 128 << 10
  /// Maximum content of a response that is copied into the output of its connection, and does not count as content in
  /// flight. To send it apart would cost more than the copy.
  static let smallPiece = 16 << 10

  static func piece(_ context: ProxyContext) -> Int {
    context.cache.transit.chunkSize(upTo: piece)
  }

  /// Returns the head of a response that is passed to the connection with its content; `nil` if that is a stream.
  func wholeHead(_ response: CachedResponse) -> ResponseHead? {
    guard !response.body.isStream else { return nil }
    return head(response)
  }

  /// - Parameter call: the call of the origin that the response may come from, for its trailers.
  func deliver(_ response: CachedResponse, _ call: OriginCall? = nil) async {
    if let head = wholeHead(response) { return write(.whole(head, response.body)) }
    await stream(response, call)
  }

  /// Passes on the content piece by piece.
  private func stream(_ response: CachedResponse, _ call: OriginCall?) async {
    let isFromOrigin = response.source == .network
    let head = head(response)
    let unsent = UnsentHead(head)
    do {
      // Content that has already arrived goes out with the head, in one write.
      channel.eventLoop.execute { [channel] in
        if let head = unsent.take() { channel.writeAndFlush(ResponsePart.head(head), promise: nil) }
      }
      var (sent, last) = (0, ArraySlice<UInt8>())
      for try await chunk in response.body {
        sent += chunk.count
        // The client knows by the length that this is the last piece, and may send its next request at once. So the
        // piece is sent only after the content is stored, which is when the loop ends.
        if case .length(let length) = head.framing, sent >= length, last.isEmpty {
          last = chunk
        } else {
          write(unsent)
          try await send(chunk)
        }
      }
      write(unsent)
      try await send(last)
      write(.end(trailers: isFromOrigin ? call?.trailers : nil))
    } catch {
      if isFromOrigin, !Task.isCancelled { context.site(of: client).watch.failed(error) }
      // An origin may end right after its head. While nothing was sent, the client gets an error: it would repeat a request
      // with an empty reply, whatever its method.
      if unsent.take() != nil { return fail(error) }
      // The head is already sent: the proxy can only show that the content is incomplete.
      context.logger.debug(
        "response ended early", metadata: ["target": "\(client.request.path ?? "")", "error": "\(error)"])
      write(.abort)
    }
  }

  /// Sends a chunk, and waits until the client, or the kernel, has taken it. Until then it counts as content in flight,
  /// and so does the connection's copy of each piece.
  private func send(_ chunk: ArraySlice<UInt8>) async throws {
    let transit = context.cache.transit
    transit.change(by: chunk.count)
    defer { transit.change(by: -chunk.count) }
    var rest = chunk
    while !rest.isEmpty {
      let piece = rest.prefix(Self.piece(context))
      rest = rest.dropFirst(piece.count)
      transit.change(by: piece.count)
      defer { transit.change(by: -piece.count) }
      try await channel.writeAndFlush(ResponsePart.chunk(piece)).get()
    }
  }

  /// Writes a head, unless it is written; what follows flushes it.
  private func write(_ unsent: UnsentHead) {
    if let head = unsent.take() { channel.write(ResponsePart.head(head), promise: nil) }
  }

  private func write(_ part: ResponsePart) {
    channel.writeAndFlush(part, promise: nil)
  }
}

/// The head of a response until it is written: by the event loop, in its next turn, or with the first piece of the content.
private final class UnsentHead: Sendable {
  private let head: Mutex<ResponseHead?>

  init(_ head: ResponseHead) { self.head = Mutex(head) }

  func take() -> ResponseHead? {
    head.withLock { head in
      defer { head = nil }
      return head
    }
  }
}

extension Responder {
  /// Answers PURGE from a trusted client: what it selects is removed, or becomes stale; see ``Purge/init(_:)``.
  ///
  /// The client must be trusted, not only the peer: a client behind a trusted proxy is not trusted for that reason.
  ///
  /// - Throws: ``MessageFault`` if nothing was purged.
  func purge() async throws(MessageFault) -> (HTTPResponse, ArraySlice<UInt8>) {
    guard let address = client.client, context.settings.value.trustedPeers.contains(address) else {
      throw MessageFault(403, "PURGE is allowed only for trusted clients")
    }
    let purge = try Purge(client.request, makesPartitions: context.cache.makesPartitions)
    let count = await purge.run(context)
    return GeneratedResponse.text(200, String(purge.text(count, await Purge.confirm(context)).dropLast()))
  }
}
