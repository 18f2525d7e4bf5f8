// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore

/// The first message of a client, as far as it chooses the certificate.
enum ClientHello {
  enum Progress: Equatable {
    case incomplete
    /// - Parameter name: what the client asks for; `nil` for nothing, or in a message that is malformed. A malformed message makes
    ///   the handshake fail.
    case complete(name: DNSName?)
  }

  /// Maximum bytes of the message. BoringSSL accepts no more.
  static let limit = 16 << 10

  /// Reads the name in the bytes that have arrived so far (RFC 6066 §3).
  static func read(_ received: ByteBuffer) -> Progress {
    var (rest, message) = (received, ByteBuffer())
    // Records may be empty.
    guard rest.readableBytes <= 2 * limit else { return .complete(name: nil) }
    while true {
      // One byte of type, and three of length (RFC 8446 §4).
      if let head = message.getInteger(at: 0, as: UInt32.self) {
        let length = Int(head & 0xFF_FFFF)
        guard head >> 24 == 1, length <= limit else { return .complete(name: nil) }
        if let body = message.getSlice(at: 4, length: length) { return .complete(name: name(in: body)) }
      }
      // A message may have several records (RFC 8446 §5.1).
      guard let type = rest.readInteger(as: UInt8.self) else { return .incomplete }
      guard type == 22 else { return .complete(name: nil) }
      guard rest.readInteger(as: UInt16.self) != nil,
        var record = rest.readLengthPrefixedSlice(as: UInt16.self)
      else { return .incomplete }
      message.writeBuffer(&record)
    }
  }

  private static func name(in body: ByteBuffer) -> DNSName? {
    var body = body
    // The version and the random bytes; then the session, the ciphers, and the compressions (RFC 8446 §4.1.2).
    guard body.readSlice(length: 34) != nil, body.readLengthPrefixedSlice(as: UInt8.self) != nil,
      body.readLengthPrefixedSlice(as: UInt16.self) != nil,
      body.readLengthPrefixedSlice(as: UInt8.self) != nil,
      var extensions = body.readLengthPrefixedSlice(as: UInt16.self)
    else { return nil }
    while let type = extensions.readInteger(as: UInt16.self),
      var content = extensions.readLengthPrefixedSlice(as: UInt16.self)
    {
      guard type == 0 else { continue }
      // Only one kind of name is defined.
      guard var names = content.readLengthPrefixedSlice(as: UInt16.self),
        names.readInteger(as: UInt8.self) == 0,
        let name = names.readLengthPrefixedSlice(as: UInt16.self)
      else { return nil }
      return DNSName(name.readableBytesView)
    }
    return nil
  }
}

#if TLS || Redis
  /// Waits for the name that a client asks for, and lets a handler do the rest of the handshake.
  final class HelloReader: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let choose: (DNSName?) -> any ChannelHandler
    private var bytes = ByteBuffer()

    /// - Parameter choose: makes the handler that takes the place of this one.
    init(_ choose: @escaping (DNSName?) -> any ChannelHandler) { self.choose = choose }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      var read = unwrapInboundIn(data)
      bytes.writeBuffer(&read)
      guard case .complete(let name) = ClientHello.read(bytes) else { return }
      do {
        try context.pipeline.syncOperations.addHandler(choose(name), position: .after(self))
      } catch {
        return context.fireErrorCaught(error)
      }
      context.fireChannelRead(wrapInboundOut(bytes))
      context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
      context.fireChannelReadComplete()
      context.read()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
      // Nothing more comes.
      if case ChannelEvent.inputClosed = event { return context.close(promise: nil) }
      context.fireUserInboundEventTriggered(event)
    }
  }
#endif
