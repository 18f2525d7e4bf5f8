import HTTPCaching
import NIOCore

/// A request as it came, ready for the cache: its target resolved, its fields without those of the connection.
struct ClientRequest: Sendable {
  var request: HTTPRequest
  var framing: Framing
  var minorVersion: Int
  /// Whether the connection ends with this request.
  var closes: Bool
  /// Whether the client waits for 100 (Continue) before it sends the content (RFC 9110 §10.1.1).
  var expectsContinue: Bool
  /// RFC 9110 §7.6.2; for TRACE and OPTIONS only.
  var maxForwards: Int?

  /// - Parameters:
  ///   - head: the bytes of the head.
  ///   - authority: whose server this is, for clients that do not say.
  init(
    _ head: ByteBuffer, _ reader: HeadReader, scheme: String, authority: String
  ) throws(MessageFault) {
    let result: Result<ClientRequest, MessageFault> = head.withUnsafeReadableBytes { bytes in
      do throws(MessageFault) {
        return .success(try ClientRequest(bytes, reader, scheme: scheme, authority: authority))
      } catch {
        return .failure(error)
      }
    }
    self = try result.get()
  }

  private init(
    _ head: UnsafeRawBufferPointer, _ reader: HeadReader, scheme: String, authority: String
  ) throws(MessageFault) {
    var line: HeadReader.RequestLine?
    var fields = HTTPFields()
    fields.reserveCapacity(12)
    var framingFields: HTTPFields?
    var connection: HTTPFields?
    var host: String?
    var (expects, acceptsTrailers) = (false, false)
    var maxForwards: HTTPField?
    try reader.readLines(head) { bytes throws(MessageFault) in
      guard line != nil else {
        line = try HeadReader.requestLine(bytes)
        return
      }
      let (field, role) = try reader.field(bytes)
      switch role {
      case .plain: fields.append(field)
      case .host:
        guard host == nil else { throw MessageFault("there is more than one Host (RFC 9112 §3.2)") }
        host = field.value
      case .connection: connection = (connection ?? HTTPFields()).appending(field)
      case .contentLength:
        framingFields = (framingFields ?? HTTPFields()).appending(field)
        fields.append(field)
      case .transferEncoding: framingFields = (framingFields ?? HTTPFields()).appending(field)
      case .te: acceptsTrailers = acceptsTrailers || field.value.lowercased().contains("trailers")
      case .expect:
        guard field.value.lowercased() == "100-continue" else {
          throw MessageFault(417, "the only expectation that can be met is 100-continue (RFC 9110 §10.1.1)")
        }
        expects = true
      case .maxForwards: maxForwards = field
      case .hop, .proxyCredentials: break
      }
    }
    guard let line else { throw MessageFault("the request line is missing") }
    minorVersion = line.minorVersion
    framing =
      try framingFields.map { fields throws(MessageFault) in
        try Framing(requestFields: fields, minorVersion: line.minorVersion)
      } ?? .none
    closes = line.minorVersion == 0
    expectsContinue = expects && line.minorVersion > 0 && framing != .none
    if host == nil, line.minorVersion > 0 { throw MessageFault("Host is missing (RFC 9112 §3.2)") }
    if let host, !Self.isAuthority(host) { throw MessageFault("Host is no host (RFC 9112 §3.2)") }
    if let connection {
      closes = closes || connection.says("close")
      let named = connection.connectionOptions
      if !named.isEmpty {
        var kept = HTTPFields()
        for field in fields where !named.contains(field.name.canonicalName) { kept.append(field) }
        fields = kept
      }
    }
    // TE is for one connection, and this is the next one's (RFC 9110 §10.1.4).
    if acceptsTrailers { fields[.te] = "trailers" }
    request = HTTPRequest(
      method: line.method, scheme: scheme, authority: host ?? authority, path: line.target,
      headerFields: fields)
    if let maxForwards {
      if line.method == .trace || line.method == .options {
        let digits = maxForwards.value
        guard let count = Int(digits), count >= 0, digits.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else {
          throw MessageFault("Max-Forwards is no number (RFC 9110 §7.6.2)")
        }
        self.maxForwards = count
        if count > 0, let name = HTTPField.Name("Max-Forwards") {
          request.headerFields.append(HTTPField(name: name, value: String(count - 1)))
        }
      } else {
        request.headerFields.append(maxForwards)
      }
    }
    if line.target.utf8.first != 0x2F { try resolve(line.target) }
    if line.target.utf8.contains(0x23) {
      throw MessageFault("the request target has a fragment (RFC 9112 §3.2)")
    }
  }

  /// Targets of another form than a path (RFC 9112 §3.2).
  private mutating func resolve(_ target: String) throws(MessageFault) {
    if request.method == .connect {
      throw MessageFault(
        501, "this is the server's door, and no tunnel: CONNECT is refused (RFC 9110 §9.3.6)")
    }
    if target == "*" {
      guard request.method == .options else {
        throw MessageFault("only OPTIONS has the target * (RFC 9112 §3.2.4)")
      }
      return
    }
    let lowercased = target.prefix(8).lowercased()
    let prefix = lowercased.hasPrefix("http://") ? 7 : lowercased.hasPrefix("https://") ? 8 : 0
    guard prefix > 0 else {
      throw MessageFault("the request target is neither a path nor a URI (RFC 9112 §3.2)")
    }
    let rest = target.dropFirst(prefix)
    let authority = rest.prefix { $0 != "/" && $0 != "?" }
    guard Self.isAuthority(String(authority)) else { throw MessageFault("the request target has no host") }
    let path = rest[authority.endIndex...]
    // §3.2.2: Host says nothing then.
    request.authority = String(authority)
    if path.isEmpty {
      request.path = request.method == .options ? "*" : "/"
    } else {
      request.path = path.first == "?" ? "/" + path : String(path)
    }
  }

  /// RFC 3986 §3.2.2 in broad strokes: what might end a host for another reader, or begin one, is refused.
  private static func isAuthority(_ text: String) -> Bool {
    var isEmpty = true
    for byte in text.utf8 {
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E, 0x25, 0x5B, 0x5D: isEmpty = false
      case 0x3A: if isEmpty { return false }
      default: return false
      }
    }
    return !isEmpty
  }
}

extension HTTPFields {
  func appending(_ field: HTTPField) -> HTTPFields {
    var fields = self
    fields.append(field)
    return fields
  }

  /// Whether a Connection field has this option.
  func says(_ option: String) -> Bool {
    contains { field in
      field.name.canonicalName == "connection"
        && field.value.split(separator: ",").contains {
          String($0).trimmingOptionalWhitespace.lowercased() == option
        }
    }
  }
}
