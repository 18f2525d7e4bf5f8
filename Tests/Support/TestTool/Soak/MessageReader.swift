// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Loopback
import NIOCore

/// The first line of an HTTP/1.1 message and its fields, by lowercased name.
struct MessageHead: Sendable {
  var line: [Substring]
  var fields: [String: String] = [:]

  enum Framing: Equatable {
    case length(Int)
    case chunked, close
  }

  /// `nil` if there is none; a request has no content then, a response all until the connection ends.
  func framing() throws -> Framing? {
    switch (fields["content-length"], fields["transfer-encoding"]) {
    case (nil, nil): return nil
    case (nil, "chunked"?): return .chunked
    case (let text?, nil):
      guard let length = Int(text), length >= 0 else { throw Malformed("Content-Length \(text)") }
      return .length(length)
    default: throw Malformed("Content-Length with Transfer-Encoding, or another coding than chunked")
    }
  }
}

/// The message breaks the rules of RFC 9112.
struct Malformed: Error {
  var text: String
  init(_ text: String) { self.text = text }
}

/// The connection ended within a message.
struct BrokenOff: Error {}

/// Reads messages from a connection, strictly.
struct MessageReader {
  private var input: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator
  private var buffer = ByteBuffer()

  init(_ stream: NIOAsyncChannelInboundStream<ByteBuffer>) { input = stream.makeAsyncIterator() }

  /// Whether bytes came that belong to no message read so far.
  var hasRest: Bool { buffer.readableBytes > 0 }

  /// - Returns: `nil` if the connection ends before the first byte.
  mutating func head() async throws -> MessageHead? {
    guard let first = try await line(orEnd: true) else { return nil }
    var head = MessageHead(line: first.split(separator: " ", maxSplits: 2))
    head.fields = try await fields()
    return head
  }

  /// Reads content and gives it away in the pieces in which it comes.
  mutating func content(_ framing: MessageHead.Framing, _ take: (ByteBuffer) async throws -> Void)
    async throws
  {
    switch framing {
    case .length(let length): try await piece(length, take)
    case .chunked:
      while true {
        let text = try await line() ?? ""
        guard let size = Int(text.prefix { $0 != ";" }, radix: 16), size >= 0 else {
          throw Malformed("chunk size '\(text)'")
        }
        if size == 0 { break }
        try await piece(size, take)
        if try await line() != "" { throw Malformed("no end of line after a chunk") }
      }
      _ = try await fields()
    case .close:
      while true {
        try await take(buffer)
        buffer.clear()
        guard try await fill() else { return }
      }
    }
  }

  private mutating func piece(_ length: Int, _ take: (ByteBuffer) async throws -> Void) async throws {
    var left = length
    while left > 0 {
      if buffer.readableBytes == 0, try await !fill() { throw BrokenOff() }
      guard let some = buffer.readSlice(length: Swift.min(left, buffer.readableBytes)) else { return }
      left -= some.readableBytes
      try await take(some)
    }
  }

  private mutating func fields() async throws -> [String: String] {
    var fields: [String: String] = [:]
    while let text = try await line(), !text.isEmpty {
      guard let colon = text.firstIndex(of: ":") else { throw Malformed("field line '\(text)'") }
      let value = text[text.index(after: colon)...].drop { $0 == " " }
      let name = text[..<colon].lowercased()
      fields[name] = fields[name].map { $0 + ", " + value } ?? String(value)
    }
    return fields
  }

  private mutating func line(orEnd: Bool = false) async throws -> String? {
    while true {
      if let end = buffer.readableBytesView.firstIndex(of: 10) {
        guard let text = buffer.readString(length: end - buffer.readerIndex + 1), text.hasSuffix("\r\n")
        else {
          throw Malformed("a line without CR")
        }
        return String(text.dropLast())
      }
      if try await !fill() {
        if orEnd, buffer.readableBytes == 0 { return nil }
        throw BrokenOff()
      }
    }
  }

  /// Waits for more bytes; `false` if there will be none.
  private mutating func fill() async throws -> Bool {
    do {
      guard var next = try await input.next() else { return false }
      if buffer.readableBytes == 0 { buffer = next } else { buffer.writeBuffer(&next) }
      return true
    } catch {
      throw BrokenOff()
    }
  }
}

extension Channel {
  /// Ends the connection by a reset; what was not sent yet is lost.
  func reset() async {
    if let socket = self as? any SocketOptionProvider {
      // On, and for no seconds: the layout of `struct linger`, which belongs to a module that cannot be imported here.
      try? await socket.unsafeSetSocketOption(level: .socket, name: .so_linger, value: SIMD2<Int32>(1, 0))
        .get()
    }
    // A stream of HTTP/2 has no socket. What takes no such event fails it at once.
    triggerUserOutboundEvent(MessageBridge.Reset(), promise: nil)
    try? await close()
  }
}
