// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

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

    /// Reads `127.0.0.1:8080`, `[::1]:8080`, `localhost:8080` or, with a port to fall back to, a host alone.
    ///
    /// - Throws: ``ProxyConfiguration/ValidationError`` that says what is missing.
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

    /// Whether only this machine can reach it: an address of the loopback network, or `localhost`.
    ///
    /// Only addresses are judged by their text. `127.a.example` is a name, which may stand for any address. So may
    /// `localhost`, which is why the address that it turns out to be is judged again.
    var isLoopback: Bool { host.lowercased() == "localhost" || IPAddress(host)?.isLoopback == true }
  }
}

/// What a ``CachingProxy`` is to do; the cache has a configuration of its own.
public struct ProxyConfiguration: Sendable {
  /// Where clients connect; port 0 picks a free one.
  public var listen: ProxyConfiguration.Address
  /// The server behind the proxy, which is spoken to over TCP without TLS.
  public var origin: ProxyConfiguration.Address
  /// The scheme that clients used to get here: a part of the key. `https` where something in front takes TLS off.
  public var scheme = "http"
  /// What the proxy calls itself in `Via` and `Proxy-Status`: a token.
  public var name = "httpcache"
  /// Where metrics, status and purging are; `nil` for nowhere.
  public var admin: ProxyConfiguration.Address?
  /// What purging requires of those who come from elsewhere than this machine: `Authorization: Bearer` and this. Without
  /// it the admin port must be on loopback.
  public var adminToken: String?
  /// Where each request is logged; `nil` for nowhere (default).
  public var accessLog: ProxyConfiguration.AccessLogOptions?
  /// Names that the admin port answers to, besides `localhost`, the host of ``admin`` and every IP address.
  ///
  /// It counts for an admin port on loopback. There, a page in a browser could reach the port under a name of its own,
  /// which it has resolve to 127.0.0.1 (DNS rebinding). Requests for other names get 421.
  public var adminHosts: [String] = []
  /// Threads that serve connections (default: 1), unless the proxy is given an event loop group.
  public var threads = 1
  /// Whether a client that closes its sending half still gets its responses (default: false).
  ///
  /// Without it, a client that closes its half has left, unless its response can be sent at once from memory. TCP does not
  /// tell the two apart, and fetching for clients that left costs the origin's time and the proxy's memory.
  public var allowsHalfClosure = false
  /// Whether the origin may switch to another protocol, as WebSocket, at a client's request (default: true).
  public var allowsUpgrade = true
  /// Trusted peers, mostly other proxies: the fields in which they name their clients count (default: none).
  public var trustedPeers: [ProxyConfiguration.AddressRange] = []
  /// Whether each connection begins with a header of the PROXY protocol, version 1 or 2 (default: false).
  ///
  /// It must come from one of the ``trustedPeers``; all other connections are closed.
  public var expectsProxyHeader = false
  /// The fields that name the client to the origin (default: `X-Forwarded-For`, `-Proto` and `-Host`).
  public var forwardedFields = ProxyConfiguration.ForwardedFields.xForwarded
  /// What clients and the origin may send.
  public var limits = Limits()
  /// How long the proxy waits.
  public var timeouts = Timeouts()

  /// - Parameters:
  ///   - listen: where clients connect.
  ///   - origin: where requests go that the cache cannot answer.
  public init(listen: ProxyConfiguration.Address, origin: ProxyConfiguration.Address) {
    self.listen = listen
    self.origin = origin
  }

  /// Checks what no proxy may run with.
  ///
  /// - Throws: ``ProxyConfiguration/ValidationError`` for an admin port that is open to others and has no token, and for the PROXY protocol
  ///   without trusted peers.
  public func validate() throws {
    if expectsProxyHeader, trustedPeers.isEmpty {
      throw ProxyConfiguration.ValidationError(
        "the PROXY protocol needs trusted peers: the addresses of the proxies that connect, such as 10.0.0.0/8"
      )
    }
    if let admin, !admin.isLoopback, adminToken == nil {
      throw ProxyConfiguration.ValidationError(
        "\(admin) can be reached from other machines; set an admin token, or use 127.0.0.1")
    }
  }

  /// What a client or the origin may send.
  public struct Limits: Hashable, Sendable {
    /// The limits of a head, as its reader takes them.
    var head = HeadLimits()
    /// Maximum length of a line of a head, the request line included, in bytes (default: 16 KiB).
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
    /// The largest content of a request, in bytes.
    public var requestBytes = 1 << 30
    /// Clients that may be connected at a time; more wait to be accepted.
    public var connections = 10_000
    /// Idle connections to the origin that are kept.
    public var idleOriginConnections = 64

    /// Makes limits with the defaults.
    public init() {}
  }

  /// How long the proxy waits. A negative duration counts as zero, and more than ten years as ten years.
  public struct Timeouts: Hashable, Sendable {
    /// For the whole head of a request, from its first byte (default: 10 seconds).
    public var head = Duration.seconds(10)
    /// For the next request on a connection (default: 60 seconds).
    public var idle = Duration.seconds(60)
    /// For a client that neither sends the content it announced nor reads its response (default: 30 seconds).
    public var stall = Duration.seconds(30)
    /// For a connection to the origin (default: 5 seconds).
    public var connect = Duration.seconds(5)
    /// For the head of the origin's response, and for each next piece of its content (default: 60 seconds).
    public var response = Duration.seconds(60)
    /// For which an idle connection to the origin is kept (default: 4 seconds). Node's servers close theirs after five
    /// seconds; a shorter time keeps requests off connections that are about to close.
    public var originIdle = Duration.seconds(4)
    /// For the origin's 100 (Continue) before it gets the content without one (default: 1 second).
    public var expect = Duration.seconds(1)
    /// For the next byte in a tunnel, after an upgrade (default: 1 hour).
    public var tunnel = Duration.seconds(3600)
    /// For requests in flight when the proxy stops (default: 10 seconds).
    public var drain = Duration.seconds(10)

    /// Makes timeouts with the defaults.
    public init() {}
  }
}

extension ProxyConfiguration {
  /// What is wrong with a configuration, and what to do.
  public struct ValidationError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong, and what to do.
    public let description: String

    /// - Parameter description: what is wrong, and what to do.
    package init(_ description: String) {
      self.description = description
    }
  }
}
