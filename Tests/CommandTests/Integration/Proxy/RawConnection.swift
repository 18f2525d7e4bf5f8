// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore
import NIOPosix

/// A client's connection that sends the bytes it is told, and reads until the other side closes.
struct RawConnection {
  private let channel: NIOAsyncChannel<ByteBuffer, ByteBuffer>

  static func connect(to port: Int) async throws -> RawConnection {
    let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .channelOption(.allowRemoteHalfClosure, value: true)
      .connect(host: "127.0.0.1", port: port) { channel in
        channel.eventLoop.makeCompletedFuture {
          try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
        }
      }
    return RawConnection(channel: channel)
  }

  /// - Parameter sent: called when the request is on its way.
  func exchange(_ text: String, sent: () async throws -> Void = {}) async throws -> String {
    try await channel.executeThenClose { inbound, outbound in
      try await outbound.write(ByteBuffer(string: text))
      try await sent()
      var received = ""
      var input = inbound.makeAsyncIterator()
      while let next = try? await input.next() { received += String(buffer: next) }
      return received
    }
  }
}

/// Where a proxy serves.
struct ProxyPorts {
  var listen: Int
  var admin: Int?

  /// Reads the line that the proxy logs when it serves.
  init?(_ line: String) {
    func port(_ name: String) -> Int? {
      guard let start = line.firstRange(of: " \(name)=") else { return nil }
      let address = line[start.upperBound...].prefix { $0 != " " }
      return address.split(separator: ":").last.flatMap { Int($0) }
    }
    guard let listen = port("listen") else { return nil }
    self.listen = listen
    admin = port("admin")
  }

  func get(_ path: String = "/", _ fields: String = "") async throws -> String {
    try await Self.send("GET", path, fields, to: listen)
  }

  func ask(_ path: String) async throws -> String {
    try await Self.send("GET", path, "", to: admin ?? 0)
  }

  static func send(_ method: String, _ path: String, _ fields: String, to port: Int) async throws -> String {
    try await RawConnection.connect(to: port).exchange(
      "\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\(fields)\r\n")
  }
}

extension CommandProcess {
  /// The ports of a proxy, once it serves.
  func ports() async throws -> ProxyPorts {
    let line = try await says(" serving")
    guard let ports = ProxyPorts(line) else { throw Silence(text: "listen=", errors: line) }
    return ports
  }
}
