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
  /// - Parameters:
  ///   - backlog: maximum connections that wait for the process in the kernel.
  ///   - reusesPort: whether other processes may listen on the same port (`SO_REUSEPORT`).
  ///   - named: the names of inherited sockets that are for other endpoints.
  static func open(
    _ endpoint: ProxyConfiguration.Endpoint, _ bootstrap: ServerBootstrap, backlog: CInt,
    reusesPort: Bool = false, except named: [String] = []
  ) async throws -> [ListeningSocket] {
    switch endpoint {
    case .address(let address):
      var bootstrap = bootstrap.serverChannelOption(.backlog, value: backlog)
        .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      if reusesPort {
        bootstrap = bootstrap.serverChannelOption(.socketOption(.init(rawValue: SO_REUSEPORT)), value: 1)
      }
      let channel = try await bootstrap.bind(host: address.host, port: address.port).get()
      return [ListeningSocket(channel, endpoint)]
    case .unix(let socket):
      let (descriptor, file) = try await SocketFile.bind(socket)
      do {
        let channel = try await serve(descriptor, bootstrap, backlog)
        return [ListeningSocket(channel: channel, endpoint: endpoint, file: file)]
      } catch {
        file.remove()
        throw error
      }
    case .inherited(let name):
      var descriptors = try InheritedSockets.take(name, except: named)[...]
      var sockets: [ListeningSocket] = []
      do {
        while let descriptor = descriptors.popFirst() {
          sockets.append(ListeningSocket(try await serve(descriptor, bootstrap, backlog), endpoint))
        }
      } catch {
        for descriptor in descriptors { _ = closeDescriptor(descriptor) }
        for socket in sockets { await socket.close() }
        throw error
      }
      return sockets
    }
  }

  private static func serve(
    _ descriptor: CInt, _ bootstrap: ServerBootstrap, _ backlog: CInt
  ) async throws -> any Channel {
    let channel = try await bootstrap.withBoundSocket(descriptor).get()
    // For a socket that it has not made, NIO sets a queue of 128.
    guard listen(descriptor, backlog) == 0 else {
      let error = IOError(errnoCode: errno, reason: "listen")
      try? await channel.close()
      throw error
    }
    return channel
  }

  private init(channel: any Channel, endpoint: ProxyConfiguration.Endpoint, file: SocketFile?) {
    (self.channel, self.endpoint, self.file) = (channel, endpoint, file)
  }

  private init(_ channel: any Channel, _ wanted: ProxyConfiguration.Endpoint) {
    self.channel = channel
    file = nil
    let address = channel.localAddress
    if let path = address?.pathname, !path.isEmpty {
      endpoint = .unix(.init(path: path))
    } else if let host = address?.ipAddress, let port = address?.port {
      endpoint = .init(host: host, port: port)
    } else {
      endpoint = wanted
    }
  }

  func close() async {
    file?.remove()
    try? await channel.close()
  }
}

// The system's function, which a member hides.
private func closeDescriptor(_ descriptor: CInt) -> CInt { close(descriptor) }
