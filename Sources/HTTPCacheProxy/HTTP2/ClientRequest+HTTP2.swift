// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPTypes
import NIOHPACK

extension ClientRequest {
  /// Reads the fields of a request of HTTP/2 (RFC 9113 §8.3.1).
  ///
  /// The request goes to a server with HTTP/1.1, so everything that could change its meaning there is refused here, although
  /// `NIOHTTP2Handler` refuses much of it too: these rules must not depend on the version of a library.
  ///
  /// - Parameters:
  ///   - hasContent: whether content follows.
  ///   - scheme: the scheme that clients use.
  ///   - isEncrypted: whether TLS encrypts the connection; otherwise a proxy in front may have done so.
  init(
    _ headers: HPACKHeaders, hasContent: Bool, _ limits: ProxyConfiguration.HeadLimits, scheme: String,
    isEncrypted: Bool
  ) throws(MessageFault) {
    var pseudo = PseudoFields()
    var found = Fields()
    var cookies: [String] = []
    var (size, count) = (0, 0)
    for (name, value, _) in headers {
      let length = name.utf8.count + value.utf8.count
      let isPseudo = name.utf8.first == UInt8(ascii: ":")
      if length > limits.lineBytes {
        throw isPseudo
          ? MessageFault(414, "a pseudo-field has more than \(limits.lineBytes) bytes")
          : MessageFault(431, "a field has more than \(limits.lineBytes) bytes")
      }
      size += length
      if size > limits.headBytes {
        throw MessageFault(431, "the head has more than \(limits.headBytes) bytes")
      }
      guard !isPseudo else {
        // §8.3.
        guard count == 0 else { throw MessageFault("a pseudo-field follows a field (RFC 9113 §8.3)") }
        try pseudo.add(name, value)
        continue
      }
      count += 1
      if count > limits.fields { throw MessageFault(431, "the head has more than \(limits.fields) fields") }
      let (field, role) = try HTTP2Field.parse(name, value)
      if field.name == .cookie {
        cookies.append(value)
        continue
      }
      switch role {
      // §8.2.2.
      case .connection, .transferEncoding, .upgrade, .hop:
        // HTTP2-Settings is of no version that is still in use.
        throw MessageFault("\(name) is a field of HTTP/1.1 (RFC 9113 §8.2.2)")
      case .te where value != "trailers":
        throw MessageFault("TE has another value than trailers (RFC 9113 §8.2.2)")
      default: try found.add(field, role)
      }
    }
    // §8.2.3: other versions have one field.
    if !cookies.isEmpty {
      found.fields.append(HTTPField(name: .cookie, value: cookies.joined(separator: "; ")))
    }
    let upgrade = try pseudo.upgrade(hasContent: hasContent, to: &found.fields)
    try pseudo.checkScheme(scheme, isEncrypted: isEncrypted)
    if let authority = pseudo.authority {
      // §8.3.1: another Host is not an additional one, but a contradiction.
      if let host = found.host,
        Authority.normalized(host, scheme: scheme) != Authority.normalized(authority, scheme: scheme)
      {
        throw MessageFault("Host and :authority differ (RFC 9113 §8.3.1)")
      }
      found.setHost(authority)
    }
    guard found.host != nil else { throw MessageFault(":authority is missing (RFC 9113 §8.3.1)") }
    guard let method = pseudo.method, let path = pseudo.path else {
      throw MessageFault(":method or :path is missing (RFC 9113 §8.3.1)")
    }
    guard path.utf8.first == UInt8(ascii: "/") || path == "*" else {
      throw MessageFault(":path is not a path (RFC 9113 §8.3.1)")
    }
    try self.init(
      found, method, target: path, hasFragment: path.utf8.contains(UInt8(ascii: "#")),
      Self.framing(found.framing, hasContent: hasContent && upgrade == nil), .http2, scheme: scheme,
      upgrade: upgrade)
  }

  /// The content ends with the stream. A length that contradicts it is malformed (§8.1.1).
  private static func framing(_ fields: HTTPFields?, hasContent: Bool) throws(MessageFault) -> Framing {
    let framing =
      try fields.map { fields throws(MessageFault) in
        try Framing(requestFields: fields, minorVersion: 1)
      } ?? .none
    guard hasContent else {
      guard framing == .none else { throw MessageFault("the content is shorter than Content-Length") }
      return .none
    }
    if case .length = framing { return framing }
    // With the length of no content, the frames that follow must have none.
    return fields == nil ? .chunked : .length(0)
  }
}

/// The pseudo-fields of a request (RFC 9113 §8.3.1, RFC 8441 §4).
private struct PseudoFields {
  private(set) var method: HTTPRequest.Method?
  private(set) var path: String?
  private(set) var authority: String?
  private var scheme: String?
  private var `protocol`: String?

  mutating func add(_ name: String, _ value: String) throws(MessageFault) {
    // The reason of a fault goes to the client and to the log: it names nothing that was not checked.
    guard Self.isDefined(name) else {
      throw MessageFault("a pseudo-field is not defined for requests (RFC 9113 §8.3)")
    }
    guard value.withFieldBytes({ $0.bytes.isPrintableASCII && !$0.contains(0x20) }) else {
      throw MessageFault("\(name) has characters that are invalid in it (RFC 9113 §8.3.1)")
    }
    func set(_ field: inout String?) throws(MessageFault) {
      guard field == nil else { throw MessageFault("\(name) is repeated (RFC 9113 §8.3)") }
      field = value
    }
    switch name {
    case ":method":
      guard method == nil else { throw MessageFault("\(name) is repeated (RFC 9113 §8.3)") }
      guard let parsed = HTTPRequest.Method(rawValue: value) else {
        throw MessageFault("the method is not a token")
      }
      method = parsed
    case ":path": try set(&path)
    case ":scheme": try set(&scheme)
    case ":authority": try set(&authority)
    default: try set(&`protocol`)
    }
  }

  private static func isDefined(_ name: String) -> Bool {
    switch name {
    case ":method", ":path", ":scheme", ":authority", ":protocol": true
    default: false
    }
  }

  /// The response is stored under the URL with the scheme that is served. Without TLS, a proxy in front may have decrypted
  /// the connection.
  func checkScheme(_ served: String, isEncrypted: Bool) throws(MessageFault) {
    if scheme == served { return }
    guard let scheme = scheme?.lowercasedASCII, scheme == "http" || scheme == "https" else {
      throw MessageFault(":scheme is not that of an HTTP URI (RFC 9113 §8.3.1)")
    }
    guard !isEncrypted || scheme == "https" || scheme == served else {
      throw MessageFault(421, ":scheme is not served here (RFC 9110 §7.4)")
    }
  }

  /// Turns an extended CONNECT into the request for another protocol that HTTP/1.1 has in its place (RFC 8441 §5).
  ///
  /// - Returns: the protocol; `nil` if the request asks for none.
  mutating func upgrade(hasContent: Bool, to fields: inout HTTPFields) throws(MessageFault) -> String? {
    guard let `protocol` else { return nil }
    guard method == .connect else {
      throw MessageFault(":protocol has another method than CONNECT (RFC 8441 §4)")
    }
    guard `protocol`.lowercasedASCII == "websocket" else {
      throw MessageFault(501, "only web sockets are supported (RFC 8441 §5)")
    }
    guard hasContent else { throw MessageFault("the stream ends with its head (RFC 8441 §5)") }
    method = .get
    // HTTP/2 has no such key: it shows a server of HTTP/1.1 that the client means a web socket (RFC 6455 §4.1).
    if let name = HTTPField.Name("Sec-WebSocket-Key") {
      fields[name] = WebSocketKey.random()
    }
    return "websocket"
  }
}

/// A field of HTTP/2, as it goes on.
enum HTTP2Field {
  /// Checks a field (RFC 9113 §8.2.1).
  static func parse(
    _ name: String, _ value: String
  ) throws(MessageFault) -> (field: HTTPField, role: FieldRole) {
    guard let (parsed, role) = name.withFieldBytes({ FieldNames.find($0) }) else {
      throw MessageFault("the name of a field is not a token (RFC 9113 §8.2.1)")
    }
    guard !name.utf8.contains(where: { $0 >= 0x41 && $0 <= 0x5A }) else {
      throw MessageFault("the name of a field has an uppercase letter (RFC 9113 §8.2.1)")
    }
    guard value.withFieldBytes({ isValid($0) }) else {
      throw MessageFault("the value of \(name) has characters that are invalid in it (RFC 9113 §8.2.1)")
    }
    return (HTTPField(name: parsed, value: value), role)
  }

  /// Whether a value has no control characters, and no white space at its ends.
  ///
  /// NIOHPACK decodes values as UTF-8, and puts U+FFFD in the place of other octets: different values would become one.
  private static func isValid(_ value: Span<UInt8>) -> Bool {
    guard !value.isEmpty else { return true }
    for end in [value[0], value[value.count - 1]] where end == 0x20 || end == 0x09 { return false }
    if value.bytes.isPrintableASCII { return true }
    var lastThree: UInt32 = 0
    for index in value.indices {
      let octet = value[index]
      if octet < 0x20 && octet != 0x09 || octet == 0x7F { return false }
      lastThree = (lastThree << 8 | UInt32(octet)) & 0xFF_FFFF
      // U+FFFD in UTF-8.
      if lastThree == 0xEF_BFBD { return false }
    }
    return true
  }
}

/// The key of a web socket's handshake (RFC 6455 §4.1).
private enum WebSocketKey {
  /// 16 random octets in Base64 (RFC 4648 §4).
  static func random() -> String {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    var generator = SystemRandomNumberGenerator()
    // 128 bits: 21 digits of six, and one with the last two.
    var text = (0..<21).map { _ in alphabet[Int(generator.next(upperBound: UInt64(64)))] }
    text.append(alphabet[Int(generator.next(upperBound: UInt64(4))) << 4])
    return String(decoding: text, as: UTF8.self) + "=="
  }
}
