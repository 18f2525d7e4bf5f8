// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPTypes
import NIOCore

/// Names the client of one connection to the origin, and determines who the client is.
///
/// The proxy honours fields about the client only from a trusted address, and only those that such peers normally set.
/// It removes all others: an origin that writes `X-Forwarded-Host` into its responses would otherwise have it stored for
/// all clients. The fields become part of the request before the cache sees it, so that `Vary` selects by the fields
/// that the origin gets. They are not part of the key.
struct Forwarder: Sendable {
  /// The client at the other end of the connection; `nil` if it has no IP address.
  let address: IPAddress?
  /// The address as text; `unknown` if there is none.
  let text: String
  let isTrusted: Bool
  private let scheme: String
  private let forwarding: ProxyConfiguration.ForwardedFields
  private let trusted: [ProxyConfiguration.AddressRange]
  /// The names of the fields that are passed on from trusted peers, in lowercase.
  private let passedOn: Set<String>
  /// Made once per connection: a hit pays only for their place among the fields.
  private let own: [HTTPField]
  /// The last `X-Forwarded-Host`: nearly all requests on a connection name one host.
  private var lastHost: HTTPField?

  /// - Parameter isUnixPeer: whether the peer is connected to a socket of the file system.
  init(_ address: IPAddress?, isUnixPeer: Bool = false, _ configuration: ProxyConfiguration) {
    self.address = address
    let text = address?.description ?? "unknown"
    self.text = text
    forwarding = configuration.forwardedFields
    let trusted = configuration.trustedPeers
    self.trusted = trusted
    passedOn = Self.passedOn.union(configuration.trustedFields.map { $0.lowercasedASCII })
    isTrusted = address.map { trusted.contains($0) } ?? (isUnixPeer && configuration.trustsUnixPeers)
    scheme = configuration.clientScheme
    own = [(Self.forName, text), (Self.protoName, scheme)].compactMap { name, value in
      name.map { HTTPField(name: $0, value: value) }
    }
  }

  /// Names the peer of a channel.
  init(ofPeerOn channel: any Channel, _ configuration: ProxyConfiguration) {
    // Those of a handler's context ask the kernel.
    let isUnixPeer = if case .unixDomainSocket? = channel.localAddress { true } else { false }
    self.init(IPAddress(channel.remoteAddress), isUnixPeer: isUnixPeer, configuration)
  }

  private static let forName = HTTPField.Name("X-Forwarded-For")
  private static let protoName = HTTPField.Name("X-Forwarded-Proto")
  private static let hostName = HTTPField.Name("X-Forwarded-Host")
  private static let forwardedName = HTTPField.Name("Forwarded")
  private static let passedOn: Set = [
    "x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "forwarded",
  ]

  /// Whether the client may have this connection. Trusted peers have as many as they need for their clients.
  func mayHavePlace(_ place: ConnectionPlace?) -> Bool {
    guard let place, let address, !isTrusted else { return true }
    return place.belongs(to: address)
  }

  /// Whether the origin gets a received field of this kind.
  func passesOn(_ field: HTTPField) -> Bool { isTrusted && passedOn.contains(field.name.canonicalName) }

  /// Adds the fields to a request.
  ///
  /// - Parameter given: the received fields of this kind.
  /// - Returns: the client that the request comes from.
  mutating func apply(to request: inout HTTPRequest, given: HTTPFields?) -> IPAddress? {
    guard isTrusted, let given, !given.isEmpty else {
      if forwarding.usesXForwarded, let hostName = Self.hostName {
        for field in own { request.headerFields.append(field) }
        let authority = request.authority ?? ""
        let known = lastHost.flatMap { $0.value == authority ? $0 : nil }
        let host = known ?? HTTPField(name: hostName, value: authority)
        lastHost = host
        request.headerFields.append(host)
      }
      if forwarding.usesForwarded, let name = Self.forwardedName {
        request.headerFields.append(HTTPField(name: name, value: element(of: request)))
      }
      return address
    }
    // A peer that sets some of the fields may pass on the others from its clients.
    var rest = HTTPFields()
    for field in given where passesOn(field) { rest.append(field) }
    if forwarding.usesXForwarded, let forName = Self.forName, let protoName = Self.protoName,
      let hostName = Self.hostName
    {
      rest[values: forName] = [Self.list(given[values: forName], text)]
      // These fields stay as the first proxy, which the client is connected to, has set them.
      if rest[protoName] == nil { rest.append(HTTPField(name: protoName, value: scheme)) }
      if rest[hostName] == nil { rest.append(HTTPField(name: hostName, value: request.authority ?? "")) }
    }
    if forwarding.usesForwarded, let name = Self.forwardedName {
      // A malformed value could swallow the added element in an open quotation mark.
      let values = given[values: name]
      let isReadable = ForwardedField.nodes(values) != nil
      rest[values: name] = [Self.list(isReadable ? values : [], element(of: request))]
    }
    for field in rest { request.headerFields.append(field) }
    return client(given)
  }

  /// Names the client of a request, and counts the fields that were removed.
  mutating func nameClient(of request: inout ClientRequest, _ context: ProxyContext) {
    // A request that the proxy answers itself is shown as received.
    guard request.maxForwards != 0 else {
      request.client = address
      return
    }
    request.client = apply(to: &request.request, given: request.forwarding)
    if let given = request.forwarding {
      for field in given where !passesOn(field) { context.fieldRemoved(field) }
    }
    if let given = request.methodOverrides { for field in given { context.fieldRemoved(field) } }
  }

  private static func list(_ values: [String], _ own: String) -> String {
    (values.filter { !$0.isEmpty } + [own]).joined(separator: ", ")
  }

  /// RFC 7239 §4, §6. A host with a colon must be quoted; no authority has a quotation mark or a backslash.
  private func element(of request: HTTPRequest) -> String {
    let host = request.authority ?? ""
    let node = address?.isIPv6 == true ? "\"[\(text)]\"" : text
    let isToken = !host.isEmpty && !host.utf8.contains { $0 == 0x3A || $0 == 0x5B }
    return "for=\(node);host=\(isToken ? host : "\"\(host)\"");proto=\(request.scheme ?? "http")"
  }

  /// Returns the client by the last address that a trusted proxy names: earlier addresses may be forged.
  ///
  /// - Returns: `nil` if a trusted proxy forwards a request without naming the client: the client is then not the proxy
  ///   itself.
  private func client(_ given: HTTPFields) -> IPAddress? {
    var client = address
    let nodes: [String]
    if forwarding == .rfc7239 {
      guard let name = Self.forwardedName else { return client }
      nodes = ForwardedField.nodes(given[values: name]) ?? [""]
    } else {
      guard let name = Self.forName else { return client }
      nodes = given[values: name].flatMap { $0.split(separator: ",", omittingEmptySubsequences: false) }
        .map { $0.trimmingOptionalWhitespace }
    }
    // There are fields of this kind, but not the one that the proxy reads.
    if nodes.isEmpty { return nil }
    for node in nodes.reversed() {
      // A trusted peer without an address is connected to a socket of the file system.
      if let client, !trusted.contains(client) { break }
      guard let next = IPAddress(node: node) else { return nil }
      client = next
    }
    return client
  }
}

/// `Forwarded` (RFC 7239 §4): `for=192.0.2.43;proto=https, for="[2001:db8::1]:4711"`.
enum ForwardedField {
  /// Returns the value of `for` in each element, or an empty text, in order; `nil` if a value is malformed.
  static func nodes(_ values: [String]) -> [String]? {
    var nodes: [String] = []
    for value in values {
      var bytes = Array(value.utf8)[...]
      var node = ""
      while true {
        trim(&bytes)
        if let (name, text) = pair(&bytes) {
          if name == "for" { node = text }
        } else if let next = bytes.first, next != 0x2C, next != 0x3B {
          return nil
        }
        trim(&bytes)
        let separator = bytes.popFirst()
        guard separator == nil || separator == 0x2C || separator == 0x3B else { return nil }
        if separator != 0x3B {
          nodes.append(node)
          node = ""
        }
        if separator == nil { break }
      }
    }
    return nodes
  }

  /// Takes a token, an equals sign, and a token or a quoted text; returns `nil`, and takes nothing, if there is no such
  /// pair.
  private static func pair(_ bytes: inout ArraySlice<UInt8>) -> (name: String, value: String)? {
    var rest = bytes
    guard let name = token(&rest), rest.popFirst() == 0x3D,
      let value = rest.first == 0x22 ? quoted(&rest) : token(&rest)
    else { return nil }
    bytes = rest
    return (name.lowercasedASCII, value)
  }

  private static func token(_ bytes: inout ArraySlice<UInt8>) -> String? {
    let token = bytes.prefix {
      switch $0 {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
      default: "!#$%&'*+-.^_`|~".utf8.contains($0)
      }
    }
    bytes = bytes.dropFirst(token.count)
    return token.isEmpty ? nil : String(decoding: token, as: UTF8.self)
  }

  private static func quoted(_ bytes: inout ArraySlice<UInt8>) -> String? {
    bytes = bytes.dropFirst()
    var text: [UInt8] = []
    while var byte = bytes.popFirst() {
      if byte == 0x22 { return String(decoding: text, as: UTF8.self) }
      if byte == 0x5C {
        guard let escaped = bytes.popFirst() else { return nil }
        byte = escaped
      }
      text.append(byte)
    }
    return nil
  }

  private static func trim(_ bytes: inout ArraySlice<UInt8>) {
    bytes = bytes.drop { $0 == 0x20 || $0 == 0x09 }
  }
}

extension IPAddress {
  /// Reads an address from `X-Forwarded-For` or `Forwarded`, possibly in brackets and with a port (RFC 7239 §6).
  init?(node: String) {
    if node.utf8.first == 0x5B {
      let inside = node.dropFirst().prefix { $0 != "]" }
      guard inside.endIndex < node.endIndex, let address = IPAddress(inside), address.isIPv6,
        Self.isPort(node[node.index(after: inside.endIndex)...])
      else { return nil }
      self = address.unmapped
    } else if let address = IPAddress(node) {
      self = address.unmapped
    } else {
      let host = node.prefix { $0 != ":" }
      guard let address = IPAddress(host), Self.isPort(node[host.endIndex...]) else { return nil }
      self = address
    }
  }

  /// Whether the text is empty, or a colon and a port, which may be obfuscated.
  private static func isPort(_ text: Substring) -> Bool {
    text.isEmpty || text.first == ":" && text.utf8.count > 1
  }
}

extension ProxyConfiguration {
  /// The fields in which the proxy names the client to the origin.
  public enum ForwardedFields: String, Hashable, Sendable, CaseIterable {
    /// `X-Forwarded-For`, `X-Forwarded-Proto` and `X-Forwarded-Host`, which most servers read.
    case xForwarded = "x-forwarded"
    /// `Forwarded` (RFC 7239).
    case rfc7239
    /// `X-Forwarded-For` and the like, and `Forwarded`.
    case both
    /// No fields. The proxy still removes those from untrusted clients.
    case none

    var usesXForwarded: Bool { self == .xForwarded || self == .both }
    var usesForwarded: Bool { self == .rfc7239 || self == .both }
  }
}
