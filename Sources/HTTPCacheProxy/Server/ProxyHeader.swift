// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore

/// The header in which a proxy in front names the client of the connection: the PROXY protocol of HAProxy, versions 1
/// and 2.
///
/// Only trusted peers may send it, and they must: a connection from any other peer, or without a header, is closed.
/// Otherwise a peer could take any identity, with a forged header or without one.
enum ProxyHeader {
  enum Result: Equatable {
    case incomplete
    /// - Parameter length: the number of bytes of the header.
    case complete(Sender, length: Int)
  }

  /// The sender of the connection.
  enum Sender: Equatable {
    /// The peer itself, for its health checks.
    case peer
    /// A client.
    case client(IPAddress)
    /// A client that the peer does not name. It is not the peer, and has none of the peer's rights.
    case unknown
  }

  /// Maximum bytes of a header. Version 1 allows 107. Version 2 allows 64 KiB of extensions, which this proxy ignores;
  /// real proxies send a few hundred bytes.
  static let limit = (line: 107, binary: 4096)

  private static let signature: [UInt8] = [
    0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A,
  ]

  /// Reads the header at the beginning of a connection.
  static func parse(_ bytes: ByteBufferView) throws(MessageFault) -> Result {
    if bytes.first == signature.first { return try parseBinary(Array(bytes.prefix(limit.binary))) }
    return try parseLine(bytes.prefix(limit.line))
  }

  /// Version 1: `PROXY TCP4 192.0.2.1 192.0.2.2 4711 80`, and CRLF.
  private static func parseLine(_ bytes: ByteBufferView) throws(MessageFault) -> Result {
    guard bytes.prefix(6).elementsEqual("PROXY ".utf8.prefix(bytes.count)) else {
      throw MessageFault("the connection does not begin with a PROXY header")
    }
    guard let end = bytes.firstIndex(of: 0x0A) else {
      guard bytes.count < limit.line else { throw MessageFault("the PROXY header is too long") }
      return .incomplete
    }
    let line = bytes[..<end]
    guard line.last == 0x0D else { throw MessageFault("the PROXY header ends with LF alone") }
    let length = line.count + 1
    let words = String(decoding: line.dropLast(), as: UTF8.self)
      .split(separator: " ", omittingEmptySubsequences: false)
    // The rest is ignored.
    if words.count >= 2, words[1] == "UNKNOWN" { return .complete(.unknown, length: length) }
    guard words.count == 6, words[1] == "TCP4" || words[1] == "TCP6", let source = IPAddress(words[2]),
      let destination = IPAddress(words[3]), source.isIPv6 == (words[1] == "TCP6"),
      destination.isIPv6 == source.isIPv6, isPort(words[4]), isPort(words[5])
    else { throw MessageFault("the PROXY header is malformed") }
    return .complete(.client(source.unmapped), length: length)
  }

  private static func isPort(_ text: Substring) -> Bool {
    (1...5).contains(text.utf8.count) && text.utf8.allSatisfy { $0 >= 0x30 && $0 <= 0x39 }
      && (Int(text) ?? .max) <= 65_535
  }

  /// Version 2: a signature, version and command, family, length, addresses, extensions.
  private static func parseBinary(_ bytes: [UInt8]) throws(MessageFault) -> Result {
    guard bytes.prefix(12).elementsEqual(signature.prefix(bytes.count)) else {
      throw MessageFault("the connection does not begin with a PROXY header")
    }
    guard bytes.count >= 16 else { return .incomplete }
    let (command, family) = (bytes[12], bytes[13])
    let length = 16 + Int(bytes[14]) << 8 + Int(bytes[15])
    guard command == 0x20 || command == 0x21 else {
      throw MessageFault("the PROXY header has an unknown version or command")
    }
    guard length <= limit.binary else { throw MessageFault("the PROXY header is too long") }
    guard bytes.count >= length else { return .incomplete }
    // LOCAL: the peer sends for itself, for example its health checks. All other data is skipped.
    if command == 0x20 { return .complete(.peer, length: length) }
    func number(_ range: Range<Int>) -> UInt64 { bytes[range].reduce(0) { $0 << 8 | UInt64($1) } }
    switch family {
    case 0x11 where length >= 28:
      let source = IPAddress(isIPv6: false, high: 0, low: number(16..<20))
      return .complete(.client(source), length: length)
    case 0x21 where length >= 52:
      let source = IPAddress(isIPv6: true, high: number(16..<24), low: number(24..<32))
      return .complete(.client(source.unmapped), length: length)
    // The peer does not know the family, or it is a socket on its machine.
    case 0x00, 0x31: return .complete(.unknown, length: length)
    default: throw MessageFault("the PROXY header is malformed")
    }
  }
}
