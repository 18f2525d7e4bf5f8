// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching
import NIOCore
import NIOPosix

/// Opens the ports of clients, and makes their connections.
struct ClientPorts: Sendable {
  let context: ProxyContext
  let connections: ConnectionTable
  let group: any EventLoopGroup
  /// The process whose place this one takes.
  var predecessor: Predecessor?

  /// Opens an endpoint.
  ///
  /// - Parameters:
  ///   - service: what its connections do with requests.
  ///   - isEncrypted: whether they use TLS.
  func open(
    _ endpoint: ProxyConfiguration.Endpoint, _ service: ClientConnection.Service, isEncrypted: Bool
  ) async throws -> [ListeningSocket] {
    // NIO sets TCP_NODELAY on the listening socket, and accepted ones inherit it.
    let bootstrap = ServerBootstrap(group: group)
      .accepting(in: connections)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture { try begin(channel, service, isEncrypted: isEncrypted) }
      }
    return try await ListeningSocket.open(
      endpoint, service == .answers ? .clients : .redirects, bootstrap, backlog: 4096,
      reusesPort: context.configuration.reusesPorts, except: context.configuration.inheritedNames,
      predecessor: predecessor)
  }

  private func begin(
    _ channel: any Channel, _ service: ClientConnection.Service, isEncrypted: Bool
  ) throws {
    let reads = ReadBuffer.current
    // Options of the bootstrap would be set one by one, each with a future: 4 µs for a connection.
    if let options = channel.syncOptions {
      try options.setOption(.autoRead, value: false)
      try options.setOption(.allowRemoteHalfClosure, value: true)
      try options.setOption(.maxMessagesPerRead, value: 1)
      try options.setOption(
        .recvAllocator,
        value: TransitReadAllocator(transit: context.cache.transit, shared: reads, first: 1 << 10))
    }
    let log = context.accessLog?.lines(of: channel.eventLoop)
    let mayBeHTTP2 = context.configuration.http2 == .always && service == .answers
    guard isEncrypted || mayBeHTTP2 || context.configuration.expectsProxyHeader else {
      let connection = ClientConnection(
        context, on: channel.eventLoop, reads: reads, isAtSocket: true, service: service, log: log)
      try channel.pipeline.syncOperations.addHandler(connection)
      connection.place = connections.add(channel, connection)
      return
    }
    let encryption = isEncrypted ? context.settings.encryption.clients : nil
    guard !isEncrypted || encryption != nil else { throw ChannelError.operationUnsupported }
    let opening = ConnectionOpening(context, encryption: encryption, service: service) {
      channel, client, service, version, isAtSocket in
      if version == .http2 {
        return try ClientHTTP2Connection.add(to: channel, context, client: client, log: log)
      }
      let connection = ClientConnection(
        context, on: channel.eventLoop, reads: reads, isAtSocket: isAtSocket, service: service,
        client: client, log: log)
      try channel.pipeline.syncOperations.addHandler(connection)
      return connection
    }
    try channel.pipeline.syncOperations.addHandler(opening)
    opening.place = connections.add(channel, opening)
  }
}
