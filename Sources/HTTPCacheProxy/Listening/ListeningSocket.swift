// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore
import NIOPosix

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A socket that the proxy listens on.
struct ListeningSocket: Sendable {
  let channel: any Channel
  /// Where clients connect to: with the port that the system chose.
  let endpoint: ProxyConfiguration.Endpoint
  private let file: SocketFile?

  /// Opens an endpoint: one socket, or those that the process has inherited.
  ///
  /// - Parameter reusesPort: whether other processes may listen on the same port (`SO_REUSEPORT`).
  static func open(
    _ endpoint: ProxyConfiguration.Endpoint, _ bootstrap: ServerBootstrap, reusesPort: Bool = false
  ) async throws -> [ListeningSocket] {
    switch endpoint {
    case .address(let address):
      var bootstrap = bootstrap
      if reusesPort {
        bootstrap = bootstrap.serverChannelOption(.socketOption(.init(rawValue: SO_REUSEPORT)), value: 1)
      }
      let channel = try await bootstrap.bind(host: address.host, port: address.port).get()
      return [ListeningSocket(channel, endpoint)]
    case .unix(let socket):
      let (channel, file) = try await SocketFile.bind(socket, bootstrap)
      return [ListeningSocket(channel: channel, endpoint: endpoint, file: file)]
    case .inherited(let name):
      var sockets: [ListeningSocket] = []
      do {
        for descriptor in try InheritedSockets.take(name) {
          let channel = try await bootstrap.withBoundSocket(descriptor).get()
          sockets.append(ListeningSocket(channel, endpoint))
        }
      } catch {
        for socket in sockets { await socket.close() }
        throw error
      }
      return sockets
    }
  }

  private init(channel: any Channel, endpoint: ProxyConfiguration.Endpoint, file: SocketFile?) {
    (self.channel, self.endpoint, self.file) = (channel, endpoint, file)
  }

  private init(_ channel: any Channel, _ wanted: ProxyConfiguration.Endpoint) {
    self.channel = channel
    file = nil
    switch channel.localAddress {
    case .unixDomainSocket? where channel.localAddress?.pathname?.isEmpty == false:
      endpoint = .unix(.init(path: channel.localAddress?.pathname ?? ""))
    case .some(let address):
      endpoint = address.port.map { .init(host: address.ipAddress ?? "", port: $0) } ?? wanted
    case nil: endpoint = wanted
    }
  }

  func close() async {
    file?.remove()
    try? await channel.close()
  }
}
