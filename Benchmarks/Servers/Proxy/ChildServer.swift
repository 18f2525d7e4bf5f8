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
  /// Answers `/SIZE/FRESHNESS…` with so many bytes, and ``countPath`` with the number of requests.
  case origin

  /// What a cache may do with a response, by the second part of its path.
  enum Freshness: String, CaseIterable {
    /// For an hour.
    case fresh
    /// It must be revalidated each time: the origin answers a request that has its validator with a 304.
    case stale
    case unstored

    fileprivate var fields: String {
      switch self {
      // Without Accept-Ranges, nginx answers a range with the whole response.
      case .fresh: "Cache-Control: max-age=3600\r\nAccept-Ranges: bytes\r\n"
      // nginx stores what is stale on arrival only if it has a date in the past of its own.
      case .stale: "X-Accel-Expires: @1\r\nCache-Control: max-age=0\r\n"
      case .unstored: "Cache-Control: no-store\r\n"
      }
    }
  }

  /// The paths with the number of requests so far, and with that of 304s, as the length of the body. They are not counted.
  static let countPath = "/count"
  static let notModifiedPath = "/not-modified"

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
    private let made = Mutex<[Made: ByteBuffer]>([:])
    private let count = Atomic<Int>(0)
    private let notModified = Atomic<Int>(0)

    /// What a response depends on.
    private struct Made: Hashable {
      var size: Int
      var freshness: Freshness
      var isNotModified: Bool
    }

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
      // "GET /SIZE/FRESHNESS…"
      let target = head.drop { $0 != UInt8(ascii: "/") }.prefix { $0 != UInt8(ascii: " ") }
      let counted: Int? =
        if target.elementsEqual(ChildServer.countPath.utf8) {
          count.load(ordering: .relaxed)
        } else if target.elementsEqual(ChildServer.notModifiedPath.utf8) {
          notModified.load(ordering: .relaxed)
        } else { nil }
      if let counted { return Self.response(counted, Freshness.unstored.fields) }
      count.add(1, ordering: .relaxed)
      let size = target.dropFirst().prefix { $0 != UInt8(ascii: "/") }
        .reduce(0) { number, digit in min(1 << 26, number * 10 + Int(digit & 15)) }
      let rest = target.dropFirst().drop { $0 != UInt8(ascii: "/") }.dropFirst()
      let freshness = Freshness.allCases.first { rest.starts(with: $0.rawValue.utf8) } ?? .fresh
      let isNotModified = freshness == .stale && Self.hasValidator(head)
      if isNotModified { notModified.add(1, ordering: .relaxed) }
      let kind = Made(size: size, freshness: freshness, isNotModified: isNotModified)
      return made.withLock { made in
        if let response = made[kind] { return response }
        let fields = freshness.fields + "ETag: \"\(size)\"\r\n"
        let response =
          isNotModified
          ? ByteBuffer(string: "HTTP/1.1 304 Not Modified\r\n\(fields)\r\n") : Self.response(size, fields)
        made[kind] = response
        return response
      }
    }

    /// Whether a head has the field If-None-Match. Each server writes the name in its own case.
    private static func hasValidator(_ head: ByteBufferView) -> Bool {
      let name = Array("\r\nif-none-match:".utf8)
      return head.indices.dropLast(name.count).contains { start in
        head[start] == name[0] && zip(head[start...], name).allSatisfy { $0 | 0x20 == $1 | 0x20 }
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
