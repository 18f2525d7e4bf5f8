import ArgumentParser
import Foundation
import HTTPCacheProxy
import HTTPCaching
import Logging

/// The options of `httpcache proxy`.
struct ProxyOptions: ParsableArguments {
  @Option(help: ArgumentHelp("The server behind the proxy.", valueName: "url"))
  var origin: String?

  @Option(
    help: "A file with options, one name = value a line; those given here override it.", completion: .file())
  var config: String?

  @Option(help: ArgumentHelp("Where clients connect.", valueName: "host:port"))
  var listen = "127.0.0.1:8080"

  @Option(
    name: .customLong("cache"),
    help: "The kind of cache: shared, cdn, which is shared and heeds CDN-Cache-Control, or private.")
  var kind = ConformCommand.Kind.shared

  @Option(help: ArgumentHelp("The most that stored responses occupy in memory.", valueName: "size"))
  var memory = ByteSize(bytes: 256 << 20)

  @Option(help: ArgumentHelp("The most that they occupy on disk; with --directory.", valueName: "size"))
  var disk = ByteSize(bytes: 10 << 30)

  @Option(
    help: ArgumentHelp(
      "Maximum bytes in memory of content that is neither stored nor delivered yet.", valueName: "size"))
  var transit = ByteSize(bytes: 64 << 20)

  @Option(
    help: "The directory to keep responses in, over restarts; memory only without it.", completion: .directory
  )
  var directory: String?

  @Option(
    help: ArgumentHelp(
      "Where /metrics, /status, /health and purging are; nowhere without it.", valueName: "host:port"))
  var admin: String?

  @Option(
    help: ArgumentHelp(
      "What purging requires as a bearer token; needed for an admin address that is not loopback.",
      valueName: "token"))
  var adminToken: String?

  @Option(help: "What the proxy calls itself in Via and Cache-Status.")
  var name = "httpcache"

  @Option(help: "The scheme by which clients get here: https where something in front takes TLS off.")
  var scheme = "http"

  @Option(
    help: ArgumentHelp(
      "Threads that serve connections; as many as there are processors if it is 0.", valueName: "count"))
  var threads = 0

  @Option(help: ArgumentHelp("How long the origin may be silent, in seconds.", valueName: "seconds"))
  var originTimeout = 60.0

  @Option(help: ArgumentHelp("The largest content of a request.", valueName: "size"))
  var maximumRequest = ByteSize(bytes: 1 << 30)

  @Option(help: ArgumentHelp("The most clients at a time.", valueName: "count"))
  var connections = 10_000

  @Flag(
    inversion: .prefixedNo,
    help: "Answer clients that close their sending half; without it, such a client has left.")
  var halfClosure = false

  @Flag(
    inversion: .prefixedNo, help: "Serve stale responses when the origin cannot be reached (RFC 9111 §4.2.4)."
  )
  var staleWhenDisconnected = true

  @Flag(inversion: .prefixedNo, help: "Choose among stored responses by Accept-Language.")
  var negotiatesLanguage = true

  @Flag(inversion: .prefixedNo, help: "Heed No-Vary-Search, which is a draft.")
  var noVarySearch = false

  @Option(help: "What is logged, to standard error: trace, debug, info, notice, warning, error, critical.")
  var log = Logger.Level.info

  func resolved() throws -> (ProxyConfiguration, HTTPCache.Configuration, Logger.Level) {
    guard let origin else {
      throw ConfigurationError("--origin is missing: http://127.0.0.1:8000, for example")
    }
    var proxy = ProxyConfiguration(listen: try Address(parsing: listen), origin: try Self.origin(origin))
    guard !name.isEmpty,
      name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && !"\"(),/:;<=>?@[\\]{}".utf8.contains($0) })
    else { throw ConfigurationError("--name: '\(name)' is no token, which Via needs") }
    guard scheme == "http" || scheme == "https" else { throw ConfigurationError("--scheme is http or https") }
    guard originTimeout > 0, originTimeout <= 86_400 else {
      throw ConfigurationError("--origin-timeout is between 0 and 86400 seconds")
    }
    guard (0...1024).contains(threads) else { throw ConfigurationError("--threads is between 0 and 1024") }
    guard connections > 0 else { throw ConfigurationError("--connections is at least 1") }
    proxy.name = name
    proxy.scheme = scheme
    proxy.admin = try admin.map { try Address(parsing: $0) }
    proxy.adminToken = adminToken
    proxy.threads = threads == 0 ? ProcessInfo.processInfo.activeProcessorCount : threads
    proxy.timeouts.response = Int64(originTimeout * 1000)
    proxy.limits.requestBytes = maximumRequest.bytes
    proxy.limits.connections = connections
    proxy.allowsHalfClosure = halfClosure
    var cache = HTTPCache.Configuration(
      kind: kind == .private ? .private : .shared, memoryCapacity: memory.bytes, diskCapacity: disk.bytes,
      directory: directory)
    cache.name = name
    cache.transitCapacity = transit.bytes
    cache.rules.targets = kind == .cdn ? ["CDN-Cache-Control"] : []
    cache.rules.servesStaleWhenDisconnected = staleWhenDisconnected
    cache.rules.negotiatesLanguage = negotiatesLanguage
    cache.rules.usesNoVarySearch = noVarySearch
    return (proxy, cache, log)
  }

  /// `http://host[:port]`, and no more.
  private static func origin(_ text: String) throws -> Address {
    guard let url = URL(string: text), let scheme = url.scheme?.lowercased(), let host = url.host,
      !host.isEmpty
    else { throw ConfigurationError("--origin: '\(text)' is no URL; write http://127.0.0.1:8000") }
    guard scheme == "http" else {
      throw ConfigurationError("--origin: only http:// is spoken to the origin; have something else do TLS")
    }
    guard url.path.isEmpty || url.path == "/", url.query == nil else {
      throw ConfigurationError("--origin: paths are passed on as they come; write \(scheme)://\(host) alone")
    }
    let name = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
    return Address(host: name, port: url.port ?? 80)
  }
}

extension Logger.Level: @retroactive ExpressibleByArgument {}
