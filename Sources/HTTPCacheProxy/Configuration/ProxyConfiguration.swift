/// A host and a port to listen on or to connect to.
public struct Address: Hashable, Sendable, CustomStringConvertible {
  public var host: String
  public var port: Int

  public init(host: String, port: Int) {
    self.host = host
    self.port = port
  }

  /// Reads `127.0.0.1:8080`, `[::1]:8080`, `localhost:8080` or, with a port to fall back to, a host alone.
  ///
  /// - Throws: ``ConfigurationError`` that says what is missing.
  public init(parsing text: String, defaultPort: Int? = nil) throws {
    let host: Substring
    var rest: Substring
    if text.hasPrefix("[") {
      guard let end = text.firstIndex(of: "]") else {
        throw ConfigurationError("'\(text)': the bracket is not closed; write [::1]:8080")
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
    else { throw ConfigurationError("'\(text)' is no address; write HOST:PORT, as 127.0.0.1:8080") }
    self.init(host: String(host), port: port)
  }

  public var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

  /// Whether only this machine can reach it.
  var isLoopback: Bool { host == "localhost" || host == "::1" || host.hasPrefix("127.") }
}

/// What a ``CachingProxy`` is to do; the cache has a configuration of its own.
public struct ProxyConfiguration: Sendable {
  /// Where clients connect; port 0 picks a free one.
  public var listen: Address
  /// The server behind the proxy, which is spoken to over TCP without TLS.
  public var origin: Address
  /// The scheme that clients used to get here: a part of the key. `https` where something in front takes TLS off.
  public var scheme = "http"
  /// What the proxy calls itself in `Via` and `Proxy-Status`: a token.
  public var name = "httpcache"
  /// Where metrics, status and purging are; `nil` for nowhere.
  public var admin: Address?
  /// What purging requires of those who come from elsewhere than this machine: `Authorization: Bearer` and this. Without
  /// it the admin port must be on loopback.
  public var adminToken: String?
  /// Threads that serve connections.
  public var threads = 1
  /// Whether a client that closes its sending half still gets its responses (default: false).
  ///
  /// Without it, a client that closes its half has left, unless its response can be sent at once from memory. TCP does not
  /// tell the two apart, and fetching for clients that left costs the origin's time and the proxy's memory.
  public var allowsHalfClosure = false
  public var limits = Limits()
  public var timeouts = Timeouts()

  public init(listen: Address, origin: Address) {
    self.listen = listen
    self.origin = origin
  }

  /// What a client or the origin may send.
  public struct Limits: Hashable, Sendable {
    public var head = HeadLimits()
    /// The largest content of a request, in bytes.
    public var requestBytes = 1 << 30
    /// Clients that may be connected at a time; more wait to be accepted.
    public var connections = 10_000
    /// Idle connections to the origin that are kept.
    public var idleOriginConnections = 64

    public init() {}
  }

  /// How long the proxy waits, in milliseconds.
  public struct Timeouts: Hashable, Sendable {
    /// For the whole head of a request, from its first byte.
    public var head: Int64 = 10_000
    /// For the next request on a connection.
    public var idle: Int64 = 60_000
    /// For a client that neither sends the content it announced, nor takes what is sent to it.
    public var stall: Int64 = 30_000
    /// For a connection to the origin.
    public var connect: Int64 = 5_000
    /// For the origin to say anything: the head of a response, or the next piece of its content.
    public var response: Int64 = 60_000
    /// How long an idle connection to the origin is kept. Below the five seconds after which Node's servers close it, so
    /// that no request meets a closing door.
    public var originIdle: Int64 = 4_000
    /// For how long after its last response an origin that ends a connection is taken to have read the next request, which
    /// is then not sent again.
    public var originBusy: Int64 = 1_000
    /// How long an origin that was asked by `Expect` may keep silent before it gets the content all the same.
    public var expect: Int64 = 1_000
    /// For what is under way when the proxy is to stop.
    public var drain: Int64 = 10_000

    public init() {}
  }
}

/// What is wrong with a configuration, and what to do.
public struct ConfigurationError: Error, Hashable, Sendable, CustomStringConvertible {
  public let description: String

  public init(_ description: String) {
    self.description = description
  }
}
