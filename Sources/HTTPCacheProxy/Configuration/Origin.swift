// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

extension ProxyConfiguration {
  /// Where the responses come from that the cache does not have: one server, or several with the same content.
  ///
  /// A request goes to the server that has the fewest in progress for its weight, among those that get requests. If several
  /// have equally few, they take turns by their weights.
  public struct Origin: Hashable, Sendable, CustomStringConvertible {
    /// The servers, at least one.
    public var servers: [Server]
    /// How connections to the servers are encrypted; `nil` if they are not (default: `nil`).
    public var tls: TLS?
    /// Where the proxy offers HTTP/2 to the servers (default: with TLS). One that does not choose it gets HTTP/1.1, and so do
    /// requests for another protocol, such as those of web sockets.
    public var http2 = HTTP2.withTLS
    /// The limits.
    public var limits = Limits()
    /// The timeouts.
    public var timeouts = Timeouts()
    /// Statuses with which a response counts as none, such as 500, 502, 503 and 504 (default: none).
    ///
    /// The server has then failed, see ``Limits/failures``, and a safe request goes to the next one. If there is no other server,
    /// the response is used all the same.
    public var failureStatuses: Set<Int> = []
    /// The path that the proxy asks each server for at regular intervals, such as `/health`; `nil` for no checks (default:
    /// `nil`).
    ///
    /// A server is down after as many failed checks as ``Limits/failures``, unless more have succeeded, and until one succeeds: with
    /// a status of 2xx or 3xx to a GET without further fields. Without checks, the proxy probes a server only after failed
    /// requests, with HEAD and the path `/`, to which any response will do that is not one of the ``failureStatuses``. ``Timeouts/probe`` is the
    /// interval of both. `Host` is that of the latest request for a probe, and the address of the server for a check.
    public var checkPath: String?

    /// - Parameter servers: at least one.
    public init(_ servers: [Server]) { self.servers = servers }

    /// - Parameter address: the address of the only server.
    public init(_ address: ProxyConfiguration.Address) { self.init([Server(address)]) }

    /// - Parameters:
    ///   - host: the host of the only server: a name or an IP address.
    ///   - port: its port.
    public init(host: String, port: Int) { self.init([Server(host: host, port: port)]) }

    /// The URLs of the servers.
    public var description: String {
      servers.map { (tls == nil ? "http://" : "https://") + $0.description }.joined(separator: ", ")
    }

    /// The host and the port that a client means which names none.
    var authority: String { servers.first?.location.authority ?? "localhost" }

    /// Throws ``ProxyConfiguration/ValidationError`` for settings with which no request can reach a server.
    package func validate() throws {
      guard (1...Self.maximumServers).contains(servers.count) else {
        throw ProxyConfiguration.ValidationError(
          "origin: expected 1 to \(Self.maximumServers) servers, found \(servers.count)")
      }
      var names: Set<String> = []
      for server in servers {
        guard names.insert(server.description).inserted else {
          throw ProxyConfiguration.ValidationError("origin: the server \(server) is there more than once")
        }
        guard (1...Server.maximumWeight).contains(server.weight) else {
          throw ProxyConfiguration.ValidationError(
            "\(server): expected a weight of 1 to \(Server.maximumWeight), found \(server.weight)")
        }
        guard case .unix(let path) = server.location else { continue }
        try UnixSocket(path: path).validate()
        guard tls == nil || tls?.serverName != nil else {
          throw ProxyConfiguration.ValidationError(
            "\(server): expected tls.serverName, the name in the certificate of the server, which is missing")
        }
      }
      guard servers.contains(where: { !$0.isBackup }) else {
        throw ProxyConfiguration.ValidationError("origin: expected a server without backup")
      }
      guard limits.connections ?? 1 > 0, limits.failures ?? 1 > 0, limits.attempts > 0 else {
        throw ProxyConfiguration.ValidationError(
          "connections and failures of the origin: expected at least 1, or nil for no limit; attempts: at least 1"
        )
      }
      if let checkPath,
        checkPath.utf8.first != 0x2F || checkPath.utf8.contains(where: { $0 <= 0x20 || $0 > 0x7E })
      {
        throw ProxyConfiguration.ValidationError(
          "checkPath: expected a path in ASCII without spaces, such as /health, found '\(checkPath)'")
      }
      guard checkPath == nil || limits.failures != nil else {
        throw ProxyConfiguration.ValidationError("checkPath: expected a limit of failures, which is missing")
      }
      if let status = failureStatuses.first(where: { !(400...599).contains($0) }) {
        throw ProxyConfiguration.ValidationError("failureStatuses: expected 400 to 599, found \(status)")
      }
    }

    private static let maximumServers = 64

    /// A server of an origin.
    public struct Server: Hashable, Sendable, CustomStringConvertible {
      /// Where a server listens.
      public enum Location: Hashable, Sendable, CustomStringConvertible {
        /// A host and a port. All addresses of the host are used in turn.
        case address(ProxyConfiguration.Address)
        /// The path of a socket in the file system.
        case unix(path: String)

        /// `host:port`, or `unix:` and the path.
        public var description: String {
          switch self {
          case .address(let address): "\(address)"
          case .unix(let path): "unix:\(path)"
          }
        }

        /// The value of `Host` for requests of the proxy itself.
        var authority: String { if case .address(let address) = self { "\(address)" } else { "localhost" } }
      }

      static let maximumWeight = 1000

      /// Where the server listens.
      public var location: Location
      /// The share of requests that it gets, relative to those of others: 1 to 1000 (default: 1).
      public var weight = 1
      /// Whether it gets requests only while all others get none (default: `false`).
      public var isBackup = false

      /// - Parameter location: where the server listens.
      public init(_ location: Location) { self.location = location }

      /// - Parameter address: where the server listens.
      public init(_ address: ProxyConfiguration.Address) { self.init(.address(address)) }

      /// - Parameters:
      ///   - host: a host name or an IP address.
      ///   - port: the port.
      public init(host: String, port: Int) { self.init(ProxyConfiguration.Address(host: host, port: port)) }

      /// That of ``location``.
      public var description: String { location.description }

      package var port: Int { if case .address(let address) = location { address.port } else { 0 } }
    }

    /// Limits of an origin. Those of connections hold for each server.
    public struct Limits: Hashable, Sendable {
      /// Maximum connections to a server (default: 1024); `nil` for no limit. Tunnels and idle connections count, and on a
      /// connection of HTTP/2 each request after the first: so it is also the limit of requests at once.
      ///
      /// Further requests wait for a connection, in the order of their arrival. The default is that of Envoy: more than the
      /// workers of most servers, so that only a server in trouble has as many.
      public var connections: Int? = 1024
      /// Maximum idle connections to a server that the proxy keeps (default: 64).
      public var idleConnections = 64
      /// Maximum requests that wait for a connection to a server (default: 10,000); further ones fail at once.
      public var queue = 10_000
      /// Number of requests without a response after which a server counts as down, unless it has answered more in the last few
      /// seconds (default: 5); `nil` for no such limit.
      ///
      /// What counts is a connection that cannot be made, one that ends before the head of the response, a head that does
      /// not come in time, or one of the ``Origin/failureStatuses``. Requests then go to the other servers. If all are down,
      /// the cache serves stale responses where it may, at once; other requests are still sent. The proxy probes the server in
      /// the background, one request at a time, until it responds.
      public var failures: Int? = 5
      /// Maximum servers that a request is sent to, one after the other (default: 3).
      ///
      /// A request goes to the next server if its own has not got it, or has failed while it is safe (RFC 9110 §9.2.1), before
      /// any of the final response has gone to the client.
      public var attempts = 3

      /// Makes limits with the defaults.
      public init() {}
    }

    /// The timeouts of an origin. A negative duration counts as zero, and more than ten years as ten years.
    public struct Timeouts: Hashable, Sendable {
      /// Maximum time to connect, with the handshake of TLS (default: 5 seconds).
      public var connect = Duration.seconds(5)
      /// Maximum time for the head of a response (default: 60 seconds).
      public var firstByte = Duration.seconds(60)
      /// Maximum time for each further piece of the content (default: 60 seconds).
      public var betweenBytes = Duration.seconds(60)
      /// Maximum time that a request waits for a connection (default: 10 seconds).
      public var queue = Duration.seconds(10)
      /// Longest time between two probes of a server that is down, and time between two checks (default: 5 seconds).
      public var probe = Duration.seconds(5)
      /// Maximum time that the proxy keeps an idle connection; `nil` for 4 seconds, or a minute if the connection is encrypted
      /// (default: `nil`).
      ///
      /// Node's servers close theirs after five seconds; a shorter time avoids connections that are about to close. An
      /// encrypted connection costs more to make.
      public var idle: Duration?
      /// Maximum time to wait for 100 (Continue) before the proxy sends the content without it (default: 1 second).
      public var expect = Duration.seconds(1)
      /// Time after which the proxy resolves the name of a server again (default: 10 seconds). Connections to addresses that were
      /// missing in three answers serve no further requests.
      public var resolve = Duration.seconds(10)

      func idleTime(isEncrypted: Bool) -> Duration { idle ?? .seconds(isEncrypted ? 60 : 4) }

      /// Makes timeouts with the defaults.
      public init() {}
    }
  }
}
