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
  /// What another process gets it as.
  let name: Name
  /// Whether the predecessor has passed it.
  private(set) var isTaken = false
  private let file: SocketFile?

  /// What two processes call a socket when one passes it to the other: its purpose and its endpoint, without what can change
  /// while the socket stays.
  struct Name: Hashable, Sendable {
    let text: String

    init(_ text: String) { self.text = text }

    init(_ purpose: CachingProxy.ListenError.Purpose, _ endpoint: ProxyConfiguration.Endpoint) {
      text = "\(purpose) \(endpoint)"
    }
  }

  /// Opens an endpoint: one socket, or those that the process has inherited.
  ///
  /// - Parameters:
  ///   - backlog: maximum connections that wait for the process in the kernel.
  ///   - reusesPort: whether other processes may listen on the same port (`SO_REUSEPORT`).
  ///   - named: the names of inherited sockets that are for other endpoints.
  ///   - predecessor: the process whose place this one takes: it may have passed the sockets.
  static func open(
    _ endpoint: ProxyConfiguration.Endpoint, _ purpose: CachingProxy.ListenError.Purpose,
    _ bootstrap: ServerBootstrap, backlog: CInt, reusesPort: Bool = false, except named: [String] = [],
    predecessor: Predecessor?
  ) async throws -> [ListeningSocket] {
    let name = Name(purpose, endpoint)
    if let given = predecessor?.take(name) {
      let file: SocketFile?
      do {
        file = if case .unix(let socket) = endpoint { try SocketFile(taking: socket) } else { nil }
      } catch {
        for descriptor in given.descriptors { closeDescriptor(descriptor) }
        throw error
      }
      return try await serve(
        given.descriptors, endpoint, name, bootstrap, backlog, file, isTaken: given.isPassed)
    }
    switch endpoint {
    case .address(let address):
      var bootstrap = bootstrap.serverChannelOption(.backlog, value: backlog)
        .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      if reusesPort {
        bootstrap = bootstrap.serverChannelOption(.socketOption(.init(rawValue: SO_REUSEPORT)), value: 1)
      }
      let channel = try await bootstrap.bind(host: address.host, port: address.port).get()
      return [ListeningSocket(channel, endpoint, name)]
    case .unix(let socket):
      let (descriptor, file) = try await SocketFile.bind(socket)
      do {
        let channel = try await serve(descriptor, bootstrap, backlog)
        return [ListeningSocket(channel: channel, endpoint: endpoint, name: name, file: file)]
      } catch {
        file.remove()
        throw error
      }
    case .inherited(let socketName):
      let descriptors = try InheritedSockets.take(socketName, except: named)
      return try await serve(descriptors, endpoint, name, bootstrap, backlog)
    }
  }

  private static func serve(
    _ descriptors: [CInt], _ endpoint: ProxyConfiguration.Endpoint, _ name: Name,
    _ bootstrap: ServerBootstrap, _ backlog: CInt, _ file: SocketFile? = nil, isTaken: Bool = false
  ) async throws -> [ListeningSocket] {
    var (descriptors, sockets) = (descriptors[...], [ListeningSocket]())
    do {
      while let descriptor = descriptors.popFirst() {
        let channel = try await serve(descriptor, bootstrap, backlog)
        var socket = ListeningSocket(channel, endpoint, name, file)
        socket.isTaken = isTaken
        sockets.append(socket)
      }
    } catch {
      for descriptor in descriptors { closeDescriptor(descriptor) }
      for socket in sockets { await socket.close() }
      throw error
    }
    return sockets
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

  private init(
    channel: any Channel, endpoint: ProxyConfiguration.Endpoint, name: Name, file: SocketFile?
  ) {
    (self.channel, self.endpoint, self.name, self.file) = (channel, endpoint, name, file)
  }

  private init(
    _ channel: any Channel, _ wanted: ProxyConfiguration.Endpoint, _ name: Name, _ file: SocketFile? = nil
  ) {
    (self.channel, self.name, self.file) = (channel, name, file)
    let address = channel.localAddress
    if file == nil, let path = address?.pathname, !path.isEmpty {
      endpoint = .unix(.init(path: path))
    } else if let host = address?.ipAddress, let port = address?.port {
      endpoint = .init(host: host, port: port)
    } else {
      endpoint = wanted
    }
  }

  /// - Parameter isPassedOn: whether another process listens on it from now on: its file stays.
  func close(isPassedOn: Bool = false) async {
    if isPassedOn {
      let channel = channel
      try? await channel.eventLoop.submit {
        channel.pipeline.fireUserInboundEventTriggered(AcceptGate.PassedOn())
      }.get()
    } else {
      file?.remove()
    }
    try? await channel.close()
  }

  /// Accepts connections, or leaves them in the kernel's queue.
  func accept(_ accepts: Bool) async { try? await channel.setOption(.autoRead, value: accepts).get() }

  /// Returns another descriptor of the socket, to close.
  func duplicate() async throws -> CInt {
    let channel = channel
    return try await channel.eventLoop.submit {
      try channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) {
        let copy = fcntl($0, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { throw IOError(errnoCode: errno, reason: "fcntl") }
        return copy
      } ?? -1
    }.get()
  }
}

// The system's function, which a member hides.
func closeDescriptor(_ descriptor: CInt) { _ = close(descriptor) }
