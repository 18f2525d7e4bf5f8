// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheObserving
import HTTPCaching
import HTTPTypes
import NIOCore

/// Requests for another protocol (RFC 9110 §7.8), which bypass the cache.
///
/// Bytes from the client after the request go to the origin only after the origin has switched. An origin that does not
/// switch would read them as further requests, which this proxy has not seen. If the origin refuses, the connection
/// ends with its response: bytes that the client has already sent are not a request either.
extension ClientConnection {
  func switchProtocols(_ head: HTTPResponse, _ origin: OriginConnection.Handle) throws {
    guard let context = channelContext, context.channel.isActive, current != nil,
      let rest = origin.connection.value.takeOver()
    else { throw ChannelError.ioOnClosedChannel }
    _ = prepare(
      ResponseHead(
        head, to: .get, in: .http11, isStored: false, length: nil, Provenance(.network)))
    machine.switchedProtocols()
    self.context.statistics.upgrades.increment()
    timer?.cancel()
    timer = nil
    let (client, server) = Tunnel.ends(timeouts, self.context.statistics, at: now) { [weak self] count in
      // For the log of the request at its end.
      self?.machine.tunnelEnded(sent: count)
    }
    try context.pipeline.syncOperations.addHandler(client, position: .before(self))
    try origin.channel.pipeline.syncOperations.addHandler(server, position: .before(origin.connection.value))
    writer.writeInterim(head, keepsUpgrade: true, to: &output.bytes)
    send(context, nil)
    flush(context)
    server.write(inbound)
    client.write(rest.bytes)
    inbound = ByteBuffer()
    client.flush()
    server.flush()
    if machine.inputIsClosed { client.closeInput() }
    if rest.isEnded { server.closeInput() }
    client.readOn()
    server.readOn()
  }
}

extension Responder {
  func upgrade(
    _ handler: NIOLoopBound<any ClientHandler>, to protocols: String, on executor: LoopExecutor
  ) async {
    let call = OriginCall(context, channel, client)
    do {
      let result = try await call.site.watch.observe {
        try await call.site.origin.upgrade(context.cache.uncached(client.request), to: protocols, call)
      }
      switch result {
      case .switched(let head, let origin):
        do {
          try await channel.eventLoop.submit { try handler.value.switchProtocols(head, origin) }.get()
        } catch {
          // The connection to the client, or to the origin, has ended.
          origin.reference.close()
          channel.close(promise: nil)
        }
      case .refused(let response): await run(.empty, on: executor, refusal: .success(response))
      }
    } catch {
      // The client has left.
      guard !Task.isCancelled else { return }
      await run(.empty, on: executor, refusal: .failure(error))
    }
  }
}
