// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// A frame of HTTP/2 as bytes (RFC 9113 §4.1).
struct WireFrame {
  var type: UInt8
  var flags: UInt8 = 0
  var stream: Int
  var payload: [UInt8]

  var bytes: [UInt8] { Self.bytes(of: payload.count) + [type, flags, 0] + Self.bytes(of: stream) + payload }

  /// A number of 24 bits.
  private static func bytes(of number: Int) -> [UInt8] {
    [16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
  }

  private static func number(of bytes: some Sequence<UInt8>) -> Int { bytes.reduce(0) { $0 << 8 | Int($1) } }

  /// SETTINGS with the window of new streams, in bytes.
  static func settings(window: Int) -> WireFrame {
    WireFrame(type: 4, stream: 0, payload: [0, 4, 0] + bytes(of: window))
  }

  /// WINDOW_UPDATE of a stream, or of the connection for 0.
  static func opening(_ stream: Int, by count: Int) -> WireFrame {
    WireFrame(type: 8, stream: stream, payload: [0] + bytes(of: count))
  }

  /// The whole frames that bytes begin with.
  static func all(in bytes: [UInt8]) -> [WireFrame] {
    var (frames, rest) = ([WireFrame](), bytes[...])
    while rest.count >= 9 {
      let header = Array(rest.prefix(9))
      let length = number(of: header[..<3])
      guard rest.count >= 9 + length else { break }
      frames.append(
        WireFrame(
          type: header[3], flags: header[4], stream: number(of: header[5...]),
          payload: Array(rest.dropFirst(9).prefix(length))))
      rest = rest.dropFirst(9 + length)
    }
    return frames
  }
}
