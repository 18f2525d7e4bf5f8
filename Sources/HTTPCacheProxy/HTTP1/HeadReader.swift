// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPTypes
import NIOCore

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Reads the head of a message, or its trailer section (RFC 9112 §2-§5).
///
/// The proxy has its own parser for its clients and the origin. NIOHTTP1 serves the admin port well, but is not used
/// here, for four reasons:
///
/// - Smuggling. An ambiguous message is refused: a bare CR or LF, folded lines, white space before a colon, a space in
///   a target, two lengths, a length together with a transfer coding (see ``Framing``). This is decided here, not by
///   the version of a library. A client gets a status and a reason, and the access log gets the received bytes;
///   NIOHTTP1 only reports an error.
/// - Fidelity. A proxy forwards what it does not know: any method that is a token, and field values byte by byte.
///   NIOHTTP1 knows a list of methods, and converts values to UTF-8.
/// - Cost. Bytes become `HTTPFields` in one step. A known name (``FieldNames``) needs no string, and a hit is answered
///   in the turn that read it. NIOHTTP1 makes two strings of each field, boxes each part of a message, and sends it
///   through the pipeline.
/// - Limits. The limits of lines, heads and fields can be set, and apply while the head still arrives.
///
/// Unsafe pointers are needed for `memchr` and for byte runs without copies; none leaves this file.
struct HeadReader {
  var limits: ProxyConfiguration.HeadLimits
  /// Whether this is a response: white space before a colon is removed there (RFC 9112 §5.1).
  var isResponse: Bool
  /// The part of the buffer that was already searched without success.
  private var scanned = 0
  private var lines = 0

  init(limits: ProxyConfiguration.HeadLimits, isResponse: Bool) {
    self.limits = limits
    self.isResponse = isResponse
  }

  /// Returns the length of the head with the empty line at its end, once it has arrived.
  mutating func findEnd(in buffer: ByteBuffer) throws(MessageFault) -> Int? {
    let result: Result<Int?, MessageFault> = buffer.withUnsafeReadableBytes { bytes in
      guard let base = bytes.baseAddress else { return .success(nil) }
      while scanned < bytes.count {
        guard let found = memchr(base + scanned, 0x0A, bytes.count - scanned) else {
          return bytes.count - scanned > limits.lineBytes ? .failure(tooLong) : check(bytes.count)
        }
        let end = UnsafeRawPointer(found) - base
        guard end > 0, bytes[end - 1] == 0x0D else {
          return .failure(MessageFault("a line ends with LF alone (RFC 9112 §2.2)"))
        }
        if end - 1 - scanned > limits.lineBytes { return .failure(tooLong) }
        let isEmpty = end - 1 == scanned
        scanned = end + 1
        if isEmpty { return check(scanned).map { _ in scanned } }
        lines += 1
        if lines > limits.fields + 1 {
          return .failure(MessageFault(431, "the head has more than \(limits.fields) fields"))
        }
      }
      return check(bytes.count)
    }
    return try result.get()
  }

  /// Prepares for the next head.
  mutating func reset() {
    scanned = 0
    lines = 0
  }

  private var tooLong: MessageFault {
    lines == 0 && !isResponse
      ? MessageFault(414, "the request line has more than \(limits.lineBytes) bytes")
      : MessageFault(431, "a field has more than \(limits.lineBytes) bytes")
  }

  private func check(_ count: Int) -> Result<Int?, MessageFault> {
    count > limits.headBytes
      ? .failure(MessageFault(431, "the head has more than \(limits.headBytes) bytes")) : .success(nil)
  }

  // MARK: - Start lines

  struct RequestLine {
    var method: HTTPRequest.Method
    var target: String
    /// Whether the target has a fragment, which no request has (RFC 9112 §3.2).
    var hasFragment: Bool
    /// 0 for HTTP/1.0, 1 for later versions.
    var minorVersion: Int
  }

  /// RFC 9112 §3: `method SP request-target SP HTTP-version`, and nothing else.
  static func requestLine(_ line: UnsafeRawBufferPointer) throws(MessageFault) -> RequestLine {
    guard let first = line.firstIndex(of: 0x20), let last = line.lastIndex(of: 0x20), last > first + 1 else {
      throw MessageFault("the request line is not a method, a target and a version")
    }
    let target = UnsafeRawBufferPointer(rebasing: line[(first + 1)..<last])
    // RFC 3986 §2: any other character is percent-encoded. A space inside the target would be ambiguous.
    guard target.bytes.isPrintableASCII, !target.contains(0x20) else {
      throw MessageFault("the request target has characters that are invalid in a URI")
    }
    let version = line[(last + 1)...]
    let minor = try minorVersion(version)
    let name = line[..<first]
    let method: HTTPRequest.Method
    if name.elementsEqual("GET".utf8) {
      method = .get
    } else {
      guard let parsed = HTTPRequest.Method(rawValue: String(decoding: name, as: UTF8.self)) else {
        throw MessageFault("the method is not a token")
      }
      method = parsed
    }
    return RequestLine(
      method: method, target: String(decoding: target, as: UTF8.self), hasFragment: target.contains(0x23),
      minorVersion: minor)
  }

  /// RFC 9112 §4: `HTTP-version SP status-code SP [reason-phrase]`.
  static func statusLine(
    _ line: UnsafeRawBufferPointer
  ) throws(MessageFault) -> (status: HTTPResponse.Status, minorVersion: Int) {
    guard line.count >= 12, line[8] == 0x20, line.count == 12 || line[12] == 0x20 else {
      throw MessageFault(502, "the status line is invalid")
    }
    let minor = try minorVersion(line[0..<8])
    var code = 0
    for byte in line[9..<12] {
      guard byte >= 0x30, byte <= 0x39 else { throw MessageFault(502, "the status code is not a number") }
      code = code * 10 + Int(byte - 0x30)
    }
    guard code >= 100 else { throw MessageFault(502, "the status code is below 100") }
    let phrase = line.count > 13 ? String(decoding: line[13...], as: UTF8.self) : ""
    return (HTTPResponse.Status(code: code, reasonPhrase: phrase), minor)
  }

  private static func minorVersion(_ text: Slice<UnsafeRawBufferPointer>) throws(MessageFault) -> Int {
    guard text.count == 8, text.starts(with: "HTTP/".utf8) else {
      throw MessageFault("the version is not HTTP/1.1")
    }
    let (major, dot, minor) = (
      text[text.startIndex + 5], text[text.startIndex + 6], text[text.startIndex + 7]
    )
    guard dot == 0x2E, major >= 0x30, major <= 0x39, minor >= 0x30, minor <= 0x39 else {
      throw MessageFault("the version is not HTTP/1.1")
    }
    guard major == 0x31 else { throw MessageFault(505, "only HTTP/1.0 and HTTP/1.1 are supported") }
    return minor == 0x30 ? 0 : 1
  }

  // MARK: - Fields

  /// Calls `body` with each line of a head that ``findEnd(in:)`` found.
  func readLines(
    _ head: ByteBuffer, _ body: (UnsafeRawBufferPointer) throws(MessageFault) -> Void
  ) throws(MessageFault) {
    let result: Result<Void, MessageFault> = head.withUnsafeReadableBytes { head in
      guard let base = head.baseAddress else { return .success(()) }
      var start = 0
      while start < head.count, let found = memchr(base + start, 0x0A, head.count - start) {
        let end = UnsafeRawPointer(found) - base
        if end - 1 == start { break }
        do throws(MessageFault) {
          try body(UnsafeRawBufferPointer(rebasing: head[start..<(end - 1)]))
        } catch {
          return .failure(error)
        }
        start = end + 1
      }
      return .success(())
    }
    try result.get()
  }

  /// RFC 9112 §5: `field-name ":" OWS field-value OWS`.
  func field(_ line: UnsafeRawBufferPointer) throws(MessageFault) -> (field: HTTPField, role: FieldRole) {
    guard let first = line.first, first != 0x20, first != 0x09 else {
      throw MessageFault(isResponse ? 502 : 400, "a field continues on the next line (RFC 9112 §5.2)")
    }
    guard var colon = line.firstIndex(of: 0x3A) else { throw fault("a line of the head has no colon") }
    var start = colon + 1
    if isResponse { while colon > 0, line[colon - 1] == 0x20 || line[colon - 1] == 0x09 { colon -= 1 } }
    let token = UnsafeRawBufferPointer(rebasing: line[..<colon])
    guard let (name, role) = token.withMemoryRebound(to: UInt8.self, { FieldNames.find($0.span) }) else {
      throw fault("the name of a field is not a token (RFC 9112 §5.1)")
    }
    var end = line.count
    while start < end, line[start] == 0x20 || line[start] == 0x09 { start += 1 }
    while end > start, line[end - 1] == 0x20 || line[end - 1] == 0x09 { end -= 1 }
    let value = UnsafeRawBufferPointer(rebasing: line[start..<end])
    // HTTPTypes makes a field from bytes in three times the instructions that it takes from a text.
    if value.bytes.isPrintableASCII {
      return (HTTPField(name: name, value: String(decoding: value, as: UTF8.self)), role)
    }
    if value.contains(where: { ($0 < 0x20 && $0 != 0x09) || $0 == 0x7F }) {
      throw fault("the value of \(name.rawName) has a control character (RFC 9110 §5.5)")
    }
    return (HTTPField(name: name, value: value), role)
  }

  private func fault(_ reason: String) -> MessageFault { MessageFault(isResponse ? 502 : 400, reason) }
}

extension ProxyConfiguration {
  /// The limits of a head.
  struct HeadLimits: Hashable, Sendable {
    /// Maximum length of a line, including the request line, in bytes.
    var lineBytes = 16 << 10
    /// Maximum size of a head, in bytes.
    var headBytes = 64 << 10
    /// Maximum number of fields. `HTTPFields` ends the process at 65,535.
    var fields = 200 { didSet { fields = Swift.min(fields, 10_000) } }
  }
}
