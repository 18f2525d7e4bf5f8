// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine

extension ProxyConfiguration {
  /// A host and a port to listen on or to connect to.
  public struct Address: Hashable, Sendable, CustomStringConvertible {
    /// A host name or an IP address, without brackets.
    public var host: String
    /// The port; 0 lets the system choose one to listen on.
    public var port: Int

    /// - Parameters:
    ///   - host: a host name or an IP address.
    ///   - port: the port.
    public init(host: String, port: Int) {
      self.host = host
      self.port = port
    }

    /// Reads `127.0.0.1:8080`, `[::1]:8080`, `localhost:8080` or, with a default port, a host alone.
    ///
    /// - Throws: ``ProxyConfiguration/ValidationError`` if the text is invalid.
    public init(parsing text: String, defaultPort: Int? = nil) throws {
      let host: Substring
      var rest: Substring
      if text.hasPrefix("[") {
        guard let end = text.firstIndex(of: "]") else {
          throw ProxyConfiguration.ValidationError("expected an address such as [::1]:8080, found '\(text)'")
        }
        host = text[text.index(after: text.startIndex)..<end]
        rest = text[text.index(after: end)...]
      } else {
        host = text.prefix { $0 != ":" }
        rest = text[host.endIndex...]
      }
      if rest.isEmpty, let defaultPort {
        rest = ":\(defaultPort)"
      }
      guard !host.isEmpty, rest.first == ":", let port = Int(rest.dropFirst()), (0...65_535).contains(port)
      else {
        throw ProxyConfiguration.ValidationError(
          "expected an address such as 127.0.0.1:8080, found '\(text)'")
      }
      self.init(host: String(host), port: port)
    }

    public var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

    /// Whether only this machine can reach the address: it is in the loopback network, or `localhost`.
    ///
    /// Only IP addresses can be judged by their text. `127.a.example` is a name, which may resolve to any address. So
    /// may `localhost`; therefore the proxy checks its resolved address again.
    var isLoopback: Bool { host.lowercasedASCII == "localhost" || IPAddress(host)?.isLoopback == true }
  }
}

/// The configuration of a ``CachingProxy``. The cache has its own configuration.
public struct ProxyConfiguration: Sendable {
  /// Where to listen for clients.
  public var listen: [ProxyConfiguration.Endpoint]
  /// Whether other processes may listen on the same ports for clients, such as the one that takes the place of this one
  /// (`SO_REUSEPORT`; default: `false`). All of them need it, and must have the same user.
  public var reusesPorts = false
  /// The sites, by the hosts and paths of their requests. The one of a proxy with a single origin has no name.
  public var sites: [ProxyConfiguration.Site]
  /// Where the responses come from that the cache does not have: the origin of the first site.
  public var origin: ProxyConfiguration.Origin {
    get { sites.first?.origin ?? Origin([]) }
    set {
      if sites.isEmpty { sites = [Site(name: "", origin: newValue)] } else { sites[0].origin = newValue }
    }
  }
  /// How the connections of clients are encrypted; `nil` if they are not (default: `nil`).
  public var tls: ProxyConfiguration.TLS?
  /// Where clients may use HTTP/2 (default: with TLS).
  public var http2 = HTTP2.withTLS
  /// Where to listen for clients without TLS, which the proxy redirects to https (308); off by default. It needs
  /// ``tls``.
  public var redirect: ProxyConfiguration.Endpoint?
  /// The port for https that clients are redirected to; `nil` for the first one of ``listen`` (default: `nil`).
  public var redirectPort: Int?
  /// The scheme of the clients' URLs, which is a part of the key; `nil` for `https` with ``tls``, and `http` without (default:
  /// `nil`). Use `https` if a TLS terminator is in front.
  public var scheme: String?
  /// The names of the inherited sockets that endpoints ask for.
  var inheritedNames: [String] {
    (listen + [redirect].compactMap(\.self)).compactMap {
      if case .inherited(let name) = $0 { name } else { nil }
    }
  }
  var clientScheme: String { scheme ?? (tls == nil ? "http" : "https") }
  /// The name of the proxy in `Via` and `Proxy-Status`: a token. In the `Via` of requests, a random number follows it, by which the
  /// proxy recognises requests that come back: they get 508 (RFC 9110 §7.6.3).
  public var name = "httpcache"
  /// Where to listen for requests for metrics, status and purging: an address, or a socket in the file system; off by default.
  public var admin: ProxyConfiguration.Endpoint?
  /// The socket in the file system at which the process that takes the place of this one receives its listening sockets and its
  /// directory; `nil` if none does (default: `nil`).
  package var handover: UnixSocket?
  /// Whether the admin port has TLS, too, with the certificates of ``tls`` (default: `false`).
  public var adminUsesTLS = false
  /// The token that purging and warming require from other machines, as `Authorization: Bearer`. Without a token the admin port
  /// must be on loopback.
  public var adminToken: String?
  /// The access log, which has a line for each request; off by default.
  public var accessLog: ProxyConfiguration.AccessLogOptions?
  /// Names that the admin port accepts in addition to `localhost`, the host of ``admin`` and every IP address.
  ///
  /// They apply to an admin port on loopback. A page in a browser could reach such a port under a name that the page's
  /// owner resolves to 127.0.0.1 (DNS rebinding). Requests for other names get 421.
  public var adminHosts: [String] = []
  /// Number of threads that serve connections (default: 1). Ignored if the proxy is given an event loop group.
  public var threads = 1
  /// Whether a client that closes its sending half still gets its responses (default: false).
  ///
  /// By default, the proxy considers such a client gone, unless it can send the response at once from memory. TCP
  /// cannot tell whether a client left or only closed its half. Fetching for clients that left costs the origin's time
  /// and the proxy's memory.
  public var allowsHalfClosure = false
  /// Whether the origin may switch to another protocol, such as WebSocket, if a client requests it (default: true).
  public var allowsUpgrade = true
  /// Trusted peers, mostly other proxies. The proxy honours the fields in which they name their clients (default:
  /// none).
  public var trustedPeers: [ProxyConfiguration.AddressRange] = []
  /// Whether the peers that connect to a socket of the file system are trusted like ``trustedPeers`` (default: `false`).
  /// They have no addresses.
  public var trustsUnixPeers = false
  /// Names of further fields about the client that the proxy passes on from ``trustedPeers``, such as `X-Forwarded-Port`
  /// (default: none). It always passes on `X-Forwarded-For`, `-Proto`, `-Host` and `Forwarded`.
  ///
  /// Name only fields that each trusted peer sets or removes itself. Otherwise clients set them. The names can be:
  ///
  /// - for the client: `X-Real-IP`, `True-Client-IP`, `CF-Connecting-IP`, `CF-Connecting-IPv6`, `Fastly-Client-IP`,
  ///   `Client-IP`, `X-Client-IP`, `X-Cluster-Client-IP`, `Forwarded-For`
  /// - for the host: `X-Host`, `X-Original-Host`, `X-HTTP-Host-Override`
  /// - for the URL: `X-Original-URL`, `X-Rewrite-URL`
  /// - `X-Forwarded`, and each name that begins with `X-Forwarded-`
  public var trustedFields: [String] = []
  /// Whether each connection begins with a header of the PROXY protocol, version 1 or 2 (default: false).
  ///
  /// It must come from one of the ``trustedPeers``; the proxy closes all other connections.
  public var expectsProxyHeader = false
  /// The fields that name the client to the origin (default: `X-Forwarded-For`, `-Proto` and `-Host`).
  public var forwardedFields = ProxyConfiguration.ForwardedFields.xForwarded
  /// Limits on what clients and the origin may send.
  public var limits = Limits()
  /// The timeouts.
  public var timeouts = Timeouts()

  /// - Parameters:
  ///   - listen: the address to listen on for clients; port 0 lets the system choose a free port.
  ///   - origin: the server that receives the requests that the cache cannot answer.
  public init(listen: ProxyConfiguration.Address, origin: ProxyConfiguration.Address) {
    self.init(listen: [.address(listen)], origin: Origin(origin))
  }

  /// - Parameters:
  ///   - listen: where to listen for clients.
  ///   - origin: the servers that receive the requests that the cache cannot answer.
  public init(listen: [ProxyConfiguration.Endpoint], origin: ProxyConfiguration.Origin) {
    self.init(listen: listen, sites: [Site(name: "", origin: origin)])
  }

  /// - Parameters:
  ///   - listen: where to listen for clients.
  ///   - sites: the sites, at least one.
  public init(listen: [ProxyConfiguration.Endpoint], sites: [ProxyConfiguration.Site]) {
    (self.listen, self.sites) = (listen, sites)
  }

  /// Checks that the configuration is safe to run.
  ///
  /// - Throws: ``ProxyConfiguration/ValidationError`` for settings of TLS without ``tls``, for an admin port that other machines can reach without a token, for
  ///   the PROXY protocol without trusted peers, for trusted fields that do not describe the client, and for limits that
  ///   let no request reach the origin.
  public func validate() throws {
    if listen.isEmpty { throw ProxyConfiguration.ValidationError("listen: expected at least one endpoint") }
    if case .inherited? = admin {
      throw ProxyConfiguration.ValidationError(
        "expected an address or a socket in the file system, found a socket of the service manager")
    }
    for case .unix(let socket) in listen + [admin, redirect].compactMap(\.self) { try socket.validate() }
    try handover?.validate()
    if expectsProxyHeader, trustedPeers.isEmpty, !trustsUnixPeers {
      throw ProxyConfiguration.ValidationError(
        "the PROXY protocol needs trusted peers: the addresses of the proxies that connect, such as 10.0.0.0/8"
      )
    }
    guard tls != nil || redirect == nil else {
      throw ProxyConfiguration.ValidationError("redirect: expected TLS, which is missing; set certificates")
    }
    guard tls != nil || !adminUsesTLS else {
      throw ProxyConfiguration.ValidationError(
        "adminUsesTLS: expected TLS, which is missing; set certificates")
    }
    for name in trustedFields where FieldRole(name.lowercasedASCII) != .forwarding || name.contains("_") {
      throw ProxyConfiguration.ValidationError(
        "expected a field that names a client, host or URL as a trusted field, such as X-Real-IP, CF-Connecting-IP or X-Forwarded-Port, found '\(name)'"
      )
    }
    guard limits.streams > 0, (1...10_000).contains(limits.streamsPerConnection) else {
      throw ProxyConfiguration.ValidationError(
        "streams: expected at least 1; streamsPerConnection: expected 1 to 10000")
    }
    try Site.validate(sites)
    if let admin, !admin.isLocal, adminToken == nil {
      throw ProxyConfiguration.ValidationError(
        "\(admin) can be reached from other machines; set an admin token, or use 127.0.0.1")
    }
  }

  /// Where HTTP/2 is used (RFC 9113).
  public enum HTTP2: String, Hashable, Sendable, CaseIterable {
    /// Nowhere.
    case never
    /// On connections with TLS, if both sides choose it in the handshake.
    case withTLS = "tls"
    /// Also without TLS, with prior knowledge (§3.3). A client, such as a proxy in front, must know of it, and an origin must
    /// support it.
    case always
  }

  /// Limits on what a client or the origin may send.
  public struct Limits: Hashable, Sendable {
    /// The limits of a head, in the form that its reader uses.
    var head = HeadLimits()
    /// Maximum length of a line of a head, including the request line, in bytes (default: 16 KiB).
    public var headLineBytes: Int {
      get { head.lineBytes }
      set { head.lineBytes = newValue }
    }
    /// Maximum size of a head, in bytes (default: 64 KiB).
    public var headBytes: Int {
      get { head.headBytes }
      set { head.headBytes = newValue }
    }
    /// Maximum number of fields in a head, at most 10,000 (default: 200).
    public var headFields: Int {
      get { head.fields }
      set { head.fields = newValue }
    }
    /// Maximum size of a request's content, in bytes (default: 1 GiB).
    public var requestBytes = 1 << 30
    /// Maximum concurrent client connections (default: 10,000).
    ///
    /// At the limit, the connection that is idle longest is closed to let a new one in. If all have requests in
    /// progress, new ones wait. The proxy accepts fewer connections if the process may open too few file descriptors.
    public var connections = 10_000
    /// Maximum concurrent connections of a client address (default: no limit). An IPv6 client has a network of 64 bits.
    ///
    /// At the limit, the connection of the address that is idle longest is closed. If all have requests in progress, the
    /// new one is closed. The limit does not apply to ``ProxyConfiguration/trustedPeers``: their connections carry the
    /// requests of many clients. With ``ProxyConfiguration/expectsProxyHeader``, the address in the header counts.
    public var connectionsPerAddress: Int?
    /// Maximum concurrent requests on a connection of HTTP/2 (default: 100).
    public var streamsPerConnection = 100
    /// Maximum concurrent requests on all connections of HTTP/2 (default: 10,000). Further ones are refused so that clients
    /// may repeat them at once.
    public var streams = 10_000

    /// Makes limits with the defaults.
    public init() {}
  }

  /// The timeouts. A negative duration counts as zero, and more than ten years as ten years.
  public struct Timeouts: Hashable, Sendable {
    /// Maximum time for the whole head of a request, from its first byte (default: 10 seconds).
    public var head = Duration.seconds(10)
    /// Maximum time to wait for the next request on a connection (default: 75 seconds).
    public var idle = Duration.seconds(75)
    /// Maximum time for a client that sends nothing of its announced content, or takes nothing of its response (default:
    /// 60 seconds).
    ///
    /// ``ProxyConfiguration/trustedPeers`` have ten times as long. A proxy with a slow client takes megabytes at a time, and
    /// nothing for minutes. It has time-outs for its clients, and closes its connection when they leave.
    public var stall = Duration.seconds(60)
    /// Maximum time without a byte in a tunnel, after an upgrade (default: 1 hour).
    public var tunnel = Duration.seconds(3600)
    /// Maximum time for requests in flight when the proxy stops (default: 10 seconds).
    public var drain = Duration.seconds(10)

    /// The timeouts for one of the ``ProxyConfiguration/trustedPeers``.
    var ofTrustedPeer: Self {
      var timeouts = self
      timeouts.stall *= 10
      return timeouts
    }

    /// Makes timeouts with the defaults.
    public init() {}
  }
}

extension ProxyConfiguration {
  /// The error in a configuration, and how to correct it.
  public struct ValidationError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The error, and how to correct it.
    public let description: String

    /// - Parameter description: the error, and how to correct it.
    package init(_ description: String) {
      self.description = description
    }
  }
}
