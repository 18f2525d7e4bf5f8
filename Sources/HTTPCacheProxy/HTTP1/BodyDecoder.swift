// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes
import NIOCore

/// Extracts the content from the bytes of a connection (RFC 9112 §6, §7).
struct BodyDecoder {
  enum Event {
    case data(ByteBuffer)
    /// The content is complete; the rest of the buffer belongs to the next message.
    case end(trailers: HTTPFields?)
  }

  private enum State {
    case none
    case counted(Int)
    case untilClose
    case chunkSize
    case chunkData(Int)
    case chunkEnd
    case trailers
    case ended
  }

  private var state: State
  private var trailers: HeadReader
  /// The maximum length of a size line, which must be in the buffer as a whole; chunks themselves may arrive in pieces.
  private static let longestSizeLine = 1024

  init(_ framing: Framing, limits: ProxyConfiguration.HeadLimits, isResponse: Bool) {
    trailers = HeadReader(limits: limits, isResponse: isResponse)
    state =
      switch framing {
      case .none: .none
      case .length(let count): count == 0 ? .none : .counted(count)
      case .chunked: .chunkSize
      case .untilClose: .untilClose
      }
  }

  /// Returns the next event; `nil` until more bytes arrive.
  mutating func next(from buffer: inout ByteBuffer) throws(MessageFault) -> Event? {
    while true {
      switch state {
      case .none:
        state = .ended
        return .end(trailers: nil)
      case .ended: return nil
      case .untilClose: return take(buffer.readableBytes, from: &buffer)
      case .counted(let left):
        guard let data = take(left, from: &buffer) else { return nil }
        if case .data(let bytes) = data {
          state = bytes.readableBytes == left ? .none : .counted(left - bytes.readableBytes)
        }
        return data
      case .chunkSize:
        guard let size = try chunkSize(from: &buffer) else { return nil }
        state = size == 0 ? .trailers : .chunkData(size)
      case .chunkData(let left):
        guard let data = take(left, from: &buffer) else { return nil }
        if case .data(let bytes) = data {
          state = bytes.readableBytes == left ? .chunkEnd : .chunkData(left - bytes.readableBytes)
        }
        return data
      case .chunkEnd:
        guard let end = buffer.getInteger(at: buffer.readerIndex, as: UInt16.self) else { return nil }
        guard end == 0x0D0A else { throw MessageFault("a chunk is longer than its size (RFC 9112 §7.1)") }
        buffer.moveReaderIndex(forwardBy: 2)
        state = .chunkSize
      case .trailers:
        guard let length = try trailers.findEnd(in: buffer) else { return nil }
        let fields = try Self.fields(trailers, length, &buffer)
        state = .ended
        return .end(trailers: fields.isEmpty ? nil : fields)
      }
    }
  }

  private func take(_ most: Int, from buffer: inout ByteBuffer) -> Event? {
    guard buffer.readableBytes > 0,
      let data = buffer.readSlice(length: Swift.min(most, buffer.readableBytes))
    else { return nil }
    return .data(data)
  }

  private static func fields(
    _ reader: HeadReader, _ length: Int, _ buffer: inout ByteBuffer
  ) throws(MessageFault) -> HTTPFields {
    var fields = HTTPFields()
    guard let section = buffer.readSlice(length: length) else { return fields }
    try reader.readLines(section) { line throws(MessageFault) in fields.append(try reader.field(line).field) }
    return fields
  }

  /// §7.1: `1*HEXDIG [chunk-ext] CRLF`. Extensions are ignored, and not forwarded (§7.1.1).
  ///
  /// Some origins pad the size with blanks. In a request they are refused: servers differ in what they make of them.
  private func chunkSize(from buffer: inout ByteBuffer) throws(MessageFault) -> Int? {
    let view = buffer.readableBytesView
    var size = 0
    var digits = 0
    var index = view.startIndex
    while index < view.endIndex, let digit = Self.hexadecimal(view[index]) {
      digits += 1
      if digits > 15 { throw MessageFault("a chunk is too large") }
      size = size << 4 | digit
      index += 1
    }
    if digits == 0, index < view.endIndex {
      throw MessageFault("the size of a chunk is not a number (RFC 9112 §7.1)")
    }
    let sizeEnd = index
    var isExtension = false
    while index < view.endIndex {
      let byte = view[index]
      if byte == 0x0D {
        guard index + 1 < view.endIndex else { break }
        guard view[index + 1] == 0x0A else {
          throw MessageFault("a bare CR follows the size of a chunk")
        }
        guard trailers.isResponse || isExtension || index == sizeEnd else {
          throw MessageFault("blanks follow the size of a chunk (RFC 9112 §7.1)")
        }
        buffer.moveReaderIndex(forwardBy: index + 2 - view.startIndex)
        return size
      }
      if byte == 0x3B { isExtension = true }
      let isSpace = byte == 0x20 || byte == 0x09
      guard isSpace || (isExtension && byte >= 0x20 && byte != 0x7F) else {
        throw MessageFault("the size of a chunk is not a number (RFC 9112 §7.1)")
      }
      index += 1
    }
    if view.count > Self.longestSizeLine {
      throw MessageFault("a chunk's extensions are too long (RFC 9112 §7.1.1)")
    }
    return nil
  }

  private static func hexadecimal(_ byte: UInt8) -> Int? {
    switch byte {
    case 0x30...0x39: Int(byte - 0x30)
    case 0x41...0x46: Int(byte - 0x41 + 10)
    case 0x61...0x66: Int(byte - 0x61 + 10)
    default: nil
    }
  }
}
