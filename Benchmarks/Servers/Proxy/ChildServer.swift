// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Foundation
import NIOCore
import NIOPosix

/// The servers that `proxy` starts as child processes: the origin, and the yardstick that caches nothing.
enum ChildServer {
  /// Answers any request with one constant response.
  case constant(bodyBytes: Int, closes: Bool)
  /// Answers `/SIZE/…` with so many bytes, fresh for an hour, and ``countPath`` with the number of requests.
  case origin

  /// The path with the number of requests so far, as the length of the body. It is not counted.
  static let countPath = "/count"

  /// Serves until standard input is closed: then the parent has closed it, or has ended.
  func run(port: Int, threads: Int) throws {
    let group = MultiThreadedEventLoopGroup(numberOfThreads: threads)
    let answers = Answers(self)
    let channel = try ServerBootstrap(group: group)
      .serverChannelOption(.backlog, value: 4096)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelOption(.socketOption(.tcp_nodelay), value: 1)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(Connection(answers))
        }
      }
      .bind(host: "127.0.0.1", port: port).wait()
    _ = try? FileHandle.standardInput.readToEnd()
    try channel.close().wait()
    try group.syncShutdownGracefully()
  }

  /// The responses, made in advance.
  private final class Answers: Sendable {
    let isOrigin: Bool
    let closes: Bool
    private let constant: ByteBuffer
    private let bySize = Mutex<[Int: ByteBuffer]>([:])
    private let count = Atomic<Int>(0)

    init(_ server: ChildServer) {
      switch server {
      case .origin: (isOrigin, closes, constant) = (true, false, ByteBuffer())
      case .constant(let bodyBytes, let closes):
        (isOrigin, self.closes) = (false, closes)
        constant = Self.response(bodyBytes, closes ? "Connection: close\r\n" : "")
      }
    }

    /// Returns the response to a request with this head.
    func answer(_ head: ByteBufferView) -> ByteBuffer {
      guard isOrigin else { return constant }
      // "GET /SIZE/…"
      let target = head.drop { $0 != UInt8(ascii: "/") }.prefix { $0 != UInt8(ascii: " ") }
      guard !target.elementsEqual(ChildServer.countPath.utf8) else {
        return Self.response(count.load(ordering: .relaxed), "Cache-Control: no-store\r\n")
      }
      count.add(1, ordering: .relaxed)
      let size = target.dropFirst().prefix { $0 != UInt8(ascii: "/") }
        .reduce(0) { number, digit in min(1 << 26, number * 10 + Int(digit & 15)) }
      return bySize.withLock { known in
        if let response = known[size] { return response }
        let fields = "Cache-Control: max-age=3600\r\nETag: \"\(size)\"\r\n"
        let response = Self.response(size, fields)
        known[size] = response
        return response
      }
    }

    private static func response(_ bodyBytes: Int, _ fields: String) -> ByteBuffer {
      var buffer = ByteBuffer(
        string: "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\(fields)Content-Length: \(bodyBytes)\r\n\r\n"
      )
      buffer.writeRepeatingByte(UInt8(ascii: "x"), count: bodyBytes)
      return buffer
    }
  }

  /// A connection. It finds the end of a head, and parses nothing else. A request has no content, and the next request
  /// comes after the response.
  private final class Connection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let answers: Answers
    private var unread: ByteBuffer?

    init(_ answers: Answers) { self.answers = answers }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      var buffer = unwrapInboundIn(data)
      if var earlier = unread {
        earlier.writeBuffer(&buffer)
        buffer = earlier
      }
      let view = buffer.readableBytesView
      guard view.suffix(4).elementsEqual("\r\n\r\n".utf8) else {
        unread = buffer
        return
      }
      unread = nil
      context.writeAndFlush(wrapOutboundOut(answers.answer(view)), promise: nil)
      if answers.closes { context.close(promise: nil) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
  }
}
