// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCaching
import NIOCore

/// A request ready for the cache: its target is resolved, and its fields exclude those of the connection.
struct ClientRequest: Sendable {
  var request: HTTPRequest
  let version: HTTPVersion
  let framing: Framing
  /// Whether the connection ends with this request.
  private(set) var closes = false
  /// Whether the client waits for 100 (Continue) before it sends the content (RFC 9110 §10.1.1).
  let expectsContinue: Bool
  /// RFC 9110 §7.6.2; for TRACE and OPTIONS only.
  private(set) var maxForwards: Int?
  /// The protocols that the origin may switch to (RFC 9110 §7.8); `nil` if the request asks for no other protocol.
  private(set) var upgrade: String?
  /// Whether the request has passed another proxy, or this one.
  let hasVia: Bool
  /// Fields that name the client, host or URL, as received: ``Forwarder`` evaluates them.
  let forwarding: HTTPFields?
  /// Fields that name another method, and were removed; `nil` without any.
  let methodOverrides: HTTPFields?
  /// The client, as far as it can be trusted: the peer, or the client that trusted proxies name.
  var client: IPAddress?
  /// The site that it belongs to; `nil` for none. ``SiteFinder`` sets it, and the authority of a request without one.
  var site: ServedSite?
  /// Whether the connection is not for its host. ``SiteFinder`` sets it.
  var isMisdirected = false

  /// Reads the head of a request of HTTP/1.1.
  ///
  /// - Parameter head: the bytes of the head.
  init(_ head: ByteBuffer, _ reader: HeadReader, scheme: String) throws(MessageFault) {
    var line: HeadReader.RequestLine?
    var found = Fields()
    try reader.readLines(head) { bytes throws(MessageFault) in
      guard line != nil else {
        line = try HeadReader.requestLine(bytes)
        return
      }
      let (field, role) = try reader.field(bytes)
      try found.add(field, role)
    }
    guard let line else { throw MessageFault("the request line is missing") }
    let minor = line.minorVersion
    let framing =
      try found.framing.map { fields throws(MessageFault) in
        try Framing(requestFields: fields, minorVersion: minor)
      } ?? .none
    if found.host == nil, minor > 0 { throw MessageFault("Host is missing (RFC 9112 §3.2)") }
    let connection = found.connection
    // Keep the fields that name the client, even if they are named: a trusted proxy that forwards Connection must not lose
    // its own fields by it.
    if let named = connection?.connectionOptions, !named.isEmpty {
      found.fields = found.fields.without(named)
    }
    try self.init(
      found, line.method, target: line.target, hasFragment: line.hasFragment, framing,
      minor == 0 ? .http10 : .http11, scheme: scheme)
    closes = minor == 0 || connection?.says("close") == true
    // A server may ignore Upgrade (RFC 9110 §7.8). This proxy ignores it if the request has content, because that would
    // have to be sent before the protocols are switched.
    let protocols = Self.protocols(found.protocols)
    if !protocols.isEmpty, minor > 0, framing == .none, found.maxForwards == nil,
      connection?.says("upgrade") == true
    {
      upgrade = protocols.joined(separator: ", ")
    }
  }

  init(
    _ found: Fields, _ method: HTTPRequest.Method, target: String, hasFragment: Bool, _ framing: Framing,
    _ version: HTTPVersion, scheme: String, upgrade: String? = nil
  ) throws(MessageFault) {
    (self.version, self.framing, self.upgrade) = (version, framing, upgrade)
    expectsContinue = found.expectsContinue && version != .http10 && framing != .none
    (forwarding, hasVia) = (found.forwarding, found.hasVia)
    let host = try found.host.map { given throws(MessageFault) in
      guard let host = Authority.normalized(given, scheme: scheme) else {
        throw MessageFault("Host is not a host and a port (RFC 9110 §7.2)")
      }
      return host
    }
    // The response would be stored for all. In a POST, such a field names the method that the client means.
    let hasOverrides = found.overridesMethod && (method == .get || method == .head || method.isQuery)
    methodOverrides = hasOverrides ? found.methodOverrides : nil
    request = HTTPRequest(
      method: method, scheme: scheme, authority: host ?? "", path: target,
      headerFields: hasOverrides ? found.otherFields : found.fields)
    // TE concerns one connection, and this field is for the next one (RFC 9110 §10.1.4).
    if found.acceptsTrailers { request.headerFields[.te] = "trailers" }
    if let maxForwards = found.maxForwards { try setMaxForwards(maxForwards) }
    if method == .connect { throw MessageFault(501, "CONNECT is not supported (RFC 9110 §9.3.6)") }
    if target.utf8.first != 0x2F { try resolve(target) }
    if hasFragment { throw MessageFault("the request target has a fragment (RFC 9112 §3.2)") }
  }

  /// The fields of a request, by the roles that they have for a proxy.
  struct Fields {
    var fields = HTTPFields()
    private(set) var framing: HTTPFields?
    private(set) var connection: HTTPFields?
    private(set) var host: String?
    private(set) var (expectsContinue, acceptsTrailers) = (false, false)
    private(set) var maxForwards: HTTPField?
    private(set) var forwarding: HTTPFields?
    private(set) var overridesMethod = false
    private(set) var hasVia = false
    /// The values of `Upgrade`.
    private(set) var protocols: [String] = []

    /// The ``fields`` that name another method.
    var methodOverrides: HTTPFields { HTTPFields(fields.filter(Self.isMethodOverride)) }
    var otherFields: HTTPFields { HTTPFields(fields.filter { !Self.isMethodOverride($0) }) }

    private static func isMethodOverride(_ field: HTTPField) -> Bool {
      FieldRole(field.name.canonicalName) == .methodOverride
    }

    init() { fields.reserveCapacity(16) }

    mutating func add(_ field: HTTPField, _ role: FieldRole) throws(MessageFault) {
      switch role {
      case .plain: fields.append(field)
      case .via:
        hasVia = true
        fields.append(field)
      case .host:
        guard host == nil else { throw MessageFault("the request has more than one Host (RFC 9112 §3.2)") }
        host = field.value
      case .connection: connection = (connection ?? HTTPFields()).appending(field)
      case .contentLength:
        framing = (framing ?? HTTPFields()).appending(field)
        fields.append(field)
      case .transferEncoding: framing = (framing ?? HTTPFields()).appending(field)
      case .te: acceptsTrailers = acceptsTrailers || field.value.lowercasedASCII.contains("trailers")
      case .expect:
        guard field.value.lowercasedASCII == "100-continue" else {
          throw MessageFault(417, "the only supported expectation is 100-continue (RFC 9110 §10.1.1)")
        }
        expectsContinue = true
      case .maxForwards: maxForwards = field
      case .forwarding: forwarding = (forwarding ?? HTTPFields()).appending(field)
      case .methodOverride:
        overridesMethod = true
        fields.append(field)
      case .upgrade: protocols.append(field.value)
      case .hop, .proxyCredentials, .lookalike: break
      }
    }

    /// Sets the host, for which a request may have another element than `Host`.
    mutating func setHost(_ text: String) { host = text }
  }

  private mutating func setMaxForwards(_ field: HTTPField) throws(MessageFault) {
    guard request.method == .trace || request.method == .options else {
      return request.headerFields.append(field)
    }
    let digits = field.value
    guard !digits.isEmpty, digits.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else {
      throw MessageFault("Max-Forwards is not a number (RFC 9110 §7.6.2)")
    }
    // A larger number counts as the greatest.
    let count = Int(digits) ?? .max
    maxForwards = count
    if count > 0, let name = HTTPField.Name("Max-Forwards") {
      request.headerFields.append(HTTPField(name: name, value: String(count - 1)))
    }
  }

  /// Returns the protocols in `Upgrade`, in their order, without those that carry HTTP. Requests inside of those would
  /// reach the origin unseen, past the cache and its invalidations. `h2c` is no longer defined (RFC 9113 §3.1).
  private static func protocols(_ values: [String]) -> [String] {
    values.flatMap { $0.split(separator: ",") }.map { $0.trimmingOptionalWhitespace }.filter { text in
      let name = text.prefix { $0 != "/" }.lowercasedASCII
      return !name.isEmpty && !["http", "h2c", "h2", "h3", "tls"].contains(name)
    }
  }

  /// Resolves targets in another form than a path (RFC 9112 §3.2).
  private mutating func resolve(_ target: String) throws(MessageFault) {
    if target == "*" {
      guard request.method == .options else {
        throw MessageFault("only OPTIONS may have the target * (RFC 9112 §3.2.4)")
      }
      return
    }
    let lowercased = target.prefix(8).lowercasedASCII
    guard let scheme = ["http", "https"].first(where: { lowercased.hasPrefix($0 + "://") }) else {
      throw MessageFault("the request target is neither a path nor an HTTP URI (RFC 9112 §3.2)")
    }
    // The response would be stored under the URL of the other scheme.
    guard scheme == request.scheme else {
      throw MessageFault(421, "the request target has a scheme that is not served here (RFC 9110 §7.4)")
    }
    let rest = target.dropFirst(scheme.utf8.count + 3)
    let authority = rest.prefix { $0 != "/" && $0 != "?" }
    guard let host = Authority.normalized(String(authority), scheme: scheme) else {
      throw MessageFault("the request target does not name a host and a port")
    }
    let path = rest[authority.endIndex...]
    // §3.2.2: the Host field is then ignored.
    request.authority = host
    if path.isEmpty {
      request.path = request.method == .options ? "*" : "/"
    } else {
      request.path = path.first == "?" ? "/" + path : String(path)
    }
  }
}

extension HTTPFields {
  func appending(_ field: HTTPField) -> HTTPFields {
    var fields = self
    fields.append(field)
    return fields
  }

  fileprivate func without(_ names: Set<String>) -> HTTPFields {
    var kept = HTTPFields()
    for field in self where !names.contains(field.name.canonicalName) { kept.append(field) }
    return kept
  }

  /// Whether a Connection field has this option.
  func says(_ option: String) -> Bool {
    contains { field in
      guard field.name.canonicalName == "connection" else { return false }
      if field.value.isConnectionOptionAlone { return field.value.lowercasedASCII == option }
      return field.value.split(separator: ",").contains {
        $0.trimmingOptionalWhitespace.lowercasedASCII == option
      }
    }
  }
}
