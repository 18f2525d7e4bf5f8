// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// What two processes tell each other while one takes the place of the other.
///
/// A message is its kind (1 byte), the length of its content (4 bytes, little-endian), and the content. The successor begins;
/// numbers are little-endian, too.
enum SuccessionMessage: Hashable, Sendable {
  /// The successor's first message: the version of these messages (1 byte), and the number of its process (4 bytes).
  case hello(version: UInt8, process: Int32)
  /// A listening socket, whose descriptor comes with the message.
  case socket(String)
  /// The mark of the ``Pseudonym``. Before 0.2, processes do not send it, and ignore it.
  case pseudonym(String)
  /// The end of the sockets, and the number of the predecessor's process (4 bytes).
  case sockets(process: Int32)
  /// The predecessor cannot be replaced now, and why.
  case refused(String)
  /// The successor needs this directory.
  case release(directory: String)
  /// The predecessor does not use the directory any more.
  case released
  /// The successor is about to accept connections.
  case opening
  /// The predecessor accepts no connections as long as the successor is there.
  case paused
  /// The successor accepts connections from now on.
  case serving
  /// A removal with a number (8 bytes).
  case removal(UInt64, [UInt8])
  /// The removals up to a number (8 bytes) are applied.
  case applied(UInt64)

  /// The version of the messages.
  static let version: UInt8 = 1
  /// The length of the kind and of the length.
  static let headCount = 5
  /// Maximum bytes of content: a purge of many patterns has the most.
  static let mostContent = 16 << 20

  private var kind: UInt8 {
    switch self {
    case .hello: 1
    case .socket: 2
    case .sockets: 3
    case .refused: 4
    case .release: 5
    case .released: 6
    case .opening: 7
    case .paused: 8
    case .serving: 9
    case .removal: 10
    case .applied: 11
    case .pseudonym: 12
    }
  }

  private var content: [UInt8] {
    switch self {
    case .hello(let version, let process): [version] + Self.bytes(process)
    case .sockets(let process): Self.bytes(process)
    case .socket(let text), .refused(let text), .release(let text), .pseudonym(let text):
      Array(text.utf8)
    case .released, .opening, .paused, .serving: []
    case .removal(let number, let payload): Self.bytes(number) + payload
    case .applied(let number): Self.bytes(number)
    }
  }

  var bytes: [UInt8] {
    let content = content
    return [kind] + Self.bytes(UInt32(content.count)) + content
  }

  /// Reads the kind and the length of the content; `nil` if that is too long.
  static func head(_ bytes: some Sequence<UInt8>) -> (kind: UInt8, count: Int)? {
    let bytes = Array(bytes)
    guard bytes.count == headCount, let count = number(bytes[1...], as: UInt32.self), count <= mostContent
    else { return nil }
    return (bytes[0], Int(count))
  }

  /// Reads a message; `nil` if it is invalid.
  init?(kind: UInt8, _ content: [UInt8]) {
    switch kind {
    case 1:
      guard let version = content.first, let process = Self.number(content[1...].prefix(4), as: Int32.self)
      else { return nil }
      // A later version may say more.
      self = .hello(version: version, process: process)
    case 2: self = .socket(String(decoding: content, as: UTF8.self))
    case 3:
      guard let process = Self.number(content[...], as: Int32.self) else { return nil }
      self = .sockets(process: process)
    case 4: self = .refused(String(decoding: content, as: UTF8.self))
    case 5: self = .release(directory: String(decoding: content, as: UTF8.self))
    case 6: self = .released
    case 7: self = .opening
    case 8: self = .paused
    case 9: self = .serving
    case 10:
      guard let number = Self.number(content.prefix(8), as: UInt64.self) else { return nil }
      self = .removal(number, Array(content.dropFirst(8)))
    case 11:
      guard let number = Self.number(content[...], as: UInt64.self) else { return nil }
      self = .applied(number)
    case 12: self = .pseudonym(String(decoding: content, as: UTF8.self))
    default: return nil
    }
  }

  private static func bytes<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
    withUnsafeBytes(of: number.littleEndian) { Array($0) }
  }

  private static func number<Number: FixedWidthInteger>(
    _ bytes: ArraySlice<UInt8>, as: Number.Type
  ) -> Number? {
    guard bytes.count == Number.bitWidth / 8 else { return nil }
    return bytes.reversed().reduce(0) { $0 << 8 | Number(truncatingIfNeeded: $1) }
  }
}
