// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import HTTPCacheProxy
import HTTPCacheStore
import HTTPCaching
import Logging
import TransportSecurity

/// The options of `httpcache proxy`.
struct ProxyOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      """
      URL of a server of the origin, such as http://127.0.0.1:8000 or https://origin.example, or unix:PATH; with ,weight=3 \
      and ,backup after it if you like. Required; may be repeated for servers with the same content: a request goes to the \
      one with the fewest for its weight, and to a backup while no other gets requests.
      """, valueName: "url"))
  var origin: [String] = []

  @Option(
    help: ArgumentHelp(
      "Maximum servers of the origin that a request is sent to, until one answers.", valueName: "count"))
  var originAttempts = 3

  @Option(
    help: ArgumentHelp(
      """
      Status of a response that counts as none, such as 503: a safe request goes to the next server. May be repeated.
      """, valueName: "status"))
  var originFailureStatus: [Int] = []

  @Option(
    help: ArgumentHelp(
      """
      Path that each server of the origin is asked for at regular intervals, such as /health: it gets requests while it \
      responds with 2xx or 3xx. Off by default.
      """, valueName: "path"))
  var originCheck: String?

  @Option(
    help: ArgumentHelp(
      "Time after which the name of a server of the origin is resolved again, in seconds.",
      valueName: "seconds"))
  var originResolveInterval = 10.0

  @Option(
    help: ArgumentHelp(
      "PEM file with the issuers whose certificates an https origin may have (default: the system's).",
      valueName: "file"),
    completion: .file())
  var originCa: String?

  @Option(
    help: ArgumentHelp(
      "Name that an https origin is asked for (SNI), and that its certificate must have (default: its host in --origin).",
      valueName: "name"))
  var originServerName: String?

  @Option(
    help: ArgumentHelp(
      "PEM file with the proxy's certificate and its chain, for an https origin that requires one.",
      valueName: "file"),
    completion: .file())
  var originCertificate: String?

  @Option(
    help: ArgumentHelp(
      "PEM file with the private key of --origin-certificate, without a passphrase.", valueName: "file"),
    completion: .file())
  var originKey: String?

  @Flag(
    help: """
      Accept any certificate of an https origin, from whomever: who redirects the connection can read and change what it \
      carries.
      """)
  var originAcceptAnyCertificate = false

  @Option(
    help: ArgumentHelp(
      "YAML file with options, one `name: value` on each line; the command line overrides it.",
      valueName: "file"),
    completion: .file())
  var config: String?

  @Option(
    help: ArgumentHelp(
      """
      Where clients connect to: an address such as 0.0.0.0:80 or [::]:80; unix:PATH for a socket in the file system, with \
      ,mode=660 ,owner=NAME and ,group=NAME after it if you like; systemd or systemd:NAME for the sockets that systemd passes. \
      May be repeated.
      """, valueName: "endpoint"))
  var listen = ["127.0.0.1:8080"]

  @Flag(
    help: """
      Let other processes of the same user listen on the same ports for clients (SO_REUSEPORT), such as the one that takes \
      the place of this one.
      """)
  var reusePort = false

  @Option(
    help: ArgumentHelp(
      """
      Socket in the file system at which another process takes the place of this one without a gap: it gets the listening \
      sockets and the directory. Start it with the same option.
      """, valueName: "path"),
    completion: .file())
  var handover: String?

  @Option(
    help: ArgumentHelp("Write the process ID to this file.", valueName: "file"),
    completion: .file())
  var pidFile: String?

  @Option(
    help: ArgumentHelp(
      """
      PEM file with a certificate and those of its issuers: clients then connect to --listen with TLS. May be repeated: a \
      client gets the certificate with the name that it asks for (SNI), or else the first one.
      """, valueName: "file"),
    completion: .file())
  var certificate: [String] = []

  @Option(
    help: ArgumentHelp(
      """
      PEM file with the private key of a --certificate, without a passphrase; one for each, in the same order (default: the \
      file of the certificate).
      """, valueName: "file"),
    completion: .file())
  var key: [String] = []

  @Option(
    help: ArgumentHelp(
      "PEM file with issuers: clients must then have a certificate of one of them. Off by default.",
      valueName: "file"),
    completion: .file())
  var clientCa: String?

  @Option(help: "Lowest version of TLS that clients may use: 1.2 or 1.3.")
  var tlsMinimum = TLSMinimum.tls12

  @Option(
    help: """
      Where clients may use HTTP/2: never, with TLS if they choose it in the handshake (tls), or always, also without TLS (with \
      prior knowledge, as a proxy in front has it).
      """)
  var http2 = ProxyConfiguration.HTTP2.withTLS

  @Option(
    help: """
      Where HTTP/2 is offered to the origin: never, with TLS (tls), or always, also without TLS (with prior knowledge: an \
      origin without TLS then needs it). An origin that does not choose it in the handshake gets HTTP/1.1.
      """)
  var originHttp2 = ProxyConfiguration.HTTP2.withTLS

  @Option(
    help: ArgumentHelp(
      "Endpoint without TLS whose clients are redirected to https (308), such as 0.0.0.0:80; needs --certificate. Off by default.",
      valueName: "endpoint"))
  var redirect: String?

  @Option(
    help: ArgumentHelp(
      "Port for https that --redirect names (default: that of the first --listen).", valueName: "port"))
  var redirectPort: Int?

  @Option(
    name: .customLong("cache"),
    help: "Kind of cache: shared, cdn, which is shared and honours CDN-Cache-Control, or private.")
  var kind = ConformCommand.Kind.shared

  @Option(help: ArgumentHelp("Maximum bytes of stored responses in memory.", valueName: "size"))
  var memory = ByteSize(bytes: 256 << 20)

  @Option(
    help: ArgumentHelp(
      "Which response leaves memory first: s3fifo, hyperbolic (fewer requests to the origin where sizes differ much), or lru.",
      valueName: "policy"))
  var eviction = EvictionPolicy.s3fifo

  @Option(
    help: ArgumentHelp(
      "Maximum bytes of stored responses in --directory, which it requires (default: 10GB).",
      valueName: "size"))
  var disk: ByteSize?

  @Option(
    help: ArgumentHelp(
      "Maximum bytes in memory of content that is neither stored nor delivered yet.", valueName: "size"))
  var transit = ByteSize(bytes: 64 << 20)

  @Option(
    help: "Directory of stored responses, which then survive restarts; without it, they are in memory only.",
    completion: .directory
  )
  var directory: String?

  @Option(
    help: ArgumentHelp(
      """
      Redis or Valkey server that several proxies share as a further tier, such as redis://cache.internal/0; off by \
      default. rediss:// uses TLS. The password may be in the environment variable HTTPCACHE_SHARED_PASSWORD instead of the \
      URL.
      """, valueName: "url"))
  var shared: String?

  @Option(
    help: ArgumentHelp(
      """
      Seconds for which the proxy serves stored responses without validation after it last heard from --shared (default: 2). \
      All proxies need the same value.
      """, valueName: "seconds"))
  var sharedTrust: Double?

  @Flag(
    help:
      "End at the start, with status 69, if the server of --shared does not answer. Otherwise the proxy works without it."
  )
  var sharedRequired = false

  @Flag(
    help: "Discard the content of --directory if its cache is damaged or has another version.")
  var startEmptyIfUnreadable = false

  @Option(
    help: ArgumentHelp(
      "Endpoint of /metrics, /status, /health, /ready, purging and warming, such as 127.0.0.1:9090 or unix:PATH; off by default.",
      valueName: "endpoint"))
  var admin: String?

  @Flag(help: "Use TLS on the admin port, too, with the certificates of --certificate.")
  var adminTls = false

  @Option(
    help: ArgumentHelp(
      "Bearer token that purging and warming require; needed for an admin address that is not loopback.",
      valueName: "token"))
  var adminToken: String?

  @Option(
    help: ArgumentHelp(
      "Log each request to this file, or to standard output with -. Off by default.", valueName: "file"),
    completion: .file())
  var accessLog: String?

  @Option(
    help: ArgumentHelp(
      "Format of the access log: common, combined, or json (default: combined).", valueName: "format"))
  var accessLogFormat: ProxyConfiguration.AccessLogOptions.Format?

  @Option(
    help: ArgumentHelp(
      "Host name that an admin port on loopback accepts, besides localhost and IP addresses; may be repeated.",
      valueName: "name"))
  var adminHost: [String] = []

  @Option(
    help:
      "Name of the proxy in Via and Cache-Status. In the Via of requests, a random number follows it: a request that comes back gets 508."
  )
  var name = "httpcache"

  @Option(
    help: ArgumentHelp(
      "Scheme that clients use: http, or https if a TLS terminator is in front (default: https with --certificate, else http).",
      valueName: "scheme"))
  var scheme: String?

  @Option(
    help: ArgumentHelp(
      "Threads that serve connections; 0 means one per processor.", valueName: "count"))
  var threads = 0

  @Option(
    help: ArgumentHelp(
      "Origin read timeout in seconds: for the head of a response, and for each further piece of it.",
      valueName: "seconds"))
  var originTimeout = 60.0

  @Option(
    help: ArgumentHelp(
      "Maximum time for the head of the origin's response, in seconds (default: --origin-timeout).",
      valueName: "seconds"))
  var originFirstByteTimeout: Double?

  @Option(
    help: ArgumentHelp(
      "Maximum time for each further piece of the origin's response, in seconds (default: --origin-timeout).",
      valueName: "seconds"))
  var originBetweenBytesTimeout: Double?

  @Option(
    help: ArgumentHelp(
      "Maximum time to connect to the origin, with the handshake of TLS, in seconds.", valueName: "seconds"))
  var originConnectTimeout = 5.0

  @Option(
    help: ArgumentHelp(
      """
      Maximum time that an idle connection to the origin is kept, in seconds; less than the origin keeps it (default: 4, or \
      60 for an https origin).
      """, valueName: "seconds"))
  var originIdleTimeout: Double?

  @Option(help: ArgumentHelp("Maximum idle connections to a server of the origin.", valueName: "count"))
  var originIdleConnections = 64

  @Option(
    help: ArgumentHelp(
      "Maximum concurrent connections to a server of the origin, tunnels included; further requests wait. 0 means no limit.",
      valueName: "count"))
  var originConnections = 1024

  @Option(
    help: ArgumentHelp(
      "Maximum requests that wait for a connection to a server; further ones get a stale response or 503.",
      valueName: "count"))
  var originQueue = 10_000

  @Option(
    help: ArgumentHelp(
      "Maximum time that a request waits for a connection to the origin, in seconds.", valueName: "seconds"))
  var originQueueTimeout = 10.0

  @Option(
    help: ArgumentHelp(
      """
      Requests without a response after which a server is down until it answers a probe, unless it has answered more in the \
      last few seconds. Other servers get its requests. Without one, stale responses are sent where they may. 0 means never.
      """, valueName: "count"))
  var originFailures = 5

  @Option(
    help: ArgumentHelp(
      "Longest time between two probes of a server that is down, and time between two checks, in seconds.",
      valueName: "seconds"))
  var originProbeInterval = 5.0

  @Option(
    help: ArgumentHelp(
      "Maximum time for requests in flight when the proxy stops, in seconds.", valueName: "seconds"))
  var drainTimeout = 10.0

  @Option(
    help: ArgumentHelp(
      """
      Maximum time for a client that takes nothing of its response, or sends nothing of its content, in seconds; ten times as \
      long for peers that --trust names.
      """, valueName: "seconds"))
  var stallTimeout = 60.0

  @Option(
    help: ArgumentHelp(
      "Maximum time for the head of a request, from its first byte, in seconds.", valueName: "seconds"))
  var clientHeaderTimeout = 10.0

  @Option(
    help: ArgumentHelp(
      "Maximum time to wait for the next request on a connection, in seconds.", valueName: "seconds"))
  var clientIdleTimeout = 75.0

  @Option(
    help: ArgumentHelp(
      "Maximum time that a request waits for the response to an equal one, in seconds.", valueName: "seconds")
  )
  var followerTimeout = 5.0

  @Option(help: ArgumentHelp("Maximum bytes of a request's content.", valueName: "size"))
  var maximumRequest = ByteSize(bytes: 1 << 30)

  @Option(
    help: ArgumentHelp(
      "Maximum bytes of the head of a request or of the origin's response.", valueName: "size"))
  var maximumHead = ByteSize(bytes: 64 << 10)

  @Option(
    help: ArgumentHelp("Maximum bytes of a field, and of the request line, in a head.", valueName: "size"))
  var maximumLine = ByteSize(bytes: 16 << 10)

  @Option(help: ArgumentHelp("Maximum fields in a head.", valueName: "count"))
  var maximumFields = 200

  @Option(
    help: ArgumentHelp(
      "Maximum concurrent client connections; at the limit, the one that is idle longest is closed.",
      valueName: "count"))
  var connections = 10_000

  @Option(
    help: ArgumentHelp(
      """
      Maximum concurrent connections of a client address, or of an IPv6 network of 64 bits; peers that --trust names have no \
      limit. Off by default.
      """, valueName: "count"))
  var connectionsPerAddress: Int?

  @Option(
    help: ArgumentHelp("Maximum concurrent requests on a connection of HTTP/2.", valueName: "count"))
  var streamsPerConnection = 100

  @Option(
    help: ArgumentHelp(
      "Maximum concurrent requests on all connections of HTTP/2; further ones are refused so that clients may repeat them.",
      valueName: "count"))
  var streams = 10_000

  @Flag(
    inversion: .prefixedNo,
    help:
      "Let the origin switch to other protocols, such as WebSocket; --no-upgrade answers such requests with 501."
  )
  var upgrade = true

  @Option(
    help: ArgumentHelp(
      "Idle timeout of a connection after an upgrade, in seconds.", valueName: "seconds"))
  var upgradeTimeout = 3600.0

  @Option(
    help: ArgumentHelp(
      "Fields that tell the origin the client's address: x-forwarded, rfc7239, both or none.",
      valueName: "kind"))
  var forwarded = ProxyConfiguration.ForwardedFields.xForwarded

  @Option(
    help: ArgumentHelp(
      "Addresses of trusted proxies, which may name their clients, such as 10.0.0.0/8; unix for all that connect to a socket in the file system. May be repeated.",
      valueName: "cidr"))
  var trust: [String] = []

  @Option(
    help: ArgumentHelp(
      """
      Field about the client to pass on from trusted proxies, besides X-Forwarded-For, -Proto, -Host and Forwarded, such as \
      X-Forwarded-Port, CF-Connecting-IP or X-Original-URL; may be repeated.
      """, valueName: "name"))
  var trustField: [String] = []

  @Flag(
    help: """
      Expect a PROXY protocol header (version 1 or 2) at the start of each connection. Connections from peers that --trust \
      does not name are closed.
      """)
  var proxyProtocol = false

  @Flag(
    inversion: .prefixedNo,
    help:
      "Answer clients that close their sending half; --no-half-closure ends their requests instead.")
  var halfClosure = false

  @Flag(
    inversion: .prefixedNo,
    help: """
      Serve stale responses that had a lifetime when the origin cannot be reached (RFC 9111 §4.2.4); \
      --no-stale-when-disconnected answers 502 or 504 instead.
      """
  )
  var staleWhenDisconnected = true

  @Flag(
    inversion: .prefixedNo,
    help: "Serve a stored response in the language that a request prefers; this goes beyond RFC 9111 §4.1.")
  var negotiatesLanguage = false

  @Option(
    help: ArgumentHelp(
      """
      Field in which order and letter case mean nothing to the origin: accept, accept-charset, accept-encoding (weights \
      above 0 mean nothing, either) or accept-language; may be repeated. This goes beyond RFC 9111 §4.1.
      """, valueName: "field"))
  var normalizes: [NegotiationField] = []

  @Option(
    help: ArgumentHelp(
      """
      What a shared cache does with a response that sets cookies: store it with them if the origin declares it for shared \
      caches, by public, s-maxage or CDN-Cache-Control (declared), or by any lifetime (store); store it without them, also \
      for the first client (strip); or bypass the cache.
      """, valueName: "declared|store|strip|bypass"))
  var setCookie = CacheEngine.SetCookieUse.declared

  @Option(
    help: ArgumentHelp(
      """
      What a client's no-cache, max-age and min-fresh require of a fresh stored response: honor sends each such request to \
      the origin; with validate-once, those that arrive during a validation wait for it; ignore answers them from the cache \
      (default: honor in a private cache, ignore with --cache cdn, else validate-once).
      """, valueName: "honor|validate-once|ignore"))
  var clientReload: ClientReload?

  @Option(
    help: ArgumentHelp(
      """
      Maximum seconds for which a response without a lifetime is fresh by its Last-Modified (RFC 9111 §4.2.2); 0 for never.
      """, valueName: "seconds"))
  var heuristicMaximum = 600

  @Option(
    help: ArgumentHelp(
      """
      Response field whose values are tags to purge by, such as Surrogate-Key, Cache-Tag, xkey or X-Magento-Tags; may be \
      repeated. Cache-Groups always has tags.
      """, valueName: "name"))
  var tagField: [String] = []

  @Flag(help: "Pass the fields of --tag-field on to clients; by default, they are removed.")
  var showTags = false

  @Option(
    help: ArgumentHelp(
      """
      Maximum number of stored responses of one URL that Vary distinguishes; the one used least recently gives way to a \
      further one.
      """, valueName: "count"))
  var variants = 1000

  @Flag(help: "Honour No-Vary-Search, which is a draft; ignored by default.")
  var noVarySearch = false

  @Option(help: ArgumentHelp("Minimum level of log messages on standard error.", valueName: "level"))
  var log = Logger.Level.info

  /// - Parameters:
  ///   - sites: the sites of the configuration file; empty for the one of these options.
  ///   - certificates: the certificates of the sites.
  func resolved(
    _ sites: [ProxyConfiguration.Site] = [], _ certificates: [ProxyConfiguration.TLS.Certificate] = []
  ) throws -> (ProxyConfiguration, HTTPCache.Configuration, Logger.Level) {
    var proxy = ProxyConfiguration(
      listen: try listen.map { try Self.endpoint($0, "--listen") },
      sites: sites.isEmpty ? [.init(name: "", origin: try originConfiguration())] : sites)
    proxy.reusesPorts = reusePort
    proxy.handover = try handover.map { path in
      guard !path.isEmpty else {
        throw ProxyConfiguration.ValidationError("--handover: expected a path, found ''")
      }
      var socket = ProxyConfiguration.UnixSocket(path: path)
      // A process that connects gets the sockets and the directory.
      socket.mode = 0o600
      return socket
    }
    guard !name.isEmpty,
      name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && !"\"(),/:;<=>?@[\\]{}".utf8.contains($0) })
    else {
      throw ProxyConfiguration.ValidationError(
        "--name: expected letters, digits and -._ without spaces, found '\(name)'")
    }
    if let scheme, scheme != "http", scheme != "https" {
      throw ProxyConfiguration.ValidationError("--scheme: expected http or https, found '\(scheme)'")
    }
    proxy.tls = try clientTLS(certificates)
    if let redirect {
      proxy.redirect = try Self.endpoint(redirect, "--redirect")
      if let redirectPort, !(1...65_535).contains(redirectPort) {
        throw ProxyConfiguration.ValidationError(
          "--redirect-port: expected 1 to 65535, found \(redirectPort)")
      }
      proxy.redirectPort = redirectPort
    } else if redirectPort != nil {
      throw ProxyConfiguration.ValidationError(
        "--redirect-port is for --redirect, which is missing; add --redirect, or remove it")
    }
    proxy.adminUsesTLS = adminTls
    proxy.timeouts.head = try Self.time(clientHeaderTimeout, "--client-header-timeout")
    proxy.timeouts.idle = try Self.time(clientIdleTimeout, "--client-idle-timeout")
    try Self.check(maximumFields, 1...10_000, "--maximum-fields")
    for (size, option) in [(maximumHead, "--maximum-head"), (maximumLine, "--maximum-line")]
    where !(1024...(16 << 20)).contains(size.bytes) {
      throw ProxyConfiguration.ValidationError("\(option): expected 1KB to 16MB")
    }
    proxy.limits.headBytes = maximumHead.bytes
    proxy.limits.headLineBytes = maximumLine.bytes
    proxy.limits.headFields = maximumFields
    guard followerTimeout >= 0, followerTimeout <= 86_400 else {
      throw ProxyConfiguration.ValidationError("--follower-timeout: expected 0 to 86400 seconds")
    }
    guard drainTimeout >= 0, drainTimeout <= 86_400 else {
      throw ProxyConfiguration.ValidationError("--drain-timeout: expected 0 to 86400 seconds")
    }
    guard (0...1024).contains(threads) else {
      throw ProxyConfiguration.ValidationError("--threads: expected 0 to 1024")
    }
    guard connections > 0 else {
      throw ProxyConfiguration.ValidationError("--connections: expected at least 1")
    }
    guard (1...1_000_000).contains(variants) else {
      throw ProxyConfiguration.ValidationError("--variants: expected 1 to 1000000")
    }
    guard connectionsPerAddress ?? 1 > 0 else {
      throw ProxyConfiguration.ValidationError("--connections-per-address: expected at least 1")
    }
    guard (1...10_000).contains(streamsPerConnection) else {
      throw ProxyConfiguration.ValidationError("--streams-per-connection: expected 1 to 10000")
    }
    guard streams > 0 else {
      throw ProxyConfiguration.ValidationError("--streams: expected at least 1")
    }
    guard disk == nil || directory != nil else {
      throw ProxyConfiguration.ValidationError(
        "--disk limits --directory, which is missing; add --directory, or remove --disk")
    }
    guard directory != "" else {
      throw ProxyConfiguration.ValidationError("--directory: expected a path, found nothing")
    }
    proxy.name = name
    proxy.scheme = scheme
    proxy.admin = try admin.map { try Self.endpoint($0, "--admin") }
    proxy.adminToken = adminToken
    if let accessLog {
      proxy.accessLog = ProxyConfiguration.AccessLogOptions(
        accessLog == "-" ? .standardOutput : .file(accessLog), format: accessLogFormat ?? .combined)
    } else if accessLogFormat != nil {
      throw ProxyConfiguration.ValidationError(
        "--access-log-format is for --access-log, which is missing; add --access-log FILE, or remove it")
    }
    proxy.threads = threads == 0 ? ProcessInfo.processInfo.activeProcessorCount : threads
    proxy.timeouts.stall = try Self.time(stallTimeout, "--stall-timeout")
    proxy.timeouts.drain = .seconds(drainTimeout)
    proxy.limits.requestBytes = maximumRequest.bytes
    proxy.limits.connections = connections
    proxy.limits.connectionsPerAddress = connectionsPerAddress
    proxy.http2 = http2
    proxy.limits.streamsPerConnection = streamsPerConnection
    proxy.limits.streams = streams
    proxy.allowsHalfClosure = halfClosure
    guard upgradeTimeout > 0, upgradeTimeout <= 604_800 else {
      throw ProxyConfiguration.ValidationError(
        "--upgrade-timeout: expected more than 0 and at most 604800 seconds")
    }
    proxy.allowsUpgrade = upgrade
    proxy.timeouts.tunnel = Swift.max(.milliseconds(1), .seconds(upgradeTimeout))
    guard !proxyProtocol || !trust.isEmpty else {
      throw ProxyConfiguration.ValidationError(
        "--proxy-protocol needs --trust, which is missing; add the addresses of the proxies that connect, such as 10.0.0.0/8"
      )
    }
    proxy.expectsProxyHeader = proxyProtocol
    proxy.forwardedFields = forwarded
    proxy.adminHosts = adminHost
    proxy.trustsUnixPeers = trust.contains("unix")
    proxy.trustedPeers = try trust.filter { $0 != "unix" }.map { text in
      do {
        return try ProxyConfiguration.AddressRange(parsing: text)
      } catch {
        throw ProxyConfiguration.ValidationError("--trust: \(error)")
      }
    }
    do {
      try proxy.validate()
    } catch let error as ProxyConfiguration.ValidationError {
      throw ProxyConfiguration.ValidationError("--admin: \(error)")
    }
    proxy.trustedFields = trustField
    do {
      try proxy.validate()
    } catch let error as ProxyConfiguration.ValidationError {
      throw ProxyConfiguration.ValidationError("--trust-field: \(error)")
    }
    var cache = HTTPCache.Configuration(
      kind: kind == .private ? .private : .shared, memoryCapacity: memory.bytes,
      diskCapacity: disk?.bytes ?? 10 << 30,
      directory: directory.map { FilePath($0) })
    cache.store.whenUnreadable = startEmptyIfUnreadable ? .startEmpty : .fail
    cache.store.eviction = eviction
    cache.name = name
    cache.maximumVariants = variants
    cache.transitCapacity = transit.bytes
    cache.followerTimeout = .seconds(followerTimeout)
    cache.rules.targets = kind == .cdn ? ["CDN-Cache-Control"] : []
    cache.rules.whenDisconnected = staleWhenDisconnected ? .unlessForbidden : .nothing
    // A private proxy is for one user, as in the RFC.
    cache.rules.separatesCredentials = false
    cache.rules.negotiatesLanguage = negotiatesLanguage
    cache.rules.normalizes = Set(normalizes)
    cache.rules.setCookie = setCookie
    cache.rules.reload = clientReload?.use ?? (kind == .cdn ? .ignore : nil)
    guard (0...31_536_000).contains(heuristicMaximum) else {
      throw ProxyConfiguration.ValidationError("--heuristic-maximum: expected 0 to 31536000 seconds")
    }
    cache.rules.usesHeuristics = heuristicMaximum > 0
    cache.rules.heuristicMaximum = .seconds(heuristicMaximum)
    cache.rules.usesNoVarySearch = noVarySearch
    for name in tagField
    where HTTPField.Name(name) == nil || !CacheEngine.Configuration.mayHaveTags(name.lowercasedASCII) {
      throw ProxyConfiguration.ValidationError(
        "--tag-field: expected the name of a field for tags, such as Surrogate-Key, found '\(name)'")
    }
    cache.rules.tagFields = tagField
    cache.rules.showsTags = showTags
    if let shared {
      var options = HTTPCache.SharedTierOptions(try SharedTierURL.tier(shared))
      if let sharedTrust {
        guard sharedTrust >= 0.1, sharedTrust <= 86_400 else {
          throw ProxyConfiguration.ValidationError("--shared-trust: expected 0.1 to 86400 seconds")
        }
        options.trust = .seconds(sharedTrust)
      }
      cache.sharedTier = options
    } else if sharedTrust != nil {
      throw ProxyConfiguration.ValidationError(
        "--shared-trust is for --shared, which is missing; add --shared URL, or remove it")
    } else if sharedRequired {
      throw ProxyConfiguration.ValidationError(
        "--shared-required is for --shared, which is missing; add --shared URL, or remove it")
    }
    return (proxy, cache, log)
  }

  static func time(_ seconds: Double, _ option: String) throws -> Duration {
    guard seconds > 0, seconds <= 86_400 else {
      throw ProxyConfiguration.ValidationError(
        "\(option): expected more than 0 and at most 86400 seconds")
    }
    return Swift.max(.milliseconds(1), .seconds(seconds))
  }

  static func check(_ value: Int, _ range: ClosedRange<Int>, _ option: String) throws {
    guard range.contains(value) else {
      throw ProxyConfiguration.ValidationError(
        "\(option): expected \(range.lowerBound) to \(range.upperBound), found \(value)")
    }
  }

  private static func endpoint(_ text: String, _ option: String) throws -> ProxyConfiguration.Endpoint {
    do {
      return try ProxyConfiguration.Endpoint(parsing: text)
    } catch let error as ProxyConfiguration.ValidationError {
      throw ProxyConfiguration.ValidationError("\(option): \(error)")
    }
  }

  /// The certificates of these options.
  func certificates() throws -> [ProxyConfiguration.TLS.Certificate] {
    guard key.isEmpty || key.count == certificate.count else {
      throw ProxyConfiguration.ValidationError(
        "--key: expected one for each --certificate, found \(key.count) for \(certificate.count)")
    }
    let certificates = certificate.enumerated().map { index, file in
      ProxyConfiguration.TLS.Certificate(file: file, keyFile: key.isEmpty ? nil : key[index])
    }
    if !certificates.isEmpty { try check(ProxyConfiguration.TLS(certificates)) }
    return certificates
  }

  /// Names the option of an error in the files.
  private func check(_ tls: ProxyConfiguration.TLS) throws {
    do throws(TLSFault) {
      try tls.check()
    } catch {
      let option =
        switch error.part {
        case .issuers: "--client-ca"
        case .key: key.isEmpty ? "--certificate" : "--key"
        case .certificate, .serverName, .build: "--certificate"
        }
      throw ProxyConfiguration.ValidationError("\(option): \(error)")
    }
  }

  /// - Parameter ofSites: the certificates of sites.
  private func clientTLS(
    _ ofSites: [ProxyConfiguration.TLS.Certificate]
  ) throws -> ProxyConfiguration.TLS? {
    guard !(certificate.isEmpty && ofSites.isEmpty) else {
      let given = [
        key.isEmpty ? nil : "--key", clientCa.map { _ in "--client-ca" }, redirect.map { _ in "--redirect" },
        adminTls ? "--admin-tls" : nil, tlsMinimum == .tls12 ? nil : "--tls-minimum",
      ].compactMap(\.self)
      if let option = given.first {
        throw ProxyConfiguration.ValidationError(
          "\(option) is for --certificate, which is missing; add --certificate, or remove it")
      }
      return nil
    }
    var tls = ProxyConfiguration.TLS(try certificates() + ofSites)
    tls.clientIssuersFile = clientCa
    tls.requiresTLS13 = tlsMinimum == .tls13
    try check(tls)
    return tls
  }
}

extension ProxyConfiguration.ForwardedFields: ExpressibleByArgument {}
// swift-log leaves it to applications, and this target is one.
// swift-format-ignore: AvoidRetroactiveConformances
extension Logger.Level: @retroactive ExpressibleByArgument {}
extension CacheEngine.SetCookieUse: ExpressibleByArgument {}

/// ``CacheEngine/ReloadUse`` in the words of the command line.
enum ClientReload: String, ExpressibleByArgument, CaseIterable {
  case honor
  case validateOnce = "validate-once"
  case ignore

  var use: CacheEngine.ReloadUse {
    switch self {
    case .honor: .honor
    case .validateOnce: .validateOnce
    case .ignore: .ignore
    }
  }
}

/// The lowest version of TLS.
enum TLSMinimum: String, ExpressibleByArgument, CaseIterable {
  case tls12 = "1.2"
  case tls13 = "1.3"
}

extension NegotiationField: ExpressibleByArgument {}
extension ProxyConfiguration.HTTP2: ExpressibleByArgument {}
extension EvictionPolicy: ExpressibleByArgument {}
extension ProxyConfiguration.AccessLogOptions.Format: ExpressibleByArgument {}
